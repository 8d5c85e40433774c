"""One QUIC connection to a server, over which requests for any host can be sent: as ``tls_client``, over HTTP/3."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamReset

from originset.crawler.probe.http3_origin_frames import Http3Client, http3_client
from originset.crawler.probe.tls_client import ProbeAnswer
from originset.data.errors import ProbeError

# For the handshake, and again for an answer.
HTTP3_SECONDS = 5.0
_MOST_BODY_BYTES = 1 << 20


class _AnswerReader(Http3Client):
    """``answered``: whether the answer to the last request is whole, or none comes any more."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - the base's
        super().__init__(*arguments, **named)
        self.answered = asyncio.Event()
        self.is_whole = False
        self.fields: dict[str, str] = {}
        self.body = b""
        self.stream = -1

    def quic_event_received(self, event: QuicEvent) -> None:
        super().quic_event_received(event)
        is_reset = isinstance(event, StreamReset) and event.stream_id == self.stream
        if is_reset or isinstance(event, ConnectionTerminated):
            self.answered.set()

    def http_event_received(self, event: H3Event) -> None:
        if not isinstance(event, (HeadersReceived, DataReceived)) or event.stream_id != self.stream:
            return
        if isinstance(event, HeadersReceived):
            self.fields |= {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        else:
            self.body = (self.body + event.data)[:_MOST_BODY_BYTES]
        self.is_whole = event.stream_ended and len(self.body) < _MOST_BODY_BYTES
        if event.stream_ended or len(self.body) == _MOST_BODY_BYTES:
            self.answered.set()

    def ask(self, host: str, path: str) -> None:
        """Send a request (RFC 9114 section 4.3.1)."""
        self.answered.clear()
        self.is_whole, self.fields, self.body = False, {}, b""
        self.stream = self._quic.get_next_available_stream_id()
        fields = {":method": "GET", ":scheme": "https", ":authority": host, ":path": path, "accept": "*/*"}
        self.h3.send_headers(
            self.stream, [(name.encode(), value.encode()) for name, value in fields.items()], end_stream=True
        )
        self.transmit()


class Http3Connection:
    """A QUIC connection to ``address`` for ``server_name``. An asynchronous context manager.

    It takes at most :data:`HTTP3_SECONDS` to come up, and as long for an answer.

    Raises ``ProbeError`` where there is no connection, no trust, no HTTP/3, or no answer in time.
    """

    def __init__(self, address: str, port: int, server_name: str, ca_file: Path | None = None) -> None:
        self._place = server_name, address, port
        self._client_context = http3_client(address, port, server_name, ca_file, _AnswerReader)

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.timeout(HTTP3_SECONDS):
                self._client = await self._client_context.__aenter__()
        except OSError as error:  # TimeoutError is one
            raise ProbeError(*self._place, str(error) or "no HTTP/3 in time") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client_context.__aexit__(kind, error, traceback)

    async def get(self, host: str, path: str) -> ProbeAnswer:
        """Ask for a page of a host over this connection, once.

        Raises:
            ProbeError: there was no whole answer.
        """
        self._client.ask(host, path)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HTTP3_SECONDS):
                await self._client.answered.wait()
        fields = self._client.fields
        status = fields.get(":status", "")
        if not self._client.is_whole or not (status.isascii() and status.isdecimal()):
            raise ProbeError(*self._place, f"no whole answer for {host} over HTTP/3")
        return ProbeAnswer(
            int(status),
            fields.get("location"),
            fields.get("content-type"),
            fields.get("alt-svc"),
            hashlib.sha256(self._client.body).hexdigest(),
        )
