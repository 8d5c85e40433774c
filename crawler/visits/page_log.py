"""DevTools' events of a page load, collected: requests with their redirects, frames, and the page's milestones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from originset.crawler.visits.devtools_events import (
    FrameAttached,
    LifecycleEvent,
    LoadingFailed,
    LoadingFinished,
    Request,
    RequestServedFromCache,
    RequestWillBeSent,
    Response,
    ResponseReceived,
    WebSocketCreated,
    WebSocketFrameError,
    WebSocketHandshake,
)
from originset.crawler.visits.event_limits import EventBudget, without_data_urls

# RFC 9110 sections 15.3.5 and 15.3.6.
_BODILESS = frozenset({204, 205})


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

    def __init__(self, sent: RequestWillBeSent, first_hop: Exchange | None) -> None:
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
        self.activity = 0  # counts events of the network
        self.parents: dict[str, str] = {}
        self.budget = EventBudget()
        self._open: dict[str, Exchange] = {}
        self._latest: dict[str, Exchange] = {}

    @property
    def in_flight(self) -> int:
        """Requests that nothing has answered yet.

        The end of a body does not matter: DevTools sends no event for the end of a body that the page does not read.
        """
        return len(self._open)

    def add(self, method: str, params: msgspec.Raw) -> None:
        """Take in one event; unknown ones are passed over."""
        if method in _ACTIVITY:
            self.activity += 1
        if (entry := _HANDLERS.get(method)) is not None:
            event = without_data_urls(params)
            if self.budget.take(len(event)):
                decoder, handler = entry
                handler(self, decoder.decode(event))

    @property
    def shows_document(self) -> bool:
        """Whether the milestones belong to the document that was requested last, and not to the one before."""
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

    def request_sent(self, event: RequestWillBeSent) -> None:
        """A request goes out, or the next hop of a redirect."""
        before = self._latest.get(event.request_id)
        if before is not None and event.redirect_response is not None and before.response is None:
            before.response = event.redirect_response
            before.ended = event.timestamp
            before.finished_bytes = event.redirect_response.encoded_data_length
        elif before is not None and before.sent.request.url == event.request.url:
            return  # reported twice: the second time by the frame's new process
        if not self.budget.take_request():
            return
        exchange = Exchange(event, before)
        self.exchanges.append(exchange)
        self._latest[event.request_id] = exchange
        if not event.request.url.startswith(("data:", "blob:")):
            self._open[event.request_id] = exchange

    def response_received(self, event: ResponseReceived) -> None:
        """Response headers arrive."""
        self._open.pop(event.request_id, None)
        if (exchange := self._latest.get(event.request_id)) is not None:
            exchange.response = event.response
            exchange.type = event.type or exchange.type

    def loading_finished(self, event: LoadingFinished) -> None:
        """The response is complete."""
        self._open.pop(event.request_id, None)
        if (exchange := self._latest.get(event.request_id)) is not None:
            exchange.ended = event.timestamp
            exchange.finished_bytes = event.encoded_data_length

    def loading_failed(self, event: LoadingFailed) -> None:
        """A request fails, is cancelled or is blocked."""
        self._open.pop(event.request_id, None)
        if (exchange := self._latest.get(event.request_id)) is not None and exchange.ended is None:
            exchange.ended = event.timestamp
            response = exchange.response
            if event.canceled and exchange.type != "Document" and response is not None and response.status in _BODILESS:
                exchange.finished_bytes = response.encoded_data_length
                return  # a response without a body is complete: no failure, whatever DevTools calls it
            exchange.type = exchange.type or event.type
            exchange.error = (
                event.error_text or (event.blocked_reason and f"blocked: {event.blocked_reason}") or "failed"
            )

    def served_from_memory(self, event: RequestServedFromCache) -> None:
        """The renderer's memory cache answers a request."""
        if (exchange := self._latest.get(event.request_id)) is not None:
            exchange.from_memory = True

    def web_socket_created(self, event: WebSocketCreated) -> None:
        """A WebSocket is created; its request has no time yet."""
        if not self.budget.take_request():
            return
        sent = RequestWillBeSent(
            event.request_id, Request(event.url, "GET"), 0, initiator=event.initiator, type="WebSocket"
        )
        self._latest[event.request_id] = Exchange(sent, None)

    def web_socket_handshake(self, event: WebSocketHandshake) -> None:
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

    def web_socket_failed(self, event: WebSocketFrameError) -> None:
        """A WebSocket fails. The request fails with it only if its handshake was not answered yet."""
        exchange = self._latest.get(event.request_id)
        if exchange is not None and exchange.ended is None:
            exchange.ended = event.timestamp
            exchange.error = event.error_message

    def lifecycle_event(self, event: LifecycleEvent) -> None:
        """The page reaches a milestone."""
        if event.frame_id != self.main_frame:
            return
        if event.name == "init":
            self.loader, self.loaded, self.dom_content_loaded = event.loader_id, None, None
        elif event.name == "DOMContentLoaded":
            self.dom_content_loaded = event.timestamp
        elif event.name == "load":
            self.loaded = event.timestamp

    def frame_attached(self, event: FrameAttached) -> None:
        """A frame is attached to its parent."""
        self.parents[event.frame_id] = event.parent_frame_id

    def target_crashed(self, _event: object) -> None:
        """The page's process died."""
        self.crashed = True

    def download_begins(self, _event: object) -> None:
        """The URL is a download, not a page."""
        self.download = True


_ACTIVITY = frozenset(
    f"Network.{name}"
    for name in ("requestWillBeSent", "responseReceived", "dataReceived", "loadingFinished", "loadingFailed")
)

_Handler = tuple[msgspec.json.Decoder[Any], Callable[[PageLog, Any], None]]


def _handler(type_: type, handler: Callable[[PageLog, Any], None]) -> _Handler:
    return msgspec.json.Decoder(type_), handler


_HANDLERS: dict[str, _Handler] = {
    "Network.requestWillBeSent": _handler(RequestWillBeSent, PageLog.request_sent),
    "Network.responseReceived": _handler(ResponseReceived, PageLog.response_received),
    "Network.loadingFinished": _handler(LoadingFinished, PageLog.loading_finished),
    "Network.loadingFailed": _handler(LoadingFailed, PageLog.loading_failed),
    "Network.requestServedFromCache": _handler(RequestServedFromCache, PageLog.served_from_memory),
    "Network.webSocketCreated": _handler(WebSocketCreated, PageLog.web_socket_created),
    "Network.webSocketWillSendHandshakeRequest": _handler(WebSocketHandshake, PageLog.web_socket_handshake),
    "Network.webSocketHandshakeResponseReceived": _handler(WebSocketHandshake, PageLog.web_socket_handshake),
    "Network.webSocketFrameError": _handler(WebSocketFrameError, PageLog.web_socket_failed),
    "Page.lifecycleEvent": _handler(LifecycleEvent, PageLog.lifecycle_event),
    "Page.frameAttached": _handler(FrameAttached, PageLog.frame_attached),
    "Page.downloadWillBegin": _handler(dict, PageLog.download_begins),
    "Browser.downloadWillBegin": _handler(dict, PageLog.download_begins),
    "Inspector.targetCrashed": _handler(dict, PageLog.target_crashed),
}
