"""The HTTP server of ``serve``: uvicorn with bounds, which logs faults alone."""

from __future__ import annotations

import asyncio
import logging

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from originset.data.sanitising.printable import printable_lines

# Requests on more connections than a browser has use for are answered 503; beyond twice as many nobody is let in.
_MOST_CONNECTIONS = 32
_SECONDS_TO_END = 2
# For the head of a request, and for an answer to be taken, which goes no further than this machine.
_SECONDS_OF_CLIENTS = 60.0
_MOST_FAULTS = 100


def http_server(application: ASGIApp) -> uvicorn.Server:
    """A server for ``run(sockets=[...])``; HTTP/1.1 alone, as many connections as a browser has use for."""
    _log_faults()
    return uvicorn.Server(
        uvicorn.Config(
            application,
            loop="asyncio",
            http=_BoundedConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=_SECONDS_TO_END,
        )
    )


class _BoundedConnection(H11Protocol):
    """A connection that ends where its client neither sends the head of a request in time nor takes the answer."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > 2 * _MOST_CONNECTIONS:
            transport.abort()
        else:
            self._wait_for_client()

    def data_received(self, data: bytes) -> None:
        """Wait no longer once the head of a request is whole."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_waiting()

    def on_response_complete(self) -> None:
        """Begin to wait until the answer is taken, and for the next request, which may have arrived already."""
        self._wait_for_client()
        super().on_response_complete()
        if not self.cycle.response_complete:
            self._end_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._end_waiting()
        super().connection_lost(exc)

    def _wait_for_client(self) -> None:
        self._end_waiting()
        self._deadline = self.loop.call_later(_SECONDS_OF_CLIENTS, self.transport.abort)

    def _end_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _FaultLog(logging.StreamHandler):  # type: ignore[type-arg] # not generic when it runs
    """The first faults, each without what a terminal obeys: whoever causes them fills no disk."""

    def __init__(self) -> None:
        super().__init__()
        self._faults = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a fault, if it is one of the first."""
        self._faults += 1
        if self._faults <= _MOST_FAULTS:
            super().emit(record)
        if self._faults == _MOST_FAULTS:
            self.stream.write("further faults are not logged\n")

    def format(self, record: logging.LogRecord) -> str:
        """A fault's lines."""
        return printable_lines(super().format(record))


def _log_faults() -> None:
    """Let uvicorn and asyncio log faults alone: a request that is none is its sender's fault."""
    handler = _FaultLog()
    for name in ("uvicorn", "asyncio"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.ERROR)
        logger.handlers = [handler]
        logger.propagate = False
