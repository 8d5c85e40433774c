"""Many HARs into one set of columns, as the files have them; nothing is interpreted per entry yet.

Lists and not rows: a polars column is made from a list at once, and every rule after this works on whole columns. The
lists are made into columns every few files, while what they hold is still in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from originset.analysis.har.initiators import called_by
from originset.analysis.har.recorders import OTHER, Recorder
from originset.analysis.har.structs import DnsInfo, Entry, Log, Page, SecurityDetails
from originset.analysis.har.times import parse_timestamp

_COLUMNS: dict[str, pl.DataType] = {
    "visit": pl.Int64(),  # position in `visits`
    "place": pl.Int64(),  # of the entry, in its file
    "started": pl.String(),
    "given_url": pl.String(),
    "method": pl.String(),
    "request_protocol": pl.String(),
    "response_protocol": pl.String(),
    "told_protocol": pl.String(),
    "status": pl.Float64(),
    "error": pl.String(),
    "mime": pl.String(),
    "resource_type": pl.String(),
    "redirect": pl.String(),
    "initiator_url": pl.String(),
    "initiator_place": pl.Int64(),
    "frame_url": pl.String(),
    "cached": pl.Boolean(),
    "by_worker": pl.Boolean(),
    "connection": pl.String(),
    "ip": pl.String(),
    "ip_addr": pl.String(),
    "blocked_ms": pl.Float64(),
    "dns_ms": pl.Float64(),
    "connect_ms": pl.Float64(),
    "ssl_ms": pl.Float64(),
    "send_ms": pl.Float64(),
    "wait_ms": pl.Float64(),
    "receive_ms": pl.Float64(),
    "transferred": pl.Float64(),
    "response_transferred": pl.Float64(),
    "headers_size": pl.Float64(),
    "body_size": pl.Float64(),
    "security": pl.Int64(),  # position in `certificates`
    "tls_version": pl.String(),
    "tls_resumed": pl.Boolean(),
}

_ROWS_AT_ONCE = 1000
_FEW = 8


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
        self._lists: dict[str, list[object]] = {name: [] for name in _COLUMNS}
        self._frames: list[pl.DataFrame] = []

    def add(self, log: Log, visits: Sequence[VisitFacts]) -> None:
        """Take over one file's entries; ``visits`` are its pages, in its order, at least one."""
        first = len(self.visits)
        self.visits += visits
        entries = log.entries
        recorder = visits[0].recorder
        unknown = [None] * len(entries)
        requests = [entry.request for entry in entries]
        responses = [entry.response for entry in entries]
        timings = [entry.timings for entry in entries]
        pages = _pages(entries, [visit.page for visit in visits])
        if recorder.extended:
            self.lookups += [
                Lookup(first + pages[place], place, entry.dns_info)
                for place, entry in enumerate(entries)
                if entry.dns_info is not None
            ]
        columns: dict[str, Sequence[object]] = {
            "visit": [first + page for page in pages],
            "place": range(len(entries)),
            "started": [entry.started for entry in entries],
            "given_url": [request.url for request in requests],
            "method": [request.method for request in requests],
            "request_protocol": [request.http_version for request in requests],
            "response_protocol": [response.http_version for response in responses],
            "told_protocol": [entry.protocol for entry in entries] if recorder.extended else unknown,
            "status": [response.status for response in responses],
            "error": [
                entry.error or response.error or response.failure
                for entry, response in zip(entries, responses, strict=True)
            ],
            "mime": [None if (content := response.content) is None else content.mime_type for response in responses],
            "resource_type": [entry.resource_type or entry.request_type for entry in entries],
            "redirect": [response.redirect_url or None for response in responses],
            "initiator_url": [
                None if (given := entry.initiator) is None else given if isinstance(given, str) else called_by(given)
                for entry in entries
            ],
            "initiator_place": [entry.initiator_index for entry in entries] if recorder.extended else unknown,
            "frame_url": [entry.frame_url for entry in entries] if recorder.extended else unknown,
            "cached": _cached(log, recorder),
            "by_worker": [
                entry.response.service_worker or entry.from_cache == "service_worker" or None for entry in entries
            ],
            "connection": _connections(entries, recorder),
            "ip": [entry.server_ip for entry in entries],
            "ip_addr": [entry.ip_addr for entry in entries] if recorder.extended else unknown,
            "blocked_ms": [timing.blocked for timing in timings],
            "dns_ms": [timing.dns for timing in timings],
            "connect_ms": [timing.connect for timing in timings],
            "ssl_ms": [timing.ssl for timing in timings],
            "send_ms": [timing.send for timing in timings],
            "wait_ms": [timing.wait for timing in timings],
            "receive_ms": [timing.receive for timing in timings],
            "transferred": [entry.transfer_size for entry in entries] if recorder.extended else unknown,
            "response_transferred": [response.transfer_size for response in responses],
            "headers_size": [response.headers_size for response in responses],
            "body_size": [response.body_size for response in responses],
            **self._security(entries, recorder),
        }
        for name, values in columns.items():
            self._lists[name] += values
        self.entries += len(entries)
        if len(self._lists["visit"]) >= _ROWS_AT_ONCE:
            self._make_columns()

    def _security(self, entries: Sequence[Entry], recorder: Recorder) -> dict[str, Sequence[object]]:
        """The columns on TLS."""
        details = [entry.security for entry in entries]
        told = [None if detail is None else detail.protocol for detail in details]
        if not recorder.extended:
            security = [None if detail is None else self._certificate(detail) for detail in details]
            return {"security": security, "tls_version": told, "tls_resumed": [None] * len(entries)}
        return {
            "security": [self._best_certificate(entry) for entry in entries],
            "tls_version": [
                entry.tls_version if version is None else version for entry, version in zip(entries, told, strict=True)
            ],
            "tls_resumed": [None if entry.tls_resumed is None else _true(entry.tls_resumed) for entry in entries],
        }

    def _make_columns(self) -> None:
        self._frames.append(pl.DataFrame([_column(name, values) for name, values in self._lists.items()]))
        self._lists = {name: [] for name in _COLUMNS}

    def frame(self) -> pl.DataFrame:
        """All entries gathered so far."""
        self._make_columns()
        self._frames = [pl.concat(self._frames, rechunk=True)]
        return self._frames[0]

    def _best_certificate(self, entry: Entry) -> int | None:
        """The certificates themselves, where they are recorded, rather than what was read off them."""
        if entry.certificates:
            key = tuple(entry.certificates)
            if (place := self._chain_of.get(key)) is None:
                place = self._chain_of[key] = len(self.certificates)
                self.certificates.append(key)
            return place
        return None if entry.security is None else self._certificate(entry.security)

    def _certificate(self, details: SecurityDetails) -> int | None:
        if details.subject is None and details.names is None:
            return None  # Playwright writes an empty object where there was no TLS
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


def _column(name: str, values: list[object]) -> pl.Series:
    kind = _COLUMNS[name]
    # No recorder fills all columns, and an empty one costs as much as a full one if it is made value by value.
    if values and values[0] is None and values.count(None) == len(values):
        return pl.Series(name, [None], dtype=kind).new_from_index(0, len(values))
    return pl.Series(name, values, dtype=kind)


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
    return [
        place if place is not None else _open_page(opened, entry.started)
        for place, entry in zip(places, entries, strict=True)
    ]


def _open_page(opened: list[tuple[datetime, int]], started: str | None) -> int:
    moment = parse_timestamp(started) if started else None
    earlier = [place for time, place in opened if moment is not None and time <= moment]
    return earlier[-1] if earlier else opened[0][1] if opened else 0


def _true(value: str | bool) -> bool:
    return value is True or str(value).lower() == "true"


def _cached(log: Log, recorder: Recorder) -> list[bool | None]:
    """Whether each entry was answered without the network; None where the recorder does not tell."""
    if recorder.name == "safari":
        return [None if not entry.fetch_type else entry.fetch_type != "Network Load" for entry in log.entries]
    if recorder.name == "firefox":
        return _cached_by_firefox(log.entries)
    if recorder.name == "playwright":
        # Bytes on the wire: an answer from the network has at least its headers.
        return [True if entry.response.transfer_size == 0 and _answered(entry) else None for entry in log.entries]
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
        for entry in log.entries
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
    elif any(entry.connection_id is not None for entry in entries):
        given = [entry.connection_id for entry in entries]
    else:
        given = [entry.connection for entry in entries]
        if recorder.name != "originset" and _are_ports(given, entries):
            return [None] * len(entries)
    return [None if value is None or value in {"", "0", "-1", 0, -1} else str(value) for value in given]


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
