"""What a visit recorded of a page, whichever browser made it: typed values, of which its HAR is written.

Times are in milliseconds unless their names say otherwise; None is "not known".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from originset.crawler.visits.devtools_events import ResourceTiming, Response
from originset.crawler.visits.page_log import Exchange, PageLog
from originset.crawler.visits.request_links import (
    Frames,
    Initiators,
    cache_kind,
    connection_ids,
    credentials,
    initiator_url,
)
from originset.data.netlog.visit_log import VisitLog


@dataclass(frozen=True, slots=True)
class Phases:
    """The phases of a request, as HAR has them. ``connect`` contains ``ssl``; None: the phase does not apply."""

    blocked: float = 0.0
    dns: float | None = None
    connect: float | None = None
    ssl: float | None = None
    send: float = 0.0
    wait: float = 0.0
    receive: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """A request, or one hop of a chain of redirects, with nothing removed of what the browser said.

    ``sent_at`` is Unix time in seconds. ``initiator``: the index of the request that caused it. ``cache``: how it was
    answered without the network: memory, disk, prefetch, service_worker or internal (a redirect of the browser's own).
    ``connection``: the browser's number of the connection; with ``server``, the address and port, where it used the
    network.
    """

    sent_at: float
    method: str
    url: str
    request_headers: dict[str, str]
    resource_type: str
    priority: str | None
    credentials: str | None
    initiator_type: str
    initiator_url: str | None
    initiator: int | None
    frame: str | None
    frame_url: str | None
    is_main_frame: bool
    response: Response | None
    transferred_bytes: int | None
    error: str | None
    phases: Phases
    cache: str | None
    connection: int | None = None
    server: tuple[str, int | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPage:
    """A visit's requests in the order of their start, and when the page had loaded, from the first of them on.

    ``started_at``: the first request's Unix time in seconds. ``zero_ms``: its time on the browser's monotonic clock,
    which the NetLog shares.
    """

    url: str
    started_at: float | None
    zero_ms: float | None
    dom_content_loaded_ms: float | None
    load_ms: float | None
    requests: tuple[RecordedRequest, ...]


def recorded_page(page: PageLog, log: VisitLog, url: str) -> RecordedPage:
    """What was recorded of a page. ``log`` is its NetLog, for what DevTools does not say of failed requests."""
    exchanges = _page_requests(page)
    first = exchanges[0].sent if exchanges else None
    return RecordedPage(
        url=url,
        started_at=first.wall_time if first else None,
        zero_ms=first.timestamp * 1000 if first else None,
        dom_content_loaded_ms=_since(exchanges, page.dom_content_loaded),
        load_ms=_since(exchanges, page.loaded),
        requests=tuple(_Requests(page, log, exchanges).all()),
    )


def _page_requests(page: PageLog) -> list[Exchange]:
    """The visit's requests in order of start; those for the browser's own pages are none."""
    kept = [exchange for exchange in page.exchanges if _is_page_request(exchange.sent.request.url)]
    return sorted(kept, key=lambda exchange: exchange.sent.timestamp)


def _is_page_request(url: str) -> bool:
    return not url.startswith(("chrome:", "chrome-", "devtools:", "about:"))


def _since(exchanges: Sequence[Exchange], time_s: float | None) -> float | None:
    return round((time_s - exchanges[0].sent.timestamp) * 1000, 3) if exchanges and time_s is not None else None


class _Requests:
    """Makes the requests, which name one another by index."""

    def __init__(self, page: PageLog, log: VisitLog, exchanges: Sequence[Exchange]) -> None:
        self._page = page
        self._sockets = log.sockets
        self._exchanges = exchanges
        self._index = {id(exchange): number for number, exchange in enumerate(exchanges)}
        self._connections = connection_ids(exchanges, log.requests)
        self._credentials = credentials(exchanges, log.requests, self._connections)
        self._initiators = Initiators(exchanges)
        self._frames = Frames(exchanges, page.parents)

    def all(self) -> list[RecordedRequest]:
        """The requests, in order."""
        return [self._request(exchange) for exchange in self._exchanges]

    def _request(self, exchange: Exchange) -> RecordedRequest:
        sent, cache = exchange.sent, self._cache(exchange)
        connection = self._connections.get(id(exchange)) if cache is None else None
        return RecordedRequest(
            sent_at=sent.wall_time,
            method=sent.request.method,
            url=sent.request.url,
            request_headers=sent.request.headers,
            resource_type=(exchange.type or "other").lower(),
            priority=sent.request.initial_priority,
            credentials=self._credentials.get(id(exchange)),
            initiator_type=sent.initiator.type,
            initiator_url=initiator_url(exchange),
            initiator=self._cause(exchange),
            frame=sent.frame_id,
            frame_url=self._frames.asking(exchange),
            is_main_frame=sent.frame_id == self._page.main_frame,
            response=exchange.response,
            transferred_bytes=_transferred_bytes(exchange, cached=cache is not None),
            error=exchange.error,
            phases=_phases(exchange, cached=cache is not None),
            cache=cache,
            connection=connection,
            server=self._server(exchange, connection) if cache is None else None,
        )

    def _cache(self, exchange: Exchange) -> str | None:
        kind = cache_kind(exchange)
        response = exchange.response
        if kind is None and response and response.remote_ip_address and id(exchange) not in self._connections:
            return "disk"  # written there by another request, under way at the same time, whose answer it shares
        return kind

    def _cause(self, exchange: Exchange) -> int | None:
        cause = self._initiators.of(exchange)
        number = None if cause is None else self._index[id(cause)]
        return number if number is not None and number < self._index[id(exchange)] else None

    def _server(self, exchange: Exchange, connection: int | None) -> tuple[str, int | None] | None:
        response = exchange.response
        if response is not None and response.remote_ip_address:
            return response.remote_ip_address.strip("[]"), response.remote_port
        socket = self._sockets.get(connection) if connection is not None else None
        return None if socket is None else socket.remote


def _transferred_bytes(exchange: Exchange, *, cached: bool) -> int | None:
    if cached:
        return 0
    if exchange.finished_bytes is not None:
        return int(exchange.finished_bytes)
    if exchange.response is not None and exchange.error is not None:
        return int(exchange.response.encoded_data_length)
    return None


def _phases(exchange: Exchange, *, cached: bool) -> Phases:
    started, ended = exchange.sent.timestamp, exchange.ended
    timing = exchange.response.timing if exchange.response is not None else None
    total = max(0.0, (ended - started) * 1000) if ended is not None else 0.0
    if timing is None or timing.send_start < 0 or cached:
        # Nothing is known of the phases: waiting, all of it, and not for a connection where it was answered.
        return Phases(blocked=total) if exchange.response is None else Phases(wait=total)
    return _network_phases(timing, started, ended)


def _network_phases(timing: ResourceTiming, started: float, ended: float | None) -> Phases:
    dns = timing.dns_end - timing.dns_start if timing.dns_start >= 0 else None
    connect = timing.connect_end - timing.connect_start if timing.connect_start >= 0 else None
    # Blocked is all of the way to sending that was neither: the queue before, and the gaps between the phases.
    before = (timing.request_time - started) * 1000 + timing.send_start
    headers_end = max(timing.receive_headers_end, timing.send_end)
    received = (ended - timing.request_time) * 1000 - headers_end if ended is not None else 0.0
    return Phases(
        blocked=max(0.0, before - max(dns or 0.0, 0.0) - max(connect or 0.0, 0.0)),
        dns=dns,
        connect=connect,
        ssl=timing.ssl_end - timing.ssl_start if timing.ssl_start >= 0 else None,
        send=timing.send_end - timing.send_start,
        wait=headers_end - timing.send_end,
        receive=max(0.0, received),
    )
