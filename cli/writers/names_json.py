"""The certificate's names as JSON, for tools of one's own: the full list and the difference."""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from originset.cli.writers.name_list import NameList


class CertificateEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate: all its names and addresses, and which of the names are ``added``."""

    names: list[str]
    addresses: list[str]
    added: list[str]


class LeftOutName(msgspec.Struct, frozen=True, kw_only=True):
    """A name that cannot be in a certificate, and why."""

    name: str
    reason: str


class CertificateNames(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file; ``ask``: names of other owners."""

    format: Literal["originset-certificate"] = "originset-certificate"
    version: Literal[1] = 1
    site: str
    certificates: list[CertificateEntry]
    ask: list[str]
    left_out: list[LeftOutName]


def render(chosen: NameList) -> str:
    """The text of :class:`CertificateNames`, ASCII."""
    content = CertificateNames(
        site=chosen.site,
        certificates=[
            CertificateEntry(names=list(entry.names), addresses=list(entry.addresses), added=list(entry.added))
            for entry in chosen.certificates
        ],
        ask=list(chosen.ask),
        left_out=[LeftOutName(name=name, reason=reason) for name, reason in chosen.left_out],
    )
    return json.dumps(msgspec.to_builtins(content), indent=2) + "\n"
