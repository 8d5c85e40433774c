"""A NetLog file to what captures consist of: for each page load its entries, and what HAR has no field for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from originset.analysis.har.decoding.bounds import MAX_PARTS
from originset.analysis.har.decoding.structs import Content as HarContent
from originset.analysis.har.decoding.structs import Entry, Initiator, Log, Request, Response, Timings
from originset.analysis.netlog import exchanges as exchange_events
from originset.analysis.netlog import http1_sockets
from originset.analysis.netlog.exchanges import Exchange, ExchangeLog
from originset.analysis.netlog.http1_sockets import Http1Sockets
from originset.analysis.netlog.netlog_file import NetLogFile
from originset.analysis.netlog.page_visits import PageVisit, page_visits
from originset.analysis.netlog.recording_limits import recording_limits
from originset.data.captures.capture import Extension, Visit
from originset.data.errors import InputError
from originset.data.netlog import records, visit_log
from originset.data.netlog.events import UNEXPECTED, Constants
from originset.data.netlog.visit_log import NetLogReader, VisitLog
from originset.data.studies.identity import import_visit_id

_BEGIN = 1
# Fetch's destinations by the names that DevTools has for them.
_RESOURCE_TYPES = {
    "document": "document", "iframe": "document", "frame": "document", "style": "stylesheet", "script": "script",
    "image": "image", "font": "font", "audio": "media", "video": "media", "track": "texttrack", "empty": "fetch",
    "manifest": "manifest", "websocket": "websocket",
}  # fmt: skip
_PROTOCOLS = {"h2": "h2", "h3": "h3", "http/1.1": "http/1.1"}


@dataclass(frozen=True, slots=True)
class NetLogCaptures:
    """The page loads of a file, each as (HAR log, what HAR has no field for); ``lost``: where a cut-off file ends."""

    visits: list[tuple[Log, Extension]]
    lost: InputError | None


def netlog_captures(text: bytes, source: str) -> NetLogCaptures:
    """The page loads in a NetLog file's text.

    Raises:
        InputError: it is damaged, holds more than can be read, or no page was loaded while it was recorded.
    """
    file = NetLogFile(text, source, visit_log.EVENT_NAMES | exchange_events.EVENT_NAMES | http1_sockets.EVENT_NAMES)
    log, exchanges = _contents(file, source)
    visits = page_visits(log, exchanges)
    lost = None
    if file.cut_off:
        lost = InputError(
            source, "truncated", "cut off: what was logged up to there is kept, the rest is lost", file.end
        )
    if not visits:
        raise lost or InputError(source, "empty", "a NetLog in which no page is loaded: start it before the page")
    return NetLogCaptures(
        [
            _capture(visit, file, import_visit_id(source, place), unread=log.unread)
            for place, visit in enumerate(visits)
        ],
        lost,
    )


def _contents(file: NetLogFile, source: str) -> tuple[VisitLog, list[Exchange]]:
    reader, exchanges, http1 = NetLogReader(file.constants), ExchangeLog(), Http1Sockets()
    unread = 0
    for event in file.events():
        requests = len(reader.requests)
        try:
            reader.add(event)
            if len(reader.requests) > requests:
                exchanges.begin(event.source, reader.requests[-1])
            exchanges.add(event)
            http1.add(event, exchanges.current(event.source))
        except UNEXPECTED:
            unread += 1  # an event that Chromium would not write costs itself
        if requests > MAX_PARTS:
            raise InputError(source, "too-large", f"more than {MAX_PARTS:,} requests")
    log = reader.contents()
    log.unread = unread
    http1.assign(log.sockets)
    return log, exchanges.exchanges


def _capture(visit: PageVisit, file: NetLogFile, visit_id: str, *, unread: int) -> tuple[Log, Extension]:
    constants = file.constants
    log = VisitLog(visit.sockets, visit.lookups, [one.sent for one in visit.exchanges], visit.top_sites)
    connections, certificates = records.connections(log, visit.started, set())
    main = visit.main_exchanges
    failure = constants.errors.get(main[-1].net_error) if main[-1].status is None else None
    limits = recording_limits(visit, constants, cut_off=file.cut_off, unread=unread)
    extension = Extension(
        visit=Visit(
            visit_id=visit_id,
            site=_host(main[-1].sent.url) or visit_id,
            url=main[0].sent.url,
            final_url=main[-1].sent.url,
            started_at=_rfc3339(visit.started, constants) or "",
            status="failed" if main[-1].status is None else "ok",
            error_code=failure,
            browser="chromium",
            browser_version=constants.version,
            quality=limits,
        ),
        connections=connections,
        dns=records.dns_queries(log, visit.started),
        certificates=certificates,
        features=constants.features,
    )
    return Log(entries=_entries(visit, constants)), extension


def _entries(visit: PageVisit, constants: Constants) -> list[Entry]:
    places: dict[str, int] = {}
    first_on: set[int] = set()
    entries = []
    lookups = {lookup.host: lookup for lookup in reversed(visit.lookups)}
    for place, exchange in enumerate(visit.exchanges):
        entries.append(_entry(exchange, visit, constants))
        timings = entries[-1].timings
        opened = exchange.sent.socket is not None and exchange.sent.socket not in first_on
        _add_phases(timings, exchange, visit, opened=opened)
        if exchange.sent.socket is not None:
            first_on.add(exchange.sent.socket)
        lookup = lookups.pop(_host(exchange.sent.url) or "", None)
        if lookup is not None and lookup.answered is not None and not lookup.cached and opened:
            timings.dns = min(float(max(0, lookup.answered - lookup.asked)), timings.blocked or 0.0)
            timings.blocked = max(0.0, (timings.blocked or 0.0) - timings.dns)
        if exchange.referer in places:
            entries[-1].initiator_index = places[exchange.referer]
        places.setdefault(exchange.sent.url, place)
    return entries


def _entry(exchange: Exchange, visit: PageVisit, constants: Constants) -> Entry:
    sent = exchange.sent
    socket = visit.sockets.get(sent.socket if sent.socket is not None else -1)
    protocol = _PROTOCOLS.get(socket.protocol or "http/1.1") if socket is not None else None
    kind = "document" if sent.main_frame else _RESOURCE_TYPES.get(exchange.destination or "", "other")
    return Entry(
        started=_rfc3339(sent.started, constants),
        request=Request(url=sent.url, method=sent.method, http_version=protocol),
        response=Response(
            status=exchange.status or 0,
            http_version=protocol,
            content=HarContent(mime_type=exchange.mime_type),
            redirect_url=exchange.location,
            body_size=exchange.body_bytes,
            error=constants.errors.get(exchange.net_error) if exchange.net_error else None,
        ),
        timings=Timings(),
        server_ip=socket.remote[0] if socket is not None and socket.remote is not None else None,
        connection=None if socket is None else str(socket.id),
        initiator=None if exchange.referer is None else Initiator(url=exchange.referer),
        resource_type=kind,
        credentials=sent.credentials,
        from_cache="disk" if exchange.from_cache else None,
    )


def _add_phases(timings: Timings, exchange: Exchange, visit: PageVisit, *, opened: bool) -> None:
    """The phases in ms; of those that wait for a connection the first alone is given its connect phase, as in DevTools.

    What ended the wait is not logged more finely than that, so the rest of it is ``blocked``.
    """
    sending = exchange.sending
    if sending is None:
        timings.blocked = _duration(exchange.sent.started, exchange.ended)
        return
    waited = _duration(exchange.sent.started, sending) or 0.0
    socket = visit.sockets.get(exchange.sent.socket if exchange.sent.socket is not None else -1)
    if opened and socket is not None and socket.opened is not None and socket.established is not None:
        begin, end = max(socket.opened, exchange.sent.started), min(socket.established, sending)
        timings.connect = float(end - begin) if end > begin else None
    timings.blocked = max(0.0, waited - (timings.connect or 0.0))
    timings.send = _duration(sending, exchange.sent_at) or 0.0
    timings.wait = _duration(exchange.sent_at, exchange.answered)
    timings.receive = _duration(exchange.answered, exchange.ended)


def _duration(begin: int | None, end: int | None) -> float | None:
    return None if begin is None or end is None else float(max(0, end - begin))


def _rfc3339(time_ms: int, constants: Constants) -> str | None:
    """A NetLog's time as RFC 3339, UTC; None where the browser's clock says nothing."""
    try:
        moment = datetime.fromtimestamp((constants.time_offset_ms + time_ms) / 1000, UTC)
    except (ArithmeticError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
