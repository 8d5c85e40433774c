"""Facts of a file's entries that one entry alone does not give: its page, whether a cache answered, its connection."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime

from originset.analysis.har.decoding.structs import Entry, Page
from originset.analysis.har.recorders import Recorder
from originset.analysis.har.times import parse_timestamp

_NO_IDS = frozenset({"", "0", "-1", 0, -1})
_DIGITS = re.compile(r"[0-9]{1,10}", re.ASCII)


def page_positions(entries: Sequence[Entry], pages: Sequence[Page | None]) -> list[int]:
    """The page of each entry: the one that it names, else the one that was open when it started, else the first."""
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


def cached_flags(entries: Sequence[Entry], recorder: Recorder) -> list[bool | None]:
    """Whether each entry was answered without the network; None if the recorder does not say."""
    if recorder.name == "safari":
        return [None if not entry.fetch_type else entry.fetch_type != "Network Load" for entry in entries]
    if recorder.name == "firefox":
        return _cached_by_firefox(entries)
    if recorder.name == "playwright":
        # Bytes on the wire: an answer from the network has at least its headers.
        return [True if entry.response.transfer_size == 0 and _has_response(entry) else None for entry in entries]
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
    """From the cache by Firefox's rule: only network answers have a server address; early versions have none at all."""
    names_servers = any(entry.server_ip for entry in entries)
    return [
        True
        if names_servers
        and not entry.server_ip
        and _has_response(entry)
        and (entry.request.url or "").startswith(("http:", "https:"))
        else None
        for entry in entries
    ]


def _has_response(entry: Entry) -> bool:
    return entry.response.status is not None and entry.response.status >= 100


def connection_ids(entries: Sequence[Entry], recorder: Recorder) -> list[str | None]:
    """The recorder's connection ids as text; all None if it has none.

    Many programs write the server's port into ``connection``: a file in which every value is its request's port has no
    ids. ``0`` is Chromium's way of saying that it does not know (QUIC in some versions, answers from the cache).
    """
    if not recorder.connection_ids:
        return [None] * len(entries)
    raw_ids: list[str | int | None]
    if recorder.connections_inferred:
        raw_ids = [entry.socket for entry in entries]
    else:
        raw_ids = [entry.connection_id for entry in entries]
        if raw_ids.count(None) == len(raw_ids):
            raw_ids = [entry.connection for entry in entries]
            if recorder.name != "originset" and _are_ports(raw_ids, entries):
                return [None] * len(entries)
    return [None if value is None or value in _NO_IDS else str(value) for value in raw_ids]


def _are_ports(given: Sequence[str | int | None], entries: Sequence[Entry]) -> bool:
    has_port = False
    for value, entry in zip(given, entries, strict=True):
        if value is None or value in {"", "0", 0}:
            continue
        has_port = True
        url = entry.request.url or ""
        expected = "443" if url.startswith(("https:", "wss:")) else "80"
        if str(value) != expected and f":{value}" not in url:
            return False
    return has_port


def connection_moments(entry: Entry) -> tuple[float, float] | None:
    """When an entry's connection was opened and established, in ms since the entry was sent; None if not recorded.

    WebPageTest has moments where HARs have durations.
    """
    sent, opened = _milliseconds(entry.load_start), _milliseconds(entry.connect_start)
    if sent is None or opened is None or opened < 0:
        return None
    established = max(_milliseconds(entry.connect_end) or 0.0, _milliseconds(entry.ssl_end) or 0.0)
    return (opened - sent, established - sent) if established > opened else None


def _milliseconds(moment: float | str | None) -> float | None:
    if isinstance(moment, str):
        return float(moment) if _DIGITS.fullmatch(moment) else None
    return moment
