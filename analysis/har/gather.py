"""Many HARs into one set of columns, as the files have them; nothing is interpreted per entry yet.

The values of all columns of one type go into one list, entry after entry, and that into one series every few files,
while what it holds is still in the processor's cache; the columns are taken out of it at the end. To make each column
every few files costs more than its values do; and where nearly all values are NULL, only the others are collected.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from originset.analysis.har.decoding.structs import DnsInfo, Entry, Log, Page, SecurityDetails
from originset.analysis.har.initiators import called_by
from originset.analysis.har.recorders import OTHER, Recorder
from originset.analysis.har.times import parse_timestamp

# Addresses, the bulk of the text, lie by themselves: what works on a column of them then meets nothing else.
_COLUMNS: tuple[tuple[type[pl.DataType], tuple[str, ...]], ...] = (
    (pl.String, ("given_url",)),
    (pl.String, ("initiator_url",)),
    (
        pl.String,
        ("started", "method", "request_protocol", "response_protocol", "mime", "resource_type", "connection", "ip"),
    ),
    (
        pl.Float64,
        (
            *("status", "blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms"),
            *("response_transferred", "headers_size", "body_size"),
        ),
    ),
    (pl.Int64, ("visit", "place")),  # position in `visits`; of the entry, in its file
    (pl.Boolean, ("cached",)),
)
# What few entries or few recorders have.
_RARE: dict[str, type[pl.DataType]] = {
    "told_protocol": pl.String,
    "error": pl.String,
    "redirect": pl.String,
    "initiator_place": pl.Int64,
    "frame_url": pl.String,
    "by_worker": pl.Boolean,
    "ip_addr": pl.String,
    "transferred": pl.Float64,
    "security": pl.Int64,  # position in `certificates`
    "tls_version": pl.String,
    "tls_resumed": pl.Boolean,
    "opened_after": pl.Float64,  # when its connection was opened and stood, from when it was sent [ms]
    "established_after": pl.Float64,
}

_ROWS_AT_ONCE = 250
_FEW = 8
# Certificate authorities sign for some 100 names, and some private ones for a few thousand; chains have up to five.
_MAX_NAMES = 10_000
_MAX_CHAIN = 20
_DIGITS = re.compile(r"[0-9]{1,10}", re.ASCII)
_NO_IDS = frozenset({"", "0", "-1", 0, -1})


@dataclass(frozen=True, slots=True)
class VisitFacts:
    """One page of one file, before its entries are looked at. ``zero`` is where its clock starts, if that is told."""

    visit_id: str
    source: str
    sha256: str | None
    recorder: Recorder = OTHER
    recorder_version: str | None = None
    browser: str | None = None
    browser_version: str | None = None
    page: Page | None = None
    zero: datetime | None = None
    truncated: bool = False
    later: bool = False  # not the first page of its file
    rank: int | None = None
    profile: str | None = None
    page_kind: str | None = None


@dataclass(frozen=True, slots=True)
class Lookup:
    """What an entry tells of the lookup of its host; ``place`` and ``visit`` are the entry's."""

    visit: int
    place: int
    info: DnsInfo


class Gathered:
    """``entries``: their number. ``certificates`` holds each distinct set of TLS details, or chain in PEM, once."""

    def __init__(self) -> None:
        self.entries = 0
        self.visits: list[VisitFacts] = []
        self.certificates: list[SecurityDetails | tuple[str, ...]] = []
        self.lookups: list[Lookup] = []
        self._chain_of: dict[tuple[str, ...], int] = {}
        self._details_of: dict[tuple[object, ...], list[tuple[int, list[str] | None]]] = {}
        self._values: tuple[list[Any], ...] = tuple([] for _ in _COLUMNS)
        self._series: tuple[list[pl.Series], ...] = tuple([] for _ in _COLUMNS)
        self._rare: dict[str, dict[int, Any]] = {name: {} for name in _RARE}  # by the entry's row

    def add(self, log: Log, visits: Sequence[VisitFacts]) -> None:
        """Take over one file's entries; ``visits`` are its pages, in its order, at least one."""
        entries = log.entries
        recorder = visits[0].recorder
        pages = _pages(entries, [visit.page for visit in visits])
        connections = _connections(entries, recorder)
        first_visit, first_row = len(self.visits), self.entries
        urls, causes, texts, numbers, places, truths = self._values
        errors, redirects, by_worker = (self._rare[name] for name in ("error", "redirect", "by_worker"))
        tls_versions, certificates = self._rare["tls_version"], self._rare["security"]
        cached = _cached(entries, recorder)
        for place, (entry, page, connection) in enumerate(zip(entries, pages, connections, strict=True)):
            request, response, timings = entry.request, entry.response, entry.timings
            content, cause = response.content, entry.initiator
            # Each in the order of _COLUMNS.
            urls.append(request.url)
            causes.append(cause if cause is None or isinstance(cause, str) else called_by(cause))
            texts += (
                entry.started,
                request.method,
                request.http_version,
                response.http_version,
                None if content is None else content.mime_type,
                entry.resource_type or entry.request_type,
                connection,
                entry.server_ip,
            )
            numbers += (
                response.status,
                timings.blocked,
                timings.dns,
                timings.connect,
                timings.ssl,
                timings.send,
                timings.wait,
                timings.receive,
                response.transfer_size,
                response.headers_size,
                response.body_size,
            )
            places += (first_visit + page, place)
            if error := entry.error or response.error or response.failure:
                errors[first_row + place] = error
            if redirect := response.redirect_url:
                redirects[first_row + place] = redirect
            if response.service_worker or entry.from_cache == "service_worker":
                by_worker[first_row + place] = True
            if (details := entry.security) is not None:
                if details.protocol is not None:
                    tls_versions[first_row + place] = details.protocol
                if not (recorder.extended and entry.certificates):
                    certificates[first_row + place] = self._certificate(details)
        truths += cached
        if recorder.extended:
            self._take_extended(entries, pages)
        self.visits += visits
        self.entries += len(entries)
        if len(truths) >= _ROWS_AT_ONCE:
            self._make_series()

    def _take_extended(self, entries: Sequence[Entry], pages: Sequence[int]) -> None:
        """What only some recorders write."""
        first_visit = len(self.visits)
        for place, (entry, page) in enumerate(zip(entries, pages, strict=True)):
            row = self.entries + place
            for name, value in (
                ("told_protocol", entry.protocol),
                ("initiator_place", entry.initiator_index),
                ("frame_url", entry.frame_url),
                ("ip_addr", entry.ip_addr),
                ("transferred", entry.transfer_size),
            ):
                if value is not None:
                    self._rare[name][row] = value
            if entry.tls_resumed is not None:
                self._rare["tls_resumed"][row] = _true(entry.tls_resumed)
            if entry.tls_version is not None:
                self._rare["tls_version"].setdefault(row, entry.tls_version)
            if entry.certificates:  # themselves, rather than what was read off them
                self._rare["security"][row] = self._chain(tuple(entry.certificates[:_MAX_CHAIN]))
            if (connected := _connected(entry)) is not None:
                self._rare["opened_after"][row], self._rare["established_after"][row] = connected
            if entry.dns_info is not None:
                self.lookups.append(Lookup(first_visit + page, place, entry.dns_info))

    def _make_series(self) -> None:
        for (kind, _), values, series in zip(_COLUMNS, self._values, self._series, strict=True):
            series.append(pl.Series(values, dtype=kind))
            values.clear()

    def frame(self) -> pl.DataFrame:
        """All entries gathered so far."""
        self._make_series()
        columns: list[pl.Series] = []
        for (_, names), series in zip(_COLUMNS, self._series, strict=True):
            joined = pl.concat(series, rechunk=True)
            series[:] = [joined]
            every = (
                pl.col(joined.name).gather_every(len(names), place).alias(name) for place, name in enumerate(names)
            )
            columns += joined.to_frame().select(every).get_columns()
        for name, kind in _RARE.items():
            column = pl.Series(name, [None], dtype=kind).new_from_index(0, self.entries)
            if known := self._rare[name]:
                column.scatter(list(known), pl.Series(list(known.values()), dtype=kind))
            columns.append(column)
        return pl.DataFrame(columns)

    def _chain(self, chain: tuple[str, ...]) -> int:
        if (place := self._chain_of.get(chain)) is None:
            place = self._chain_of[chain] = len(self.certificates)
            self.certificates.append(chain)
        return place

    def _certificate(self, details: SecurityDetails) -> int | None:
        if details.subject is None and details.names is None:
            return None  # Playwright writes an empty object where there was no TLS
        if details.names is not None and len(details.names) > _MAX_NAMES:
            details.names = None
        key: tuple[object, ...] = (details.subject, details.issuer, details.valid_from, details.valid_to)
        # Lists of names are long, and hardly any two certificates have all else in common: to compare costs less than
        # to hash, unless somebody made up very many that do.
        alike = self._details_of.setdefault(key, [])
        if len(alike) >= _FEW:
            alike = self._details_of.setdefault((*key, *(details.names or ())), [])
        for place, names in alike:
            if names == details.names:
                return place
        alike.append((len(self.certificates), details.names))
        self.certificates.append(details)
        return alike[-1][0]


def _pages(entries: Sequence[Entry], pages: Sequence[Page | None]) -> list[int]:
    """Each entry's page: the one it names; else the one that was open when it started; else the first."""
    if len(pages) == 1:
        return [0] * len(entries)
    place_of: dict[str | None, int] = {}
    for place, page in enumerate(pages):
        if page is not None and page.id is not None:
            place_of.setdefault(page.id, place)
    places = [place_of.get(entry.page) for entry in entries]
    if None not in places:
        return [place for place in places if place is not None]
    opened = sorted(
        (moment, place)
        for place, page in enumerate(pages)
        if page is not None and page.started and (moment := parse_timestamp(page.started)) is not None
    )
    moments = [moment for moment, _ in opened]
    return [
        place if place is not None else _open_page(opened, moments, entry.started)
        for place, entry in zip(places, entries, strict=True)
    ]


def _open_page(opened: list[tuple[datetime, int]], moments: list[datetime], started: str | None) -> int:
    if not opened:
        return 0
    moment = parse_timestamp(started) if started else None
    earlier = 0 if moment is None else bisect_right(moments, moment)
    return opened[max(earlier - 1, 0)][1]


def _true(value: str | bool) -> bool:
    return value is True or str(value).lower() == "true"


def _cached(entries: Sequence[Entry], recorder: Recorder) -> list[bool | None]:
    """Whether each entry was answered without the network; None where the recorder does not tell."""
    if recorder.name == "safari":
        return [None if not entry.fetch_type else entry.fetch_type != "Network Load" for entry in entries]
    if recorder.name == "firefox":
        return _cached_by_firefox(entries)
    if recorder.name == "playwright":
        # Bytes on the wire: an answer from the network has at least its headers.
        return [True if entry.response.transfer_size == 0 and _answered(entry) else None for entry in entries]
    unmarked = False if recorder.cache_known else None
    # chrome-har writes an (empty) earlier state of the cache exactly where the answer came from it. Elsewhere the state
    # may be there although the network was asked.
    by_state = recorder.name in {"chrome-har", "browsertime"}
    return [
        True
        if entry.from_cache
        or entry.from_disk_cache
        or entry.response.service_worker
        or (by_state and entry.cache is not None and entry.cache.before is not None)
        else unmarked
        for entry in entries
    ]


def _cached_by_firefox(entries: Sequence[Entry]) -> list[bool | None]:
    """It names the server of every answer that came over the network, and of no other; early versions named none."""
    names_servers = any(entry.server_ip for entry in entries)
    return [
        True
        if names_servers
        and not entry.server_ip
        and _answered(entry)
        and (entry.request.url or "").startswith(("http:", "https:"))
        else None
        for entry in entries
    ]


def _answered(entry: Entry) -> bool:
    return entry.response.status is not None and entry.response.status >= 100


def _connected(entry: Entry) -> tuple[float, float] | None:
    """When an entry's connection was opened and stood, in ms from when the entry was sent; None if it does not tell."""
    sent, opened, connected, secured = (
        _number(moment) for moment in (entry.load_start, entry.connect_start, entry.connect_end, entry.ssl_end)
    )
    stood = max(connected or 0.0, secured or 0.0)
    if sent is None or opened is None or opened < 0 or stood <= opened:
        return None
    return opened - sent, stood - sent


def _number(moment: float | str | None) -> float | None:
    if isinstance(moment, str):
        return float(moment) if _DIGITS.fullmatch(moment) else None
    return moment


def _connections(entries: Sequence[Entry], recorder: Recorder) -> list[str | None]:
    """The recorder's connection ids as text; all None where it has none.

    Many programs write the server's port into ``connection``: a file in which every value is its request's port has no
    ids. ``0`` is Chromium's way of saying that it does not know (QUIC in some versions, answers from the cache).
    """
    if not recorder.connection_ids:
        return [None] * len(entries)
    given: list[str | int | None]
    if recorder.connections_inferred:
        given = [entry.socket for entry in entries]
    else:
        given = [entry.connection_id for entry in entries]
        if given.count(None) == len(given):
            given = [entry.connection for entry in entries]
            if recorder.name != "originset" and _are_ports(given, entries):
                return [None] * len(entries)
    return [None if value is None or value in _NO_IDS else str(value) for value in given]


def _are_ports(given: Sequence[str | int | None], entries: Sequence[Entry]) -> bool:
    seen = False
    for value, entry in zip(given, entries, strict=True):
        if value is None or value in {"", "0", 0}:
            continue
        seen = True
        url = entry.request.url or ""
        expected = "443" if url.startswith(("https:", "wss:")) else "80"
        if str(value) != expected and f":{value}" not in url:
            return False
    return seen
