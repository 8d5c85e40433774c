"""The ORIGIN frames that a server sends over HTTP/3 (RFC 9412): on its control stream, after SETTINGS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

from aioquic._buffer import Buffer, BufferReadError
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import H3Event
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived

from originset.crawler.probe import origin_frame
from originset.data.errors import ProbeError

# For the whole connection, however the server spreads what it sends.
QUIC_SECONDS = 10.0
# On all of the server's own streams; SETTINGS and a full ORIGIN frame have some 16 KiB.
_MOST_STREAM_BYTES = 256 << 10
# A server sends its first ORIGIN frame with its SETTINGS; this is for one that comes a little later.
_AFTER_SETTINGS_S = 0.5
_CONTROL_STREAM = 0x00  # RFC 9114 section 6.2.1
_SETTINGS = 0x04


class Http3Client(QuicConnectionProtocol):
    """What a server sends over HTTP/3 besides answers, which are for :meth:`http_event_received`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - the base's
        super().__init__(*arguments, **named)
        self._streams: dict[int, bytes] = {}
        self.h3 = H3Connection(self._quic)
        self.received = 0
        self.settled = asyncio.Event()

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            self.settled.set()
        if isinstance(event, StreamDataReceived) and event.stream_id % 4 == 3:  # the server's, one way
            self.received += len(event.data)
            if self.received > _MOST_STREAM_BYTES:
                self.settled.set()
                return
            self._streams[event.stream_id] = self._streams.get(event.stream_id, b"") + event.data
            if any(kind == _SETTINGS for kind, _ in self.frames()):
                self.settled.set()
        for received in self.h3.handle_event(event):
            self.http_event_received(received)

    def http_event_received(self, event: H3Event) -> None:
        """Take a part of an answer."""

    def transmit(self) -> None:
        """As the base does, but not after the end: its timers outlive the connection."""
        if self._transport is not None and not self._transport.is_closing():
            super().transmit()

    def frames(self) -> list[tuple[int, bytes]]:
        """Type and payload of each whole frame on the server's control stream so far."""
        found = []
        for data in self._streams.values():
            buffer = Buffer(data=data)
            try:
                if buffer.pull_uint_var() != _CONTROL_STREAM:
                    continue
                while not buffer.eof():
                    kind, length = buffer.pull_uint_var(), buffer.pull_uint_var()
                    found.append((kind, buffer.pull_bytes(length)))
            except BufferReadError:
                continue
        return found


Client = TypeVar("Client", bound=Http3Client)


@contextlib.asynccontextmanager
async def http3_client(
    address: str, port: int, server_name: str, ca_file: Path | None, kind: type[Client]
) -> AsyncIterator[Client]:
    """A QUIC connection over which the server has sent its SETTINGS; the caller ends it where that takes too long.

    Raises:
        OSError: there is none.
    """
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=server_name)
    system = ssl.get_default_verify_paths()
    configuration.load_verify_locations(*((system.cafile, system.capath) if ca_file is None else (str(ca_file),)))
    sixth = ":" in address
    # aioquic's own connect() waits at its end for as long as the server's transport parameters say.
    transport, client = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: kind(QuicConnection(configuration=configuration)),
        family=socket.AF_INET6 if sixth else socket.AF_INET,
    )
    try:
        client.connect((address, port, 0, 0) if sixth else (address, port))
        await client.settled.wait()
        if not any(kind == _SETTINGS for kind, _ in client.frames()):
            raise ConnectionAbortedError(f"no SETTINGS in {client.received} bytes over HTTP/3")
        yield client
    finally:
        client.close()
        transport.close()


async def read_origin_payloads(address: str, port: int, server_name: str, ca_file: Path | None = None) -> list[bytes]:
    """The payloads of the ORIGIN frames that a server sends over HTTP/3, in order; none where it sends no frame.

    ``ca_file``: a PEM file of authorities; None takes the system's. Takes at most :data:`QUIC_SECONDS`, whatever the
    server does.

    Raises:
        ProbeError: there is no QUIC connection, no trust, or no HTTP/3.
    """
    try:
        async with asyncio.timeout(QUIC_SECONDS):
            async with http3_client(address, port, server_name, ca_file, Http3Client) as client:
                await asyncio.sleep(_AFTER_SETTINGS_S)
                return [payload for kind, payload in client.frames() if kind == origin_frame.TYPE]
    except OSError as error:  # TimeoutError is one
        problem = str(error) or f"no HTTP/3 within {QUIC_SECONDS:g} seconds"
        raise ProbeError(server_name, address, port, problem) from error
