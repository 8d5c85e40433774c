"""The HTTP server of ``serve``: uvicorn with bounds, which logs faults alone."""

from __future__ import annotations

import logging

import uvicorn
from starlette.types import ASGIApp

from originset.data.sanitising.printable import printable_lines

_MOST_CONNECTIONS = 32
_SECONDS_TO_END = 2


def http_server(application: ASGIApp) -> uvicorn.Server:
    """A server for ``run(sockets=[...])``; HTTP/1.1 alone, as many connections as a browser has use for."""
    _log_printable()
    return uvicorn.Server(
        uvicorn.Config(
            application,
            loop="asyncio",
            http="h11",
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


class _Printable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable_lines(super().format(record))


def _log_printable() -> None:
    """Let what uvicorn logs, of faults in requests too, hold nothing that a terminal obeys."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Printable())
    logger = logging.getLogger("uvicorn")
    logger.setLevel(logging.WARNING)
    logger.handlers = [handler]
    logger.propagate = False
