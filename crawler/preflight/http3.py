"""The ORIGIN frames that a server sends over HTTP/3 (RFC 9412): on its control stream, after SETTINGS."""

from __future__ import annotations

import asyncio
from typing import Any

from aioquic._buffer import Buffer, BufferReadError
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived

from originset.crawler import origin_frame
from originset.data.errors import ProbeError

_TIMEOUT_S = 10.0
# A server sends its first ORIGIN frame with its SETTINGS; this is for one that comes a little later.
_AFTER_SETTINGS_S = 0.5
_CONTROL_STREAM = 0x00  # RFC 9114 section 6.2.1
_SETTINGS = 0x04


class _Client(QuicConnectionProtocol):
    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - the base's
        super().__init__(*arguments, **named)
        self._streams: dict[int, bytes] = {}
        self._h3 = H3Connection(self._quic)
        self.settled = asyncio.Event()

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived) and event.stream_id % 4 == 3:  # the server's, one way
            self._streams[event.stream_id] = self._streams.get(event.stream_id, b"") + event.data
            if any(kind == _SETTINGS for kind, _ in self.frames()):
                self.settled.set()
        self._h3.handle_event(event)

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


def read_origin_payloads(address: str, port: int, server_name: str, trust: str | None = None) -> list[bytes]:
    """The payloads of the ORIGIN frames that a server sends over HTTP/3, in order; none where it sends no frame.

    ``trust``: a PEM file of authorities; None takes those that come with aioquic's default, certifi's.

    Raises:
        ProbeError: there is no QUIC connection, no trust, or no HTTP/3.
    """
    try:
        return asyncio.run(asyncio.wait_for(_read(address, port, server_name, trust), _TIMEOUT_S))
    except (OSError, TimeoutError) as error:
        problem = str(error) or "no HTTP/3 within ten seconds"
        raise ProbeError(server_name, address, port, problem) from error


async def _read(address: str, port: int, server_name: str, trust: str | None) -> list[bytes]:
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=server_name)
    if trust is not None:
        configuration.load_verify_locations(cafile=trust)
    async with connect(address, port, configuration=configuration, create_protocol=_Client) as client:
        if not isinstance(client, _Client):
            raise TypeError(type(client))
        await client.settled.wait()
        await asyncio.sleep(_AFTER_SETTINGS_S)
        return [payload for kind, payload in client.frames() if kind == origin_frame.TYPE]
