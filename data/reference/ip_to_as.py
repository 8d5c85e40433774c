"""IP address to origin AS: tables in pyasn's format, the dated one built in or a file of the user's.

The built-in table was made of address ranges, so its answers are good for the AS, not for the announced prefix; for
that reason no prefix is given out here.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pyasn

from originset.data.errors import InputError

_FOLDER = resources.files("originset.data.reference")


class IpToAs:
    """A loaded table. ``described`` says what it is, for the study's manifest."""

    def __init__(self, text: str, name: str, facts: Mapping[str, str]) -> None:
        """Load a table's text; see :meth:`builtin` and :meth:`load`.

        Raises:
            InputError: it is not in pyasn's format (lines of ``PREFIX<TAB>ASN``, comments after ``;``).
        """
        try:
            self._table = pyasn.pyasn(None, ipasn_string=text)
        except (RuntimeError, ValueError, OverflowError) as error:
            raise InputError(name, "not-ip-to-as", f"not a table in pyasn's format ({error})") from error
        self._facts = dict(facts)

    @classmethod
    def builtin(cls) -> IpToAs:
        """The table that the program carries."""
        return _builtin()

    @classmethod
    def load(cls, path: Path) -> IpToAs:
        """A table of the user's, plain or gzip.

        Raises:
            InputError: it cannot be read, or is not in pyasn's format.
        """
        try:
            content = path.read_bytes()
            text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        except (OSError, EOFError) as error:
            raise InputError(str(path), "unreadable", f"cannot be read ({error})") from error
        facts = {"source": path.name, "sha256": hashlib.sha256(content).hexdigest()}
        return cls(text.decode(errors="replace"), str(path), facts)

    def lookup(self, ip: str) -> int | None:
        """The origin AS of the longest prefix that holds the address; None where there is none.

        Raises:
            ValueError: it is no address.
        """
        asn: int | None = self._table.lookup(ip)[0]
        return asn

    def names(self) -> Mapping[int, str]:
        """AS number to name: the built-in list, which serves other tables as well."""
        return _names()

    def described(self) -> dict[str, str]:
        """Source, date (where known) and SHA-256."""
        return dict(self._facts)


@cache
def _builtin() -> IpToAs:
    facts = _reference()["ip_to_as"]
    content = _FOLDER.joinpath(facts["file"]).read_bytes()
    return IpToAs(
        gzip.decompress(content).decode(), facts["file"], {key: facts[key] for key in ("source", "date", "sha256")}
    )


@cache
def _names() -> Mapping[int, str]:
    content = _FOLDER.joinpath(_reference()["as_names"]["file"]).read_bytes()
    rows = csv.reader(io.StringIO(gzip.decompress(content).decode()))
    return {int(number): name for number, name in rows}


def _reference() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(_FOLDER.joinpath("reference.json").read_bytes())
    return facts
