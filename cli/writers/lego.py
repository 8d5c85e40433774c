"""lego: a shell script that renews the certificate with the full list of names, for lego 5 or lego 4."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from originset.cli.writers.name_list import Certificate, NameList
from originset.cli.writers.origin_set import quoted
from originset.data.errors import UsageError

_USE = """\
# For lego 5; --for lego4 writes the script for lego 4. What you add goes to lego: --email, --http, --dns ..., --path as
# before, and --key-type, unless it is EC256. `lego certificates list` shows the certificate's name: under any other
# lego makes a second certificate. `run` renews at once when the list differs from the certificate's, and
# --force-cert-domains makes this list the whole one.
"""
_USE_4 = """\
# For lego 4; --for lego writes the script for lego 5. What you add goes before the command: --email, --http, --dns ...,
# --path as before, and --key-type, unless it is ec256. `lego list` shows the certificates: lego 4 knows a certificate
# by its first domain. It renews with these domains and those of the certificate that are not here.
"""
# Every certificate expires earlier, so lego renews at once.
_ANY_DAYS = 9999


def render(chosen: NameList, certificate_name: str | None) -> str:
    """The script's text for lego 5, ASCII, for POSIX sh. ``certificate_name``: lego's, by default its first domain.

    Raises:
        UsageError: ``certificate_name`` cannot be one.
    """

    def call(named: str, certificate: Certificate) -> list[str]:
        first = f'lego run --cert.name {shlex.quote(named)} --force-cert-domains "$@"'
        return [first, *_domains((*certificate.names, *certificate.addresses))]

    return _script(chosen, certificate_name, _USE, "lego certificates list", call)


def render_4(chosen: NameList, certificate_name: str | None) -> str:
    """The same for lego 4, where the certificate's name is a domain of it and comes first.

    Raises:
        UsageError: ``certificate_name`` is no name of the certificate.
    """

    def call(named: str, certificate: Certificate) -> list[str]:
        names = [*certificate.names, *certificate.addresses]
        if certificate_name is not None and certificate is chosen.certificates[0]:
            if named not in names:
                raise UsageError(f"{quoted(named)} is no name of the certificate", "see: lego list")
            names.remove(named)
            names.insert(0, named)
        return ['lego "$@"', *_domains(names), f"renew --days {_ANY_DAYS}"]

    return _script(chosen, certificate_name, _USE_4, "lego list", call)


def _script(
    chosen: NameList,
    certificate_name: str | None,
    use: str,
    see: str,
    call: Callable[[str, Certificate], list[str]],
) -> str:
    calls = [call(named, certificate) for named, certificate in chosen.called(certificate_name, "lego", see)]
    remarks = "".join(f"# {line}\n" for line in chosen.remarks())
    text = "".join(" \\\n  ".join(words) + "\n" for words in calls)
    return f"#!/bin/sh\n{remarks}#\n{use}set -eu\n{text}"


def _domains(names: list[str] | tuple[str, ...]) -> list[str]:
    return [f"--domains {shlex.quote(name)}" for name in names]
