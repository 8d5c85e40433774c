"""Round trips without the kernel's help: a relay before the testbed's servers that hands everything on later.

A connection's TCP handshake is the kernel's and takes no time here, so that a client's first bytes wait for the round
trip that it would have taken. What the servers log as the client's port is the relay's.

Where bandwidth is limited, all connections share one link in each direction, first come, first served. How much a
connection may have on its way grows as in slow start, which the kernel's own, without round trips, does not show.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from dataclasses import dataclass, field
from typing import cast

OFFSET = 10_000  # the servers themselves listen this many ports higher

_CHUNK = 65_536
_IDLE_S = 60.0

_SEGMENT = 1448
_FIRST_WINDOW = 10 * _SEGMENT  # RFC 6928
_LARGEST_WINDOW = 1 << 18


@dataclass
class Link:
    """One direction of an access network; ``bits_per_s`` 0: not limited."""

    bits_per_s: float = 0.0
    _free_at: float = 0.0

    def passed(self, now: float, size: int) -> float:
        """When so many bytes have passed, behind all that came before them."""
        if not self.bits_per_s:
            return now
        self._free_at = max(now, self._free_at) + 8 * size / self.bits_per_s
        return self._free_at


class _Window:
    """How much of a connection may be on its way: twice as much each round trip (RFC 5681), without losses."""

    def __init__(self) -> None:
        self._size, self._in_flight = _FIRST_WINDOW, 0
        self._room = asyncio.Event()
        self._room.set()

    async def room(self) -> int:
        """Wait until something may be sent; how many bytes."""
        await self._room.wait()
        return min(self._size - self._in_flight, 2 * _SEGMENT)

    def sent(self, size: int, acknowledged_at: float) -> None:
        self._in_flight += size
        if self._in_flight >= self._size:
            self._room.clear()
        asyncio.get_running_loop().call_at(acknowledged_at, self._acknowledged, size)

    def _acknowledged(self, size: int) -> None:
        self._in_flight -= size
        self._size = min(self._size + size, _LARGEST_WINDOW)
        self._room.set()


@dataclass
class Relay:
    """``delay_s`` is one way. All that it starts lasts as long as the event loop."""

    delay_s: float
    down: Link = field(default_factory=Link)
    up: Link = field(default_factory=Link)

    async def tcp(self, address: str, port: int) -> None:
        """Relay the connections to a port of an address."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            shaken = asyncio.get_running_loop().time() + 2 * self.delay_s
            with contextlib.suppress(OSError):
                behind, before = await asyncio.open_connection(address, port + OFFSET)
                try:
                    await asyncio.gather(
                        self._pass_on(reader, before, self.up, shaken), self._pass_on(behind, writer, self.down, shaken)
                    )
                finally:
                    before.close()
            writer.close()

        await asyncio.start_server(serve, address, port, backlog=256)

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: Link, not_before: float
    ) -> None:
        """Everything up to the end of the stream, the end included, each byte ``delay_s`` after it passed the link."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        window = _Window() if link.bits_per_s else None

        async def take() -> None:
            data = b"-"
            while data:
                data = await reader.read(_CHUNK if window is None else await window.room())
                passed = link.passed(max(loop.time(), not_before), len(data))
                waiting.put_nowait((passed + self.delay_s, data))
                if window is not None:
                    window.sent(len(data), passed + 2 * self.delay_s)

        async def give() -> None:
            while True:
                due, data = await waiting.get()
                await asyncio.sleep(due - loop.time())
                if not data:
                    writer.write_eof()
                    return
                writer.write(data)
                await writer.drain()

        await asyncio.gather(take(), give())

    async def udp(self, address: str, port: int) -> None:
        """Relay the datagrams to a port of an address."""
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: _Front(self, address, port), local_addr=(address, port))


@dataclass
class _Client:
    """What came from one client goes on from a socket of its own, so that answers find their way."""

    socket: socket.socket
    used: float


@dataclass
class _Front(asyncio.DatagramProtocol):
    relay: Relay
    address: str
    port: int
    clients: dict[tuple[str, int], _Client] = field(default_factory=dict)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)  # which asyncio's own does not inherit from
        self._loop = asyncio.get_running_loop()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        client = self.clients.get(addr) or self._open(addr)
        client.used = self._loop.time()
        passed = self.relay.up.passed(client.used, len(data))
        self._loop.call_at(passed + self.relay.delay_s, self._send_on, client, data)

    def _open(self, addr: tuple[str, int]) -> _Client:
        now = self._loop.time()
        for idle in [one for one, client in self.clients.items() if now - client.used > _IDLE_S]:
            self._loop.remove_reader(self.clients[idle].socket)
            self.clients.pop(idle).socket.close()
        family = socket.AF_INET if ipaddress.ip_address(self.address).version == 4 else socket.AF_INET6
        made = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        made.connect((self.address, self.port + OFFSET))
        self._loop.add_reader(made, self._receive, made, addr)
        return self.clients.setdefault(addr, _Client(made, now))

    def _send_on(self, client: _Client, data: bytes) -> None:
        with contextlib.suppress(OSError):  # lost, as datagrams may be
            client.socket.send(data)

    def _receive(self, behind: socket.socket, addr: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):
            data = behind.recv(_CHUNK)
            passed = self.relay.down.passed(self._loop.time(), len(data))
            self._loop.call_at(passed + self.relay.delay_s, self._transport.sendto, data, addr)
