"""HTTP/3 (RFC 9114) at the testbed's addresses, with ORIGIN frames (RFC 9412) if the host sends them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aioquic._buffer import Buffer
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3Connection, encode_frame
from aioquic.h3.events import H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import (
    ConnectionTerminated,
    HandshakeCompleted,
    QuicEvent,
    StopSendingReceived,
    StreamReset,
)
from aioquic.tls import Context, SessionTicket, pull_client_hello

from originset.crawler.probe import origin_frame
from originset.crawler.testbed.announced_origins import OriginAnnouncement
from originset.crawler.testbed.scenario import Scenario
from originset.crawler.testbed.server_logs import TlsHandshake
from originset.crawler.testbed.servers.certificate_authority import Issued
from originset.crawler.testbed.servers.responses import Answers, Arrival, joined_fields


@dataclass(frozen=True)
class H3Server:
    """Listens on UDP. ``numbers`` are those of the connections, which TCP's count too."""

    scenario: Scenario
    certificates: Mapping[str, Issued]
    answers: Answers
    numbers: Iterator[int]
    tickets: dict[bytes, SessionTicket] = field(default_factory=dict)

    async def start(self, address: str, port: int) -> None:
        """Listen on a port of an address, for as long as the event loop runs."""
        host = next(host for host in self.scenario.hosts.values() if address in host.addresses and host.http3)
        await serve(
            address,
            port,
            configuration=self.configuration(host.certificate or ""),
            create_protocol=partial(_Connection, self, address),
            session_ticket_fetcher=self.tickets.get,
            session_ticket_handler=self._keep_ticket,
        )

    def configuration(self, certificate: str) -> QuicConfiguration:
        """What aioquic is to do with a certificate of the scenario's."""
        issued = self.certificates[certificate]
        made = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
        made.load_cert_chain(issued.chain, issued.key)
        return made

    def _keep_ticket(self, ticket: SessionTicket) -> None:
        self.tickets[ticket.ticket] = ticket


class _Connection(QuicConnectionProtocol):
    def __init__(self, server: H3Server, address: str, quic: QuicConnection, stream_handler: None = None) -> None:
        super().__init__(quic, stream_handler)
        self._server = server
        self._address = address
        self._arrival: Arrival | None = None
        self._h3: _H3Connection | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._peer: tuple[str, int] = ("", 0)
        self._server_name: str | None = None
        self._hooked = False
        self._late: asyncio.TimerHandle | None = None
        self._early: list[QuicEvent] = []

    def datagram_received(self, data: bytes | str, addr: Any) -> None:  # noqa: ANN401 - the base's: two forms of address
        self._peer = (addr[0], addr[1])
        if not self._hooked:
            self._hooked = True
            _on_client_hello(self._quic, self._choose)
        super().datagram_received(data, addr)

    def _choose(self, server_name: str | None, context: Context) -> None:
        """RFC 6066: the certificate by the name that the client asks for; the address's own where it is unknown."""
        self._server_name = server_name
        host = self._server.scenario.hosts.get(server_name or "")
        if host is not None and host.certificate is not None:
            configuration = self._server.configuration(host.certificate)
            context.certificate = configuration.certificate
            context.certificate_chain = configuration.certificate_chain
            context.certificate_private_key = configuration.private_key

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self._handshake_completed(event)
        elif isinstance(event, ConnectionTerminated):
            for task in self._tasks.values():
                task.cancel()
            if self._late is not None:
                self._late.cancel()
        elif isinstance(event, StreamReset | StopSendingReceived) and (running := self._tasks.get(event.stream_id)):
            running.cancel()
        # RFC 9001 section 4.6: a client that was here before sends requests with its first packets (0-RTT).
        self._early.append(event)
        if self._h3 is not None:
            events, self._early = self._early, []
            for http_event in (http_event for one in events for http_event in self._h3.handle_event(one)):
                self._receive(http_event)

    def _handshake_completed(self, event: HandshakeCompleted) -> None:
        client, client_port = self._peer
        host = self._server.scenario.hosts.get(self._server_name or "")
        promise = OriginAnnouncement.of(host)
        self._arrival = Arrival(
            connection=next(self._server.numbers),
            server=self._address,
            client_port=client_port,
            scheme="https",
            protocol="h3",
            server_name=self._server_name,
        )
        self._server.answers.log.write(
            TlsHandshake(
                time=time.time(),
                connection=self._arrival.connection,
                server=self._address,
                client=client,
                client_port=client_port,
                server_name=self._server_name,
                alpn=event.alpn_protocol,
                resumed=event.session_resumed,
                tls_version="QUIC",
                origins=None if promise.entries is None else list(promise.entries),
            )
        )
        self._h3 = _H3Connection(self._quic, () if promise.delay_s else promise.payloads)
        if promise.delay_s:
            self._late = self._loop.call_later(promise.delay_s, self._promise, promise.payloads)

    def _promise(self, payloads: Sequence[bytes]) -> None:
        if self._h3 is not None:
            self._h3.promise(payloads)
            self.transmit()

    def _receive(self, event: H3Event) -> None:
        if not isinstance(event, HeadersReceived) or event.stream_id in self._tasks:
            return  # bodies are dropped
        task = asyncio.create_task(self._respond(event.stream_id, joined_fields(event.headers)))
        self._tasks[event.stream_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(event.stream_id, None))

    async def _respond(self, stream: int, headers: dict[str, str]) -> None:
        if self._arrival is None or self._h3 is None:
            return
        answer = await self._server.answers.answer(
            self._arrival, headers.get(":method", ""), headers.get(":path", ""), headers
        )
        fields = [(":status", str(answer.status)), *answer.headers]
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
        self._h3.send_headers(stream, encoded, end_stream=not answer.body)
        if answer.body:
            self._h3.send_data(stream, answer.body, end_stream=True)
        self.transmit()


class _H3Connection(H3Connection):
    """With ORIGIN frames right after our SETTINGS, so that a client knows the set before any answer."""

    def __init__(self, quic: QuicConnection, payloads: Sequence[bytes]) -> None:
        self._payloads = payloads
        super().__init__(quic)

    def _init_connection(self) -> None:
        super()._init_connection()
        self.promise(self._payloads)

    def promise(self, payloads: Sequence[bytes]) -> None:
        """Send ORIGIN frames on the control stream."""
        for payload in payloads:
            if self._local_control_stream_id is not None:
                self._quic.send_stream_data(self._local_control_stream_id, encode_frame(origin_frame.TYPE, payload))


def _on_client_hello(quic: QuicConnection, choose: Callable[[str | None, Context], None]) -> None:
    """Call ``choose`` with the server name of the client's hello, before it is answered.

    aioquic has no callback for it and forgets the name, so its own functions are wrapped, on this connection alone.
    """
    initialize = quic._initialize  # noqa: SLF001 - see above

    def wrapped(peer_cid: bytes) -> None:
        initialize(peer_cid)
        handle = quic.tls._server_handle_hello  # noqa: SLF001 - see above

        def handle_hello(input_buf: Buffer, initial_buf: Buffer, handshake_buf: Buffer) -> None:
            place = input_buf.tell()
            hello = pull_client_hello(input_buf)
            input_buf.seek(place)
            choose(hello.server_name, quic.tls)
            handle(input_buf, initial_buf, handshake_buf)

        quic.tls._server_handle_hello = handle_hello  # type: ignore[method-assign]  # noqa: SLF001 - see above

    quic._initialize = wrapped  # type: ignore[method-assign]  # noqa: SLF001 - see above
