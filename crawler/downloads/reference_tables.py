"""Fetches reference data: routes of RouteViews as CAIDA publishes them, names of ASes, the public suffix list.

Whoever publishes with this data names its sources: CAIDA asks for it in its Acceptable Use Agreement.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from originset.crawler.downloads.public_connection import ClosingRedirectHandler
from originset.data.errors import InputError
from originset.data.files.atomic_files import replacing
from originset.data.reference.as_names import read_as_names
from originset.data.reference.snapshot import INDEX, suffix_list_date
from originset.data.reference.table_files import read_table_file

_TIMEOUT_S = 60
_OPENER = urllib.request.build_opener(ClosingRedirectHandler)
_MAX_BYTES = 200_000_000  # the largest of the files has some 10 MB
_ROUTES = re.compile(r"routeviews-rv[26]-(\d{8})-\d{4}\.pfx2as\.gz")
_ORGANISATIONS = re.compile(r"(\d{8})\.as-org2info\.txt\.gz")


@dataclass(frozen=True, slots=True)
class ReferenceSources:
    """Addresses of the three publishers' files; folders end in a slash."""

    routes: str = "https://publicdata.caida.org/datasets/routing/routeviews-prefix2as/"
    routes_v6: str = "https://publicdata.caida.org/datasets/routing/routeviews6-prefix2as/"
    organisations: str = "https://publicdata.caida.org/datasets/as-organizations/"
    suffix_list: str = "https://publicsuffix.org/list/public_suffix_list.dat"


@dataclass(frozen=True, slots=True)
class _Fetched:
    what: str
    source: str
    date: str
    content: bytes


def update_reference(folder: Path, sources: ReferenceSources, day: date | None) -> dict[str, dict[str, object]]:
    """Fetch everything, look at it, and only then put it in place of what ``folder`` held; gives the new index.

    ``day``: the routes of that day, and the newest names from before its end; None for the newest of both. The public
    suffix list is always today's, as no others are published. Whoever reads the folder meanwhile sees the old data
    or the new, never some of each: the index is replaced last, and in one step.

    Raises:
        InputError: something could not be fetched, is not published for that day, or is not what it should be.
    """
    fetched = [
        _routes("ip_to_as", sources.routes, day),
        _routes("ip_to_as_v6", sources.routes_v6, day),
        _names(sources.organisations, day),
        _suffixes(sources.suffix_list),
    ]
    index: dict[str, dict[str, object]] = {}
    for one in fetched:
        digest = hashlib.sha256(one.content).hexdigest()
        # Named after their content: a new file never overwrites one that the old index still names.
        name = f"{one.what}-{digest[:16]}"
        index[one.what] = {"file": name, "source": one.source, "date": one.date, "sha256": digest}
        if one.what.startswith("ip_to_as"):
            index[one.what]["announced"] = True
        _write(folder / name, one.content)
    _write(folder / INDEX, (json.dumps(index, indent=2) + "\n").encode())
    kept = {INDEX, *(str(entry["file"]) for entry in index.values())}
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()
    return index


def _routes(what: str, base: str, day: date | None) -> _Fetched:
    if day is None:
        address = base + "pfx2as-creation.log"
        lines = _download(address).decode(errors="replace").splitlines()
        paths = [line.split()[2] for line in lines if not line.startswith("#") and len(line.split()) == 3]
        path = _latest_name([path for path in paths if _ROUTES.fullmatch(path.rpartition("/")[2])], address)
    else:
        month = f"{day:%Y/%m}/"
        listing = _download(base + month).decode(errors="replace")
        names = [found[0] for found in _ROUTES.finditer(listing) if found[1] == f"{day:%Y%m%d}"]
        path = month + _latest_name(names, f"{base}{month} for {day}")
    content = _checked(base + path, read_table_file)
    stamp = _ROUTES.search(path)
    return _Fetched(what, base + path, _iso_date(stamp[1] if stamp else ""), content)


def _names(base: str, day: date | None) -> _Fetched:
    listing = _download(base).decode(errors="replace")
    until = "99999999" if day is None else f"{day:%Y%m%d}"
    names = sorted({found[0] for found in _ORGANISATIONS.finditer(listing) if found[1] <= until})
    name = _latest_name(names, base if day is None else f"{base} until {day}")
    return _Fetched("as_names", base + name, _iso_date(name[:8]), _checked(base + name, read_as_names))


def _suffixes(address: str) -> _Fetched:
    def read(content: bytes, name: str) -> None:
        if b"===BEGIN ICANN DOMAINS===" not in content or suffix_list_date(content) is None:
            raise InputError(name, "not-suffix-list", "not a public suffix list with a date")

    content = _checked(address, read)
    return _Fetched("public_suffix_list", address, suffix_list_date(content) or "", content)


def _checked(address: str, read: Callable[[bytes, str], object]) -> bytes:
    content = _download(address)
    read(content, address)
    return content


def _download(address: str) -> bytes:
    request = urllib.request.Request(address, headers={"User-Agent": "originset"})  # noqa: S310 - http(s), from ReferenceSources
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_S) as response:
            content: bytes = response.read(_MAX_BYTES + 1)
            missing: int | None = response.length  # of the length that it says; None where it says none
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: of a redirect to no URL
        raise InputError(address, "not-fetched", f"cannot be fetched ({error})") from error
    if len(content) > _MAX_BYTES:
        raise InputError(address, "not-fetched", f"more than {_MAX_BYTES} bytes came")
    if missing:
        raise InputError(address, "not-fetched", f"{missing} bytes less than it says came")
    return content


def _latest_name(names: list[str], where: str) -> str:
    if not names:
        raise InputError(where, "not-published", "no such file is published there")
    return names[-1]


def _iso_date(stamp: str) -> str:
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:]}"


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as beside:
        beside.write_bytes(content)
