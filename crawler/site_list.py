"""Site lists: a file or standard input with one site a line.

A line is a host (``example.com``), an address (``https://example.com/shop``), or ``rank,host`` as in ranking lists.
Empty lines and ``#`` comments are passed over. Hosts become lower-case A-labels.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import idna

from originset.data.errors import InputError

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_MAX_BYTES = 1 << 30
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Site:
    """One entry. ``name`` identifies it in the study; ``url`` is what to open if the list says more than a host."""

    name: str
    url: str | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class SiteList:
    """A list's sites in order, without the repetitions, whose lines ``duplicates`` names; SHA-256 of the text."""

    source: str
    sites: tuple[Site, ...]
    duplicates: tuple[int, ...]
    sha256: str


def read_site_list(source: str) -> SiteList:
    """The list in a file, or on standard input if ``source`` is ``-``.

    Raises:
        InputError: it cannot be read, a line is no site (named by its number), or there are none.
    """
    try:
        data = sys.stdin.buffer.read(_MAX_BYTES) if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise InputError(source, "unreadable", f"cannot be read ({error.strerror})") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(source, "not-text", "not a text in UTF-8", error.start) from error
    return parse_site_list(source, text.splitlines(), hashlib.sha256(data).hexdigest())


def parse_site_list(source: str, lines: Iterable[str], sha256: str) -> SiteList:
    """The list in these lines.

    Raises:
        InputError: as for :func:`read_site_list`.
    """
    sites: dict[str, Site] = {}
    duplicates: list[int] = []
    for number, line in enumerate(lines, start=1):
        entry = line.partition("#")[0].strip() if line.lstrip().startswith("#") else re.split(r"\s#", line)[0].strip()
        if not entry:
            continue
        try:
            site = parse_site(entry)
        except ValueError as error:
            shown = entry if len(entry) <= _SHOWN else entry[:_SHOWN] + "…"
            raise InputError(f"{source}:{number}", "not-a-site", f"{error}: {shown!r}") from None
        if site.name in sites:
            duplicates.append(number)
        else:
            sites[site.name] = site
    if not sites:
        raise InputError(source, "empty", "no sites in it")
    return SiteList(source, tuple(sites.values()), tuple(duplicates), sha256)


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


def normalised_host(host: str) -> str:
    """A host as lower-case A-labels, or an IP literal in canonical text.

    Raises:
        ValueError: it is neither.
    """
    bare = host.removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        if bare != host or ":" in host:
            raise ValueError("not a host") from None
    name = host.rstrip(".").lower()
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except idna.IDNAError:
            raise ValueError("not a host name") from None
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("not a host name")
    if labels[-1].isdecimal():
        raise ValueError("not an address")
    return name


def _host_and_port(text: str) -> tuple[str, int | None]:
    host, colon, digits = text.rpartition(":")
    if not colon or (text.startswith("[") and text.endswith("]")) or (text.count(":") > 1 and not text.startswith("[")):
        return normalised_host(text), None
    if not digits.isdecimal() or not digits.isascii() or not 0 < int(digits) < 65536:
        raise ValueError("not a port")
    return normalised_host(host), int(digits)


def _joined(host: str, port: int | None) -> str:
    host = f"[{host}]" if ":" in host else host
    return host if port is None else f"{host}:{port}"
