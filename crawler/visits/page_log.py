"""What DevTools tells while a page loads: requests with their redirects, frames, and the page's own milestones.

Times are DevTools' monotonic seconds. Only what the HAR needs is decoded; unknown fields are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from originset.crawler.visits.event_limits import EventBudget, without_data

# RFC 9110 sections 15.3.5 and 15.3.6.
_BODILESS = frozenset({204, 205})


class Struct(msgspec.Struct, rename="camel", gc=False):
    """DevTools spells its fields in camel case."""


class Timing(Struct):
    """ResourceTiming: ``request_time`` in s, the others in ms from it, -1 where a phase did not happen."""

    request_time: float
    dns_start: float = -1
    dns_end: float = -1
    connect_start: float = -1
    connect_end: float = -1
    ssl_start: float = -1
    ssl_end: float = -1
    send_start: float = -1
    send_end: float = -1
    receive_headers_end: float = -1


class Response(Struct):
    """Network.Response."""

    url: str = ""
    status: int = 0
    status_text: str = ""
    headers: dict[str, str] = {}
    mime_type: str = ""
    connection_id: float = 0
    connection_reused: bool = False
    remote_ip_address: str | None = msgspec.field(name="remoteIPAddress", default=None)
    remote_port: int | None = None
    from_disk_cache: bool = False
    from_service_worker: bool = False
    from_prefetch_cache: bool = False
    encoded_data_length: float = 0
    timing: Timing | None = None
    protocol: str | None = None
    security_details: dict[str, Any] | None = None


class Request(Struct):
    url: str
    method: str = ""
    headers: dict[str, str] = {}
    initial_priority: str | None = None


class Initiator(Struct):
    """Network.Initiator."""

    type: str = "other"
    url: str | None = None
    request_id: str | None = None
    stack: dict[str, Any] | None = None


class WillBeSent(Struct):
    request_id: str
    request: Request
    timestamp: float
    wall_time: float = 0
    loader_id: str = ""
    document_url: str = msgspec.field(name="documentURL", default="")
    initiator: Initiator = msgspec.field(default_factory=Initiator)
    redirect_response: Response | None = None
    type: str | None = None
    frame_id: str | None = None


class _Received(Struct):
    request_id: str
    timestamp: float
    response: Response
    type: str | None = None


class _Finished(Struct):
    request_id: str
    timestamp: float
    encoded_data_length: float = 0


class _Failed(Struct):
    request_id: str
    timestamp: float
    error_text: str = ""
    canceled: bool = False
    blocked_reason: str | None = None
    type: str | None = None


class _Served(Struct):
    request_id: str


class _SocketCreated(Struct):
    request_id: str
    url: str
    initiator: Initiator = msgspec.field(default_factory=Initiator)


class _SocketHandshake(Struct):
    request_id: str
    timestamp: float
    wall_time: float = 0
    request: dict[str, Any] = {}
    response: dict[str, Any] = {}


class _SocketError(Struct):
    request_id: str
    timestamp: float
    error_message: str = ""


class _Lifecycle(Struct):
    frame_id: str
    loader_id: str
    name: str
    timestamp: float


class _Frame(Struct):
    frame_id: str
    parent_frame_id: str


class Exchange:
    """One request: one hop of a chain of redirects, and what became of it."""

    __slots__ = (
        "ended",
        "error",
        "finished_bytes",
        "first_hop",
        "from_memory",
        "response",
        "sent",
        "type",
    )

    def __init__(self, sent: WillBeSent, first_hop: Exchange | None) -> None:
        self.sent = sent
        self.first_hop = first_hop  # the hop before this one
        self.type = sent.type
        self.response: Response | None = None
        self.ended: float | None = None
        self.error: str | None = None
        self.finished_bytes: float | None = None
        self.from_memory = False


class PageLog:
    """Collects DevTools events of one visit. ``main_frame`` is the page's frame, known before the navigation.

    What goes beyond the ``budget`` is passed over, with all that comes after.
    """

    def __init__(self, main_frame: str) -> None:
        self.main_frame = main_frame
        self.session = ""
        self.exchanges: list[Exchange] = []
        self.loader: str | None = None
        self.loaded: float | None = None
        self.dom_content_loaded: float | None = None
        self.crashed = False
        self.download = False
        self.activity = 0  # grows with everything that the network does
        self.parents: dict[str, str] = {}
        self.budget = EventBudget()
        self._open: dict[str, Exchange] = {}
        self._latest: dict[str, Exchange] = {}

    @property
    def in_flight(self) -> int:
        """Requests that nothing has answered yet.

        Bodies are not waited for as such: nobody tells of the end of one that the page does not read.
        """
        return len(self._open)

    def add(self, method: str, params: msgspec.Raw) -> None:
        """Take in one event; unknown ones are passed over."""
        if method in _ACTIVITY:
            self.activity += 1
        if (entry := _HANDLERS.get(method)) is not None:
            event = without_data(params)
            if self.budget.take(len(event)):
                decoder, handler = entry
                handler(self, decoder.decode(event))

    @property
    def shows_document(self) -> bool:
        """Whether its milestones are of the document that was asked for last, not still of the one before."""
        documents = self.main_exchanges()
        return bool(documents) and documents[-1].sent.loader_id == self.loader

    def main_exchanges(self) -> list[Exchange]:
        """The requests for the page's document, in order."""
        return [
            exchange
            for exchange in self.exchanges
            if exchange.sent.frame_id == self.main_frame
            and exchange.type == "Document"
            and exchange.sent.loader_id == exchange.sent.request_id
        ]

    def sent(self, event: WillBeSent) -> None:
        """A request, or the next hop of one."""
        before = self._latest.get(event.request_id)
        if before is not None and event.redirect_response is not None and before.response is None:
            before.response = event.redirect_response
            before.ended = event.timestamp
            before.finished_bytes = event.redirect_response.encoded_data_length
        elif before is not None and before.sent.request.url == event.request.url:
            return  # told a second time, by the frame's new process
        if not self.budget.take_request():
            return
        exchange = Exchange(event, before)
        self.exchanges.append(exchange)
        self._latest[event.request_id] = exchange
        if not event.request.url.startswith(("data:", "blob:")):
            self._open[event.request_id] = exchange

    def received(self, event: _Received) -> None:
        """Response headers."""
        self._open.pop(event.request_id, None)
        if (exchange := self._latest.get(event.request_id)) is not None:
            exchange.response = event.response
            exchange.type = event.type or exchange.type

    def finished(self, event: _Finished) -> None:
        """The whole response has come."""
        self._open.pop(event.request_id, None)
        if (exchange := self._latest.get(event.request_id)) is not None:
            exchange.ended = event.timestamp
            exchange.finished_bytes = event.encoded_data_length

    def failed(self, event: _Failed) -> None:
        """It failed, or was given up or blocked."""
        self._open.pop(event.request_id, None)
        if (exchange := self._latest.get(event.request_id)) is not None and exchange.ended is None:
            exchange.ended = event.timestamp
            response = exchange.response
            if event.canceled and exchange.type != "Document" and response is not None and response.status in _BODILESS:
                exchange.finished_bytes = response.encoded_data_length
                return  # there was nothing more to come: no failure, whatever DevTools calls it
            exchange.type = exchange.type or event.type
            exchange.error = (
                event.error_text or (event.blocked_reason and f"blocked: {event.blocked_reason}") or "failed"
            )

    def served(self, event: _Served) -> None:
        """Answered from the renderer's memory."""
        if (exchange := self._latest.get(event.request_id)) is not None:
            exchange.from_memory = True

    def socket_created(self, event: _SocketCreated) -> None:
        """A WebSocket is made; its request has no time yet."""
        if not self.budget.take_request():
            return
        sent = WillBeSent(event.request_id, Request(event.url, "GET"), 0, initiator=event.initiator, type="WebSocket")
        self._latest[event.request_id] = Exchange(sent, None)

    def socket_handshake(self, event: _SocketHandshake) -> None:
        """A WebSocket's handshake goes out, or is answered."""
        if (exchange := self._latest.get(event.request_id)) is None:
            return
        if event.response:
            exchange.response = Response(
                url=exchange.sent.request.url,
                status=int(event.response.get("status", 0)),
                status_text=str(event.response.get("statusText", "")),
                headers={str(k): str(v) for k, v in (event.response.get("headers") or {}).items()},
                protocol="http/1.1",
            )
            exchange.ended = event.timestamp
        elif not exchange.sent.timestamp:
            exchange.sent.timestamp, exchange.sent.wall_time = event.timestamp, event.wall_time
            exchange.sent.request.headers = {str(k): str(v) for k, v in (event.request.get("headers") or {}).items()}
            self.exchanges.append(exchange)

    def socket_error(self, event: _SocketError) -> None:
        """A WebSocket failed; only before its handshake was answered is that the request's failure."""
        exchange = self._latest.get(event.request_id)
        if exchange is not None and exchange.ended is None:
            exchange.ended = event.timestamp
            exchange.error = event.error_message

    def lifecycle(self, event: _Lifecycle) -> None:
        """Milestones of the page."""
        if event.frame_id != self.main_frame:
            return
        if event.name == "init":
            self.loader, self.loaded, self.dom_content_loaded = event.loader_id, None, None
        elif event.name == "DOMContentLoaded":
            self.dom_content_loaded = event.timestamp
        elif event.name == "load":
            self.loaded = event.timestamp

    def frame_attached(self, event: _Frame) -> None:
        """A frame within another."""
        self.parents[event.frame_id] = event.parent_frame_id

    def crash(self, _event: object) -> None:
        """The page's process died."""
        self.crashed = True

    def download_begins(self, _event: object) -> None:
        """The address is a file to keep, not a page."""
        self.download = True


_ACTIVITY = frozenset(
    f"Network.{name}"
    for name in ("requestWillBeSent", "responseReceived", "dataReceived", "loadingFinished", "loadingFailed")
)

_Handler = tuple[msgspec.json.Decoder[Any], Callable[[PageLog, Any], None]]


def _handler(type_: type, handler: Callable[[PageLog, Any], None]) -> _Handler:
    return msgspec.json.Decoder(type_), handler


_HANDLERS: dict[str, _Handler] = {
    "Network.requestWillBeSent": _handler(WillBeSent, PageLog.sent),
    "Network.responseReceived": _handler(_Received, PageLog.received),
    "Network.loadingFinished": _handler(_Finished, PageLog.finished),
    "Network.loadingFailed": _handler(_Failed, PageLog.failed),
    "Network.requestServedFromCache": _handler(_Served, PageLog.served),
    "Network.webSocketCreated": _handler(_SocketCreated, PageLog.socket_created),
    "Network.webSocketWillSendHandshakeRequest": _handler(_SocketHandshake, PageLog.socket_handshake),
    "Network.webSocketHandshakeResponseReceived": _handler(_SocketHandshake, PageLog.socket_handshake),
    "Network.webSocketFrameError": _handler(_SocketError, PageLog.socket_error),
    "Page.lifecycleEvent": _handler(_Lifecycle, PageLog.lifecycle),
    "Page.frameAttached": _handler(_Frame, PageLog.frame_attached),
    "Page.downloadWillBegin": _handler(dict, PageLog.download_begins),
    "Browser.downloadWillBegin": _handler(dict, PageLog.download_begins),
    "Inspector.targetCrashed": _handler(dict, PageLog.crash),
}
