"""The reference data in use: what the program carries, or what ``originset study reference update`` has fetched since.

Both are folders of one form: files, and ``reference.json``, which says of each its source, date and SHA-256. The public
suffix list that the program carries is tldextract's.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import platformdirs
import polars as pl

from originset.data.errors import InputError
from originset.data.reference.as_names import read_as_names
from originset.data.reference.ip_to_as import IpToAs

INDEX = "reference.json"
OLD_AFTER_DAYS = 365

_BUILT_IN = resources.files("originset.data.reference")
_VERSION_LINE = re.compile(r"^// VERSION: (\d{4}-\d{2}-\d{2})", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """A set of reference data; ``suffix_list`` is a public suffix list, None for the one that tldextract carries.

    ``of_years``: IP-to-AS tables for visits of these years, in the place of ``ip_to_as``.
    """

    ip_to_as: IpToAs
    as_names: pl.DataFrame
    suffix_list: Path | None
    facts: dict[str, dict[str, str]]
    of_years: dict[int, IpToAs] = field(default_factory=dict)

    def with_table(self, path: Path, year: int | None = None) -> Reference:
        """The same with a table of the user's, for visits of a year or for those of all other years.

        Raises:
            InputError: it cannot be read, or is no table.
        """
        table = IpToAs.load(path)
        if year is None:
            return replace(self, ip_to_as=table, facts={**self.facts, "ip_to_as": table.described()})
        facts = {**self.facts, f"ip_to_as_{year}": table.described()}
        return replace(self, of_years={**self.of_years, year: table}, facts=facts)

    def old(self, today: date) -> dict[str, str]:
        """The reference data that is more than a year old, with dates: by then whole networks have other owners."""
        dated = {what: facts["date"] for what, facts in self.facts.items() if "date" in facts}
        return {what: when for what, when in dated.items() if (today - date.fromisoformat(when)).days > OLD_AFTER_DAYS}


def fetched_folder() -> Path:
    """The folder in the user's cache for the data that ``study reference update`` fetches."""
    return platformdirs.user_cache_path("originset") / "reference"


def current_reference() -> Reference:
    """The fetched reference data if there is any, else the built-in data.

    Raises:
        InputError: a file that was fetched is not as its index says.
    """
    folder = fetched_folder()
    return load_reference(folder) if (folder / INDEX).is_file() else built_in_reference()


@cache
def built_in_reference() -> Reference:
    """The reference data that is part of the program, so that a first run needs no network."""
    return load_reference(_BUILT_IN)


def load_reference(folder: Traversable) -> Reference:
    """The reference data of a folder.

    Raises:
        InputError: a file is missing, or differs from the index.
    """
    index = _index(folder)
    facts: dict[str, dict[str, str]] = {
        what: {key: entry[key] for key in ("source", "date", "sha256")} for what, entry in index.items()
    }
    suffix_list = None
    if "public_suffix_list" in index:
        _content(folder, index["public_suffix_list"])
        suffix_list = Path(str(folder.joinpath(index["public_suffix_list"]["file"])))
    else:
        facts["public_suffix_list"] = _tldextract_list()
    tables = [index[what] for what in ("ip_to_as", "ip_to_as_v6") if what in index]
    table = IpToAs.from_files(
        [(_content(folder, entry), entry["file"]) for entry in tables],
        str(folder),
        facts["ip_to_as"],
        announced=all(entry["announced"] for entry in tables),
    )
    names = read_as_names(_content(folder, index["as_names"]), index["as_names"]["file"])
    return Reference(table, names, suffix_list, facts)


def _index(folder: Traversable) -> dict[str, dict[str, Any]]:
    try:
        index: dict[str, dict[str, Any]] = json.loads(folder.joinpath(INDEX).read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(str(folder / INDEX), "unreadable", f"cannot be read ({error})") from error
    return index


def _content(folder: Traversable, entry: dict[str, Any]) -> bytes:
    path = folder.joinpath(entry["file"])
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise InputError(str(path), "changed", "it is not what was fetched; run: originset study reference update")
    return content


def suffix_list_date(content: bytes) -> str | None:
    """The date of a public suffix list, from its VERSION line."""
    version = _VERSION_LINE.search(content[:2000].decode(errors="replace"))
    return version[1] if version else None


def _tldextract_list() -> dict[str, str]:
    content = resources.files("tldextract").joinpath(".tld_set_snapshot").read_bytes()
    facts = {
        "source": f"public suffix list in tldextract {metadata.version('tldextract')}",
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    if day := suffix_list_date(content):
        facts["date"] = day
    return facts
