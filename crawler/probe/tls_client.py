"""One TLS connection to a server, over which requests for any host can be sent: what a coalescing browser would do."""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h11

import originset
from originset.crawler.probe import origin_frame
from originset.data.errors import ProbeError

# For a whole connection: handshake, frames and answers, however the server spreads them.
CONNECTION_SECONDS = 10.0
_MOST_BODY_BYTES = 1 << 20
# Two bodies that are cut there, and what surrounds them. Whoever sends more sends something else than answers.
_MOST_RECEIVED_BYTES = 4 << 20
# Of ORIGIN frames, with their headers; a full frame has 16 KiB. As many of short origins are 180,000 in 4 MiB.
_MOST_FRAME_BYTES = 256 << 10
# Small pieces: between two of them the deadline is looked at.
_READ_BYTES = 16_384
_CERTIFICATE_REQUEST = 13  # RFC 8446 section 4.3.2, RFC 5246 section 7.4.4
_FRAME_HEADER = 9  # RFC 9113 section 4.1
_USER_AGENT = f"originset/{originset.__version__}"


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """A response, as far as it tells one server's content from another's. Bodies are hashed, never kept."""

    status: int
    location: str | None
    content_type: str | None
    alt_svc: str | None
    body_sha256: str

    @property
    def essence(self) -> tuple[int, str | None, str | None]:
        """What must be the same wherever it is asked for: status, redirect, media type without parameters."""
        kind = None if self.content_type is None else self.content_type.partition(";")[0].strip().lower()
        return self.status, self.location, kind


@dataclass(slots=True)
class OriginFrames:
    """The ORIGIN frames on stream 0 of a connection, found in the bytes: h2 gives up at one that is too long.

    ``size``: bytes of all whole frames, with their headers and those that are ignored.
    """

    payloads: list[bytes] = field(default_factory=list)
    longest: int = 0
    size: int = 0
    _rest: bytes = b""
    _skip: int = 0

    def feed(self, data: bytes) -> None:
        """Take more of what the server sent."""
        self._rest += data
        while True:
            if self._skip:
                taken = min(self._skip, len(self._rest))
                self._rest, self._skip = self._rest[taken:], self._skip - taken
                if self._skip:
                    return
            if len(self._rest) < _FRAME_HEADER:
                return
            length = int.from_bytes(self._rest[:3])
            kind, flags, stream = self._rest[3], self._rest[4], int.from_bytes(self._rest[5:9]) & 0x7FFFFFFF
            if kind != origin_frame.TYPE:
                self._rest, self._skip = self._rest[_FRAME_HEADER:], length
                continue
            self.longest = max(self.longest, length)
            if len(self._rest) < _FRAME_HEADER + length:
                return
            payload = self._rest[_FRAME_HEADER : _FRAME_HEADER + length]
            self._rest = self._rest[_FRAME_HEADER + length :]
            self.size += _FRAME_HEADER + length
            # RFC 8336 section 2.2: on another stream, or with one of the first four flags, it is to be ignored.
            if stream == 0 and not flags & 0x0F:
                self.payloads.append(payload)


class ProbeConnection:
    """A TLS connection to ``address`` for ``server_name``: HTTP/2 where the server speaks it, else HTTP/1.1.

    An asynchronous context manager. All that happens between its ``__aenter__`` and its end takes at most
    :data:`CONNECTION_SECONDS`, whatever the server does.

    Raises ``ProbeError`` where there is no connection, no trust, or no answer in time.
    """

    def __init__(
        self,
        address: str,
        port: int,
        server_name: str,
        ca_file: Path | None = None,
        latest: ssl.TLSVersion | None = None,
    ) -> None:
        self.address, self.port, self.server_name = address, port, server_name
        self.asks_for_client_certificate = False
        self.origin_frames = OriginFrames()
        self.protocol = self.tls_version = ""
        self.certificate = b""
        self._context = _context(ca_file, latest)
        # The one way in which Python's ssl tells of a CertificateRequest; private, but there since 3.8.
        self._context._msg_callback = self._message  # type: ignore[attr-defined]  # noqa: SLF001 - see above
        self._h1 = h11.Connection(h11.CLIENT)
        self._h2: h2.connection.H2Connection | None = None
        self._received = 0

    async def __aenter__(self) -> Self:
        self._ends = asyncio.get_running_loop().time() + CONNECTION_SECONDS
        try:
            async with asyncio.timeout_at(self._ends):
                self._reader, self._writer = await asyncio.open_connection(
                    self.address, self.port, ssl=self._context, server_hostname=self.server_name
                )
        except (OSError, ValueError) as error:
            raise self._problem(error) from error
        tls: ssl.SSLObject = self._writer.get_extra_info("ssl_object")
        self.protocol = tls.selected_alpn_protocol() or "http/1.1"
        self.tls_version = tls.version() or ""
        self.certificate = tls.getpeercert(binary_form=True) or b""
        if self.protocol == "h2":
            self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
            self._h2.initiate_connection()
            try:
                await self._settle(self._h2)
            except BaseException:
                self._writer.transport.abort()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._writer.transport.abort()

    async def get(self, host: str, path: str) -> ProbeAnswer:
        """Ask for a page of a host over this connection.

        Raises:
            ProbeError: there was no whole answer.
        """
        try:
            async with asyncio.timeout_at(self._ends):
                return await (self._get_h1(host, path) if self._h2 is None else self._get_h2(self._h2, host, path))
        except (OSError, h2.exceptions.H2Error, h11.ProtocolError, ValueError) as error:
            raise self._problem(error) from error

    async def _settle(self, connection: h2.connection.H2Connection) -> None:
        """Wait for the answer to a ping: a server that sends ORIGIN frames with its SETTINGS sends them before it."""
        connection.ping(b"originse")
        try:
            async with asyncio.timeout_at(self._ends):
                async for event in self._events(connection):
                    if isinstance(event, h2.events.PingAckReceived):
                        return
        except (OSError, h2.exceptions.H2Error) as error:
            if not self.origin_frames.longest or self.origin_frames.size > _MOST_FRAME_BYTES:
                raise self._problem(error) from error
            # An ORIGIN frame that is too long ends the connection, as it does in browsers; it was seen nevertheless.

    async def _get_h2(self, connection: h2.connection.H2Connection, host: str, path: str) -> ProbeAnswer:
        stream = connection.get_next_available_stream_id()
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", self._authority(host)), (":path", path)]
        connection.send_headers(stream, [*fields, ("user-agent", _USER_AGENT), ("accept", "*/*")], end_stream=True)
        headers: dict[str, str] = {}
        digest, size = hashlib.sha256(), 0
        async for event in self._events(connection):
            if getattr(event, "stream_id", stream) != stream:
                continue
            if isinstance(event, h2.events.ResponseReceived):
                headers = {_text(name): _text(value) for name, value in event.headers}
            elif isinstance(event, h2.events.DataReceived):
                digest.update(event.data[: max(0, _MOST_BODY_BYTES - size)])
                size += len(event.data)
                if size >= _MOST_BODY_BYTES:
                    connection.reset_stream(stream)
                    await self._send(connection.data_to_send())
                    break
                connection.acknowledge_received_data(event.flow_controlled_length, stream)
            elif isinstance(event, h2.events.StreamReset):
                raise ConnectionResetError(f"answered {host} with a reset of the stream")
            elif isinstance(event, h2.events.ConnectionTerminated):
                raise ConnectionResetError(f"closed the connection instead of answering for {host}")
            elif isinstance(event, h2.events.StreamEnded):
                break
        return _answer(int(headers[":status"]), headers, digest.hexdigest())

    async def _events(self, connection: h2.connection.H2Connection) -> AsyncIterator[h2.events.Event]:
        while True:
            await self._send(connection.data_to_send())
            data = await self._receive()
            if not data:
                raise ConnectionResetError("closed the connection before it answered")
            self.origin_frames.feed(data)
            if self.origin_frames.size > _MOST_FRAME_BYTES:
                raise ConnectionAbortedError(f"sent more than {_MOST_FRAME_BYTES} bytes of ORIGIN frames")
            for event in connection.receive_data(data):
                yield event

    async def _get_h1(self, host: str, path: str) -> ProbeAnswer:
        if self._h1.our_state is not h11.IDLE:
            self._h1.start_next_cycle()
        fields = [("Host", self._authority(host)), ("User-Agent", _USER_AGENT), ("Accept", "*/*")]
        request = h11.Request(method="GET", target=path, headers=fields)
        await self._send((self._h1.send(request) or b"") + (self._h1.send(h11.EndOfMessage()) or b""))
        status, headers = 0, dict[str, str]()
        digest, size = hashlib.sha256(), 0
        while size < _MOST_BODY_BYTES:
            event = self._h1.next_event()
            if event is h11.NEED_DATA:
                self._h1.receive_data(await self._receive())
            elif isinstance(event, h11.Response):
                status, headers = event.status_code, {_text(name): _text(value) for name, value in event.headers}
            elif isinstance(event, h11.Data):
                digest.update(event.data[: _MOST_BODY_BYTES - size])
                size += len(event.data)
            elif isinstance(event, h11.EndOfMessage):
                break
        return _answer(status, headers, digest.hexdigest())

    def _authority(self, host: str) -> str:
        return host if self.port == 443 else f"{host}:{self.port}"

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def _receive(self) -> bytes:
        data = await self._reader.read(_READ_BYTES)
        self._received += len(data)
        if self._received > _MOST_RECEIVED_BYTES:
            raise ConnectionAbortedError(f"sent {_MOST_RECEIVED_BYTES} bytes, more than two answers have")
        return data

    def _message(self, _connection: Any, direction: str, *rest: Any) -> None:  # noqa: ANN401 - undocumented types
        if direction == "read" and int(rest[2]) == _CERTIFICATE_REQUEST:
            self.asks_for_client_certificate = True

    def _problem(self, error: Exception) -> ProbeError:
        return ProbeError(self.server_name, self.address, self.port, _reason(error))


def _context(ca_file: Path | None, latest: ssl.TLSVersion | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file)
    context.set_alpn_protocols(["h2", "http/1.1"])
    if latest is not None:
        context.maximum_version = latest
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError) and error.errno is None:
        return f"was not done within {CONNECTION_SECONDS:g} seconds"
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno is not None:
        return os.strerror(error.errno)  # asyncio's own words hide what happened
    return str(error) or type(error).__name__


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def _answer(status: int, headers: Mapping[str, str], digest: str) -> ProbeAnswer:
    return ProbeAnswer(status, headers.get("location"), headers.get("content-type"), headers.get("alt-svc"), digest)
