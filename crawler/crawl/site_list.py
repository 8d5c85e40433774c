"""Site lists: a file, standard input or a Tranco list, with one site a line or in a column of a CSV.

A line is a host (``example.com``), an address (``https://example.com/shop``), or ``rank,host`` as in ranking lists.
Empty lines and ``#`` comments are passed over. Hosts become lower-case A-labels.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from originset.crawler.downloads import tranco
from originset.data.errors import InputError
from originset.data.host_names import normalise_host

_MAX_BYTES = 1 << 30
_SHOWN = 80
_TOLD = 20


@dataclass(frozen=True, slots=True)
class Site:
    """One entry. ``name`` identifies it in the study; ``url`` is what to open if the list says more than a host."""

    name: str
    url: str | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class SiteList:
    """A list's sites in order, without the repetitions, whose lines ``duplicates`` names; SHA-256 of the text.

    ``invalid`` names the lines that are no sites and were left out, where that was asked for. ``origin`` is what the
    manifest says besides: where a list came from that was downloaded.
    """

    source: str
    sites: tuple[Site, ...]
    duplicates: tuple[int, ...]
    sha256: str
    origin: Mapping[str, str] = field(default_factory=dict)
    invalid: tuple[int, ...] = ()


def read_site_list(source: str, column: str | None = None, *, skip_invalid: bool = False) -> SiteList:
    """The list in a file, on standard input if ``source`` is ``-``, or Tranco's if it is ``tranco:ID[:N]``.

    With ``column`` the file is a CSV with a header, and the sites stand in the column of that name, ranks in ``rank``.

    Raises:
        InputError: it cannot be read, lines are no sites (named by their numbers) and are not to be skipped, or there
            are none.
    """
    if source.startswith(tranco.PREFIX):
        if column is not None:
            raise InputError(source, "no-columns", "a Tranco list has no columns to choose from")
        listed = tranco.fetch_ranking(source)
        digest = hashlib.sha256(listed.data).hexdigest()
        lines = listed.data.decode("utf-8", "replace").splitlines()[: listed.count]
        origin = {"id": listed.id, "url": listed.url}
        return parse_site_list(source, enumerate(lines, start=1), digest, origin, skip_invalid=skip_invalid)
    try:
        data = sys.stdin.buffer.read(_MAX_BYTES) if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise InputError(source, "unreadable", f"cannot be read ({error.strerror})") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(source, "not-text", "not a text in UTF-8", error.start) from error
    digest = hashlib.sha256(data).hexdigest()
    entries = _entries(text) if column is None else _column(source, text, column)
    return parse_site_list(source, entries, digest, skip_invalid=skip_invalid)


def _entries(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        yield number, line.partition("#")[0] if line.lstrip().startswith("#") else re.split(r"\s#", line)[0]


def _column(source: str, text: str, column: str) -> Iterator[tuple[int, str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        if column not in (names := reader.fieldnames or []):
            raise InputError(
                source, "no-column", f"no column {column!r}; there are {', '.join(map(repr, names)) or 'none'}"
            )
        for row in reader:
            rank = (row.get("rank") or "").strip()
            site = (row[column] or "").strip()
            yield reader.line_num, f"{rank},{site}" if rank.isascii() and rank.isdecimal() and site else site
    except csv.Error as error:
        raise InputError(f"{source}:{reader.line_num}", "not-csv", f"not a CSV ({error})") from error


def parse_site_list(
    source: str,
    entries: Iterable[tuple[int, str]],
    sha256: str,
    origin: Mapping[str, str] | None = None,
    *,
    skip_invalid: bool = False,
) -> SiteList:
    """The list of these entries, each with the number of its line; empty ones are none.

    Raises:
        InputError: as for :func:`read_site_list`.
    """
    sites: dict[str, Site] = {}
    duplicates: list[int] = []
    invalid: dict[int, str] = {}
    for number, text in entries:
        entry = text.strip()
        if not entry:
            continue
        try:
            site = parse_site(entry)
        except ValueError as error:
            shown = entry if len(entry) <= _SHOWN else entry[:_SHOWN] + "…"
            invalid[number] = f"{error}: {shown!r}"
            continue
        if site.name in sites:
            duplicates.append(number)
        else:
            sites[site.name] = site
    if invalid and not skip_invalid:
        raise _refusal(source, invalid)
    if not sites:
        raise InputError(source, "empty", "no sites in it")
    return SiteList(source, tuple(sites.values()), tuple(duplicates), sha256, origin or {}, tuple(invalid))


def _refusal(source: str, invalid: Mapping[int, str]) -> InputError:
    if len(invalid) == 1:
        ((number, problem),) = invalid.items()
        return InputError(f"{source}:{number}", "not-a-site", problem)
    told = "; ".join(f"line {number}: {problem}" for number, problem in islice(invalid.items(), _TOLD))
    more = f"; and {len(invalid) - _TOLD} more" if len(invalid) > _TOLD else ""
    return InputError(source, "not-a-site", f"{len(invalid)} lines are no sites: {told}{more}")


def read_exclusions(path: Path) -> frozenset[str]:
    """The hosts of a list of those that do not want to be visited; their subdomains do not want to either.

    Raises:
        InputError: as for :func:`read_site_list`.
    """
    return frozenset(
        urlsplit(site.url or f"https://{site.name}/").hostname or "" for site in read_site_list(str(path)).sites
    )


def parse_site(entry: str) -> Site:
    """One entry.

    Raises:
        ValueError: it is none; the message says why.
    """
    rank: int | None = None
    before, comma, after = entry.partition(",")
    if comma and before.strip().isdecimal() and before.strip().isascii():
        if len(before.strip()) > 9:
            raise ValueError("not a rank")
        rank, entry = int(before), after.strip()
    if "://" not in entry:
        host, port = _host_and_port(entry)
        name = _joined(host, port)
        return Site(name, None if port is None else f"https://{name}/", rank)
    parts = urlsplit(entry)  # itself raises ValueError
    scheme = parts.scheme.lower()
    if scheme not in {"http", "https"}:
        raise ValueError("not an http or https address")
    if "@" in parts.netloc:
        raise ValueError("an address with user information")
    if any(character.isspace() or not character.isprintable() for character in entry):
        raise ValueError("not an address")
    netloc = _joined(*_host_and_port(parts.netloc))
    # The name is the whole address, so that two pages of one host are two entries; a bare front page is its host.
    url = urlunsplit((scheme, netloc, parts.path or "/", parts.query, ""))
    name = netloc if scheme == "https" and parts.path in {"", "/"} and not parts.query else url
    return Site(name, url, rank)


def is_page_url(text: str) -> bool:
    """Whether a text is the URL of a page as :func:`parse_site` writes it: http or https, no user information."""
    try:
        return parse_site(text).url == text
    except ValueError:
        return False


def _host_and_port(text: str) -> tuple[str, int | None]:
    host, colon, digits = text.rpartition(":")
    if not colon or (text.startswith("[") and text.endswith("]")) or (text.count(":") > 1 and not text.startswith("[")):
        return _host(text), None
    if not digits.isdecimal() or not digits.isascii() or not 0 < int(digits) < 65536:
        raise ValueError("not a port")
    return _host(host), int(digits)


def _host(text: str) -> str:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    name = None if "[" in bare or "]" in bare else normalise_host(bare)
    if name is None:
        raise ValueError("not a host name or address")
    return name


def _joined(host: str, port: int | None) -> str:
    host = f"[{host}]" if ":" in host else host
    return host if port is None else f"{host}:{port}"
