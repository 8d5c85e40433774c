"""Which connection of HTTP/1.1 a request went out on, where the log does not say so: with HappyEyeballsV3.

Chromium writes a request to its socket while it logs that it sends it, on one thread: the first socket that sends
between the request's headers and the end of their sending is the request's.
"""

from __future__ import annotations

from collections.abc import Mapping

from originset.analysis.netlog.exchanges import Exchange
from originset.data.netlog.events import Event
from originset.data.netlog.sockets import Socket, host_of

EVENT_NAMES = frozenset({"SOCKET_BYTES_SENT"})
_END = 2


class Http1Sockets:
    """Collects the sockets of a sequence of events."""

    def __init__(self) -> None:
        self._sending: tuple[int, Exchange] | None = None
        self._sockets: list[tuple[Exchange, int]] = []

    def add(self, event: Event, exchange: Exchange | None) -> None:
        """Take in one event; ``exchange``: that of its source, if it has one."""
        if event.name == "HTTP_TRANSACTION_SEND_REQUEST_HEADERS":
            unknown = exchange is not None and exchange.sent.socket is None and not exchange.sent.open_before_log
            self._sending = (event.source, exchange) if unknown and exchange is not None else None
        elif self._sending is None:
            return
        elif event.name == "SOCKET_BYTES_SENT":
            self._sockets.append((self._sending[1], event.source))
            self._sending = None
        elif event.name == "HTTP_TRANSACTION_SEND_REQUEST" and event.phase == _END and event.source == self._sending[0]:
            self._sending = None

    def assign(self, sockets: Mapping[int, Socket]) -> None:
        """Give the requests their sockets, if these are the log's and were opened for the request's host."""
        for exchange, number in self._sockets:
            socket = sockets.get(number)
            if (
                socket is not None
                and socket.protocol in {None, "http/1.1"}
                and socket.host == host_of(exchange.sent.url)
            ):
                exchange.sent.socket = number
                socket.used = True
