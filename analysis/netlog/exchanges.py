"""What a NetLog says of each request beyond its connection: when its phases were, its response, why it failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from originset.data.netlog.events import Event, parameters
from originset.data.netlog.sockets import SentRequest

BEGIN, END = 1, 2
_REDIRECTS = {301, 302, 303, 307, 308}


@dataclass(slots=True)
class Exchange:
    """A request and its response; times in NetLog's ms.

    ``stream_asked``, ``stream_given``: when it began and ended to wait for a connection. ``body_bytes``: as
    transferred. ``destination``: Fetch's, of the header Sec-Fetch-Dest. ``net_error``: a number of Chromium's, 0: none.
    """

    sent: SentRequest
    stream_asked: int | None = None
    stream_given: int | None = None
    sending: int | None = None
    sent_at: int | None = None
    answered: int | None = None
    ended: int | None = None
    status: int | None = None
    mime_type: str | None = None
    location: str | None = None
    encoded_bytes: int | None = None
    decoded_bytes: int | None = None
    destination: str | None = None
    referer: str | None = None
    net_error: int = 0

    @property
    def body_bytes(self) -> int | None:
        """Bytes of the body as they came; Chromium logs them once where nothing had to be unpacked."""
        return self.decoded_bytes if self.encoded_bytes is None else self.encoded_bytes

    @property
    def from_cache(self) -> bool:
        """It ended well without a connection that it asked for; its response is in the cache alone."""
        return self.stream_asked is None and self.ended is not None and not self.net_error and self.status is None

    @property
    def on_network(self) -> bool:
        """It was sent to a server."""
        return self.sending is not None


class ExchangeLog:
    """Collects the exchanges of a sequence of events."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self._current: dict[int, Exchange] = {}

    def begin(self, source: int, sent: SentRequest) -> None:
        """A request starts; one that went before it in the same source was redirected, and so has ended."""
        before = self._current.get(source)
        exchange = self._current[source] = Exchange(sent)
        if before is not None and before.ended is None:
            before.ended = sent.started
        self.exchanges.append(exchange)

    def current(self, source: int) -> Exchange | None:
        """The request that is under way in a source."""
        return self._current.get(source)

    def add(self, event: Event) -> None:
        """Take in one event; others than those in ``EVENT_NAMES`` are passed over."""
        handler = _HANDLERS.get(event.name)
        exchange = self._current.get(event.source)
        if handler is not None and exchange is not None:
            handler(exchange, event)


def _stream(exchange: Exchange, event: Event) -> None:
    if event.phase == END:
        exchange.stream_given = event.time
    elif exchange.stream_asked is None:
        exchange.stream_asked = event.time


def _note_sending(exchange: Exchange, event: Event) -> None:
    if event.phase == END:
        exchange.sent_at = event.time
    else:
        exchange.sending = event.time


def _request_headers(exchange: Exchange, event: Event) -> None:
    headers = _headers(event)
    exchange.destination = headers.get("sec-fetch-dest")
    exchange.referer = headers.get("referer")


def _response_headers(exchange: Exchange, event: Event) -> None:
    headers = _headers(event)
    exchange.answered = event.time
    words = headers.get("", "").split(" ")
    status = words[1] if len(words) > 1 and words[0].startswith("HTTP/") else ""
    exchange.status = int(status) if len(status) == 3 and status.isascii() and status.isdigit() else None
    exchange.mime_type = headers.get("content-type", "").partition(";")[0].strip() or None
    exchange.location = headers.get("location") if exchange.status in _REDIRECTS else None


def _headers(event: Event) -> dict[str, str]:
    """The headers of an event, by lower-case name; the status line has the empty name."""
    lines = parameters(event).get("headers")
    found: dict[str, str] = {}
    for line in lines if isinstance(lines, list) else []:
        name, separator, value = str(line).partition(":")
        if str(line).startswith("HTTP/"):
            found[""] = str(line)
        elif separator:
            found[name.lower()] = value.strip()
    return found


def _body_read(exchange: Exchange, event: Event) -> None:
    if event.phase == END:
        exchange.ended = event.time


def _add_encoded_bytes(exchange: Exchange, event: Event) -> None:
    exchange.encoded_bytes = (exchange.encoded_bytes or 0) + _byte_count(event)


def _add_decoded_bytes(exchange: Exchange, event: Event) -> None:
    exchange.decoded_bytes = (exchange.decoded_bytes or 0) + _byte_count(event)


def _byte_count(event: Event) -> int:
    count = parameters(event).get("byte_count")
    return count if isinstance(count, int) and 0 <= count < 1 << 40 else 0


def _alive(exchange: Exchange, event: Event) -> None:
    if event.phase != END:
        return
    exchange.ended = event.time if exchange.ended is None else exchange.ended
    _failed(exchange, event)


def _failed(exchange: Exchange, event: Event) -> None:
    error = parameters(event).get("net_error")
    if isinstance(error, int) and error < -1:  # -1 is ERR_IO_PENDING
        exchange.net_error = error


def _start_again(exchange: Exchange, _: Event) -> None:
    """It is tried again on another connection: what is said of it so far is of the first try."""
    exchange.stream_given = exchange.sending = exchange.sent_at = exchange.answered = None


_HANDLERS: dict[str, Callable[[Exchange, Event], None]] = {
    "HTTP_STREAM_REQUEST": _stream,
    "HTTP_TRANSACTION_SEND_REQUEST": _note_sending,
    "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": _request_headers,
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS": _request_headers,
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": _request_headers,
    "HTTP_TRANSACTION_READ_RESPONSE_HEADERS": _response_headers,
    "HTTP_TRANSACTION_RESTART_MISDIRECTED_REQUEST": _start_again,
    "HTTP_TRANSACTION_READ_BODY": _body_read,
    "URL_REQUEST_JOB_BYTES_READ": _add_encoded_bytes,
    "URL_REQUEST_JOB_FILTERED_BYTES_READ": _add_decoded_bytes,
    "REQUEST_ALIVE": _alive,
    "FAILED": _failed,
}

EVENT_NAMES = frozenset(_HANDLERS)
