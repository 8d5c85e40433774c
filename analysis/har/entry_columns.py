"""The entries of many HARs as one set of columns, with the values that the files have; nothing is interpreted yet.

The values of all columns of one type go into one list, entry after entry. Every few files that list becomes a series,
while its values are still in the processor's cache; :meth:`EntryColumns.frame` takes the columns out of the series. A
series for each column every few files costs more than the values do. Of a column that is nearly always NULL, only the
other values are collected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from originset.analysis.har.decoding.structs import DnsInfo, Entry, Log, Page, SecurityDetails
from originset.analysis.har.entry_facts import cached_flags, connection_ids, connection_moments, page_positions
from originset.analysis.har.initiators import initiator_url
from originset.analysis.har.recorders import OTHER, Recorder

# URLs are most of the text, and have series of their own: an operation on one of these columns reads nothing else.
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
# Columns with a value for few entries, or for the entries of few recorders.
_SPARSE_COLUMNS: dict[str, type[pl.DataType]] = {
    "entry_protocol": pl.String,
    "error": pl.String,
    "redirect": pl.String,
    "initiator_place": pl.Int64,
    "frame_url": pl.String,
    "by_service_worker": pl.Boolean,
    "ip_addr": pl.String,
    "transferred": pl.Float64,
    "security": pl.Int64,  # position in `certificates`
    "tls_version": pl.String,
    "tls_resumed": pl.Boolean,
    "opened_after": pl.Float64,  # when its connection was opened and stood, from when it was sent [ms]
    "established_after": pl.Float64,
}

_ROWS_PER_SERIES = 250
_MAX_COMPARED = 8
# Certificate authorities sign for some 100 names, and some private ones for a few thousand; chains have up to five.
_MAX_NAMES = 10_000
_MAX_CHAIN = 20


@dataclass(frozen=True, slots=True)
class VisitFacts:
    """One page of one file, before its entries are looked at. ``zero``: the start of its clock, if known."""

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
    client: str | None = None
    page_kind: str | None = None


@dataclass(frozen=True, slots=True)
class EntryLookup:
    """The lookup of an entry's host; ``place`` and ``visit`` are those of the entry."""

    visit: int
    place: int
    info: DnsInfo


class EntryColumns:
    """``entries``: how many there are. ``certificates``: each distinct set of TLS details, or chain in PEM, once."""

    def __init__(self) -> None:
        self.entries = 0
        self.visits: list[VisitFacts] = []
        self.certificates: list[SecurityDetails | tuple[str, ...]] = []
        self.lookups: list[EntryLookup] = []
        self._chain_of: dict[tuple[str, ...], int] = {}
        self._details_of: dict[tuple[object, ...], list[tuple[int, list[str] | None]]] = {}
        self._values: tuple[list[Any], ...] = tuple([] for _ in _COLUMNS)
        self._series: tuple[list[pl.Series], ...] = tuple([] for _ in _COLUMNS)
        self._sparse: dict[str, dict[int, Any]] = {name: {} for name in _SPARSE_COLUMNS}  # by the entry's row

    def add(self, log: Log, visits: Sequence[VisitFacts]) -> None:
        """Add one file's entries; ``visits`` are its pages, in its order, at least one."""
        entries = log.entries
        recorder = visits[0].recorder
        pages = page_positions(entries, [visit.page for visit in visits])
        connections = connection_ids(entries, recorder)
        first_visit, first_row = len(self.visits), self.entries
        urls, causes, texts, numbers, places, truths = self._values
        errors, redirects, by_service_worker = (
            self._sparse[name] for name in ("error", "redirect", "by_service_worker")
        )
        tls_versions, certificates = self._sparse["tls_version"], self._sparse["security"]
        cached = cached_flags(entries, recorder)
        for place, (entry, page, connection) in enumerate(zip(entries, pages, connections, strict=True)):
            request, response, timings = entry.request, entry.response, entry.timings
            content, cause = response.content, entry.initiator
            # Each in the order of _COLUMNS.
            urls.append(request.url)
            causes.append(cause if cause is None or isinstance(cause, str) else initiator_url(cause))
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
                by_service_worker[first_row + place] = True
            if (details := entry.security) is not None:
                if details.protocol is not None:
                    tls_versions[first_row + place] = details.protocol
                if not (recorder.extended and entry.certificates):
                    certificates[first_row + place] = self._certificate_position(details)
        truths += cached
        if recorder.extended:
            self._add_extended_fields(entries, pages)
        self.visits += visits
        self.entries += len(entries)
        if len(truths) >= _ROWS_PER_SERIES:
            self._make_series()

    def _add_extended_fields(self, entries: Sequence[Entry], pages: Sequence[int]) -> None:
        """Add the fields that only some recorders have."""
        first_visit = len(self.visits)
        for place, (entry, page) in enumerate(zip(entries, pages, strict=True)):
            row = self.entries + place
            for name, value in (
                ("entry_protocol", entry.protocol),
                ("initiator_place", entry.initiator_index),
                ("frame_url", entry.frame_url),
                ("ip_addr", entry.ip_addr),
                ("transferred", entry.transfer_size),
            ):
                if value is not None:
                    self._sparse[name][row] = value
            if entry.tls_resumed is not None:
                self._sparse["tls_resumed"][row] = _is_true(entry.tls_resumed)
            if entry.tls_version is not None:
                self._sparse["tls_version"].setdefault(row, entry.tls_version)
            if entry.certificates:  # preferred to the details that the recorder read from them
                self._sparse["security"][row] = self._chain_position(tuple(entry.certificates[:_MAX_CHAIN]))
            if (moments := connection_moments(entry)) is not None:
                self._sparse["opened_after"][row], self._sparse["established_after"][row] = moments
            if entry.dns_info is not None:
                self.lookups.append(EntryLookup(first_visit + page, place, entry.dns_info))

    def _make_series(self) -> None:
        for (kind, _), values, series in zip(_COLUMNS, self._values, self._series, strict=True):
            series.append(pl.Series(values, dtype=kind))
            values.clear()

    def frame(self) -> pl.DataFrame:
        """All entries added so far."""
        self._make_series()
        columns: list[pl.Series] = []
        for (_, names), series in zip(_COLUMNS, self._series, strict=True):
            joined = pl.concat(series, rechunk=True)
            series[:] = [joined]
            all_columns = (
                pl.col(joined.name).gather_every(len(names), place).alias(name) for place, name in enumerate(names)
            )
            columns += joined.to_frame().select(all_columns).get_columns()
        for name, kind in _SPARSE_COLUMNS.items():
            column = pl.Series(name, [None], dtype=kind).new_from_index(0, self.entries)
            if sparse_values := self._sparse[name]:
                column.scatter(list(sparse_values), pl.Series(list(sparse_values.values()), dtype=kind))
            columns.append(column)
        return pl.DataFrame(columns)

    def _chain_position(self, chain: tuple[str, ...]) -> int:
        if (place := self._chain_of.get(chain)) is None:
            place = self._chain_of[chain] = len(self.certificates)
            self.certificates.append(chain)
        return place

    def _certificate_position(self, details: SecurityDetails) -> int | None:
        if details.subject is None and details.names is None:
            return None  # Playwright writes an empty object where there was no TLS
        if details.names is not None and len(details.names) > _MAX_NAMES:
            details.names = None
        key: tuple[object, ...] = (details.subject, details.issuer, details.valid_from, details.valid_to)
        # Lists of names are long, and hardly any two certificates share all other facts: comparing costs less than
        # hashing, unless somebody made up very many that do.
        alike = self._details_of.setdefault(key, [])
        if len(alike) >= _MAX_COMPARED:
            alike = self._details_of.setdefault((*key, *(details.names or ())), [])
        for place, names in alike:
            if names == details.names:
                return place
        alike.append((len(self.certificates), details.names))
        self.certificates.append(details)
        return alike[-1][0]


def _is_true(value: str | bool) -> bool:
    return value is True or str(value).lower() == "true"
