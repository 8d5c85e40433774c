"""The testbed's HTTP/3, asked by aioquic as a client, whose view of the control stream is read byte by byte."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aioquic.tls
import pytest
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from cryptography import x509

from originset.crawler.probe import origin_frame
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.latency import PROFILES, LatencyProfile
from originset.crawler.testbed.testbed import Testbed

pytestmark = pytest.mark.testbed

CONTROL, SETTINGS = 0, 4  # RFC 9114 sections 6.2.1 and 7.2.4
ORIGINS = ["https://promised.test", "https://far.promised.test"]


@dataclass
class Got:
    """What came over one connection."""

    statuses: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    streams: dict[int, bytes] = field(default_factory=lambda: defaultdict(bytes))
    certificate: x509.Certificate | None = None
    ticket: aioquic.tls.SessionTicket | None = None


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments: Any, got: Got, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.got, self.h3, self.done = got, H3Connection(self._quic), asyncio.Event()

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived) and event.stream_id % 4 == 3:  # the server's own, one way
            self.got.streams[event.stream_id] += event.data
        for one in self.h3.handle_event(event):
            if isinstance(one, HeadersReceived):
                self.got.statuses.append(int(dict(one.headers)[b":status"]))
                self.got.bodies.append(b"")
            elif isinstance(one, DataReceived):
                self.got.bodies[-1] += one.data
            if one.stream_ended:
                self.done.set()

    async def get(self, url: str) -> None:
        host, _, path = url.removeprefix("https://").partition("/")
        fields = {":method": "GET", ":scheme": "https", ":authority": host, ":path": f"/{path}", "cookie": "a=1; b=2"}
        self.done.clear()
        stream = self._quic.get_next_available_stream_id()
        self.h3.send_headers(stream, [(k.encode(), v.encode()) for k, v in fields.items()], end_stream=True)
        self.transmit()
        await asyncio.wait_for(self.done.wait(), 10)


def fetch(
    testbed: Testbed,
    server_name: str,
    *urls: str,
    ticket: aioquic.tls.SessionTicket | None = None,
    at: str = "",
    wait_connected: bool = True,
) -> Got:
    """Get URLs one after the other over one connection, opened for ``server_name``.

    Without ``wait_connected`` the first request goes with the first packets, which needs a ``ticket``.
    """
    got = Got()

    async def run() -> None:
        configuration = QuicConfiguration(
            is_client=True, alpn_protocols=["h3"], server_name=server_name, session_ticket=ticket
        )
        configuration.load_verify_locations(cafile=str(testbed.authority.root))
        address = at or testbed.scenario.hosts[server_name].addresses[0]

        def keep(session: aioquic.tls.SessionTicket) -> None:
            got.ticket = session

        async with connect(
            address,
            443,
            configuration=configuration,
            create_protocol=partial(Client, got=got),
            session_ticket_handler=keep,
            wait_connected=wait_connected,
        ) as client:
            assert isinstance(client, Client)
            for url in urls:
                await client.get(url)
            got.certificate = client._quic.tls._peer_certificate

    asyncio.run(run())
    return got


def read_varint(data: bytes) -> tuple[int, bytes]:
    """RFC 9000 section 16, written down a second time so that aioquic does not check itself."""
    length = 1 << (data[0] >> 6)
    return int.from_bytes(data[:length], "big") & ((1 << (8 * length - 2)) - 1), data[length:]


def frames_of(stream: bytes) -> list[tuple[int, bytes]]:
    frames = []
    while stream:
        kind, stream = read_varint(stream)
        length, stream = read_varint(stream)
        frames.append((kind, stream[:length]))
        stream = stream[length:]
    return frames


def control_frames(got: Got) -> list[tuple[int, bytes]]:
    (control,) = (rest for kind, rest in map(read_varint, got.streams.values()) if kind == CONTROL)
    return frames_of(control)


def test_requests_are_answered_and_logged(captures: Testbed) -> None:
    handshakes, requests = len(captures.handshakes()), len(captures.requests())
    got = fetch(
        captures, "http3.test", "https://http3.test/", "https://http3.test/none", "https://far.http3.test/1.png"
    )
    assert got.statuses == [200, 404, 421]
    assert b"https://far.http3.test/1.png" in got.bodies[0]
    (handshake,) = captures.handshakes()[handshakes:]
    assert (handshake.server, handshake.server_name, handshake.alpn) == ("104.18.1.4", "http3.test", "h3")
    assert (handshake.tls_version, handshake.resumed, handshake.origins) == ("QUIC", False, None)
    seen = captures.requests()[requests:]
    assert [(one.protocol, one.host, one.path, one.status) for one in seen] == [
        ("h3", "http3.test", "/", 200),
        ("h3", "http3.test", "/none", 404),
        ("h3", "far.http3.test", "/1.png", 421),
    ]
    assert {(one.connection, one.client_port) for one in seen} == {(handshake.connection, handshake.client_port)}
    assert all(one.cookies == ["a", "b"] for one in seen)


def test_the_origin_frame_follows_settings(captures: Testbed) -> None:
    got = fetch(captures, "promised.test", "https://promised.test/", "https://far.promised.test/1.png")
    (first, _), (second, payload), *rest = control_frames(got)
    assert (first, second) == (SETTINGS, 0x0C)
    assert origin_frame.decode(payload) == ORIGINS
    assert not [kind for kind, _ in rest if kind == 0x0C]
    assert got.statuses == [200, 200], "what it promised, it answers for"
    assert captures.handshakes()[-1].origins == ORIGINS


SEVERAL = """
dns = "192.0.2.59"
[certificate.all]
names = ["*.several.test"]
[host."www.several.test"]
addresses = ["104.25.0.1"]
certificate = "all"
http3 = "advertised"
origin_set = ["https://www.several.test"]
origin_verbatim = ["https://*.several.test"]
origin_added = ["https://more.several.test"]
[host."late.several.test"]
addresses = ["104.25.0.2"]
certificate = "all"
http3 = "advertised"
origin_set = ["https://late.several.test"]
origin_delay_ms = 200
[site."late.several.test"]
loads = [{ image = "https://late.several.test/slow.svg", wait_ms = 400 }]
"""


@pytest.mark.parametrize("latency", PROFILES)
def test_several_late_and_odd_frames(testbed: Testbed, tmp_path: Path, latency: LatencyProfile) -> None:
    """By the relay, too, where the kernel cannot delay datagrams."""
    with Testbed(scenario_file.parse(SEVERAL), tmp_path / "several", latency) as several:
        at_once = control_frames(fetch(several, "www.several.test", "https://www.several.test/"))
        assert [payload for kind, payload in at_once if kind == 0x0C] == [
            origin_frame.pack([b"https://www.several.test", b"https://*.several.test"]),
            origin_frame.pack([b"https://more.several.test"]),
        ]
        early = fetch(several, "late.several.test", "https://late.several.test/")
        assert 0x0C not in [kind for kind, _ in control_frames(early)]
        late = fetch(several, "late.several.test", "https://late.several.test/", "https://late.several.test/slow.svg")
        assert late.statuses == [200, 200]
        assert (0x0C, origin_frame.pack([b"https://late.several.test"])) in control_frames(late)
        assert several.handshakes()[-1].origins == ["https://late.several.test"]


def test_without_a_set_there_is_no_frame(captures: Testbed) -> None:
    kinds = [kind for kind, _ in control_frames(fetch(captures, "http3.test", "https://http3.test/"))]
    assert kinds[0] == SETTINGS
    assert 0x0C not in kinds


def test_resumption_is_logged(captures: Testbed) -> None:
    first = fetch(captures, "http3.test", "https://http3.test/")
    assert first.ticket is not None
    second = fetch(captures, "http3.test", "https://http3.test/", ticket=first.ticket)
    assert second.statuses == [200]
    assert [one.resumed for one in captures.handshakes()[-2:]] == [False, True]


def test_requests_before_the_handshake_is_complete_are_answered_after_it(captures: Testbed) -> None:
    first = fetch(captures, "http3.test", "https://http3.test/")
    requests = len(captures.requests())
    early = fetch(captures, "http3.test", "https://http3.test/", ticket=first.ticket, wait_connected=False)
    assert early.statuses == [200]
    (handshake,) = captures.handshakes()[-1:]
    assert [(one.connection, one.path) for one in captures.requests()[requests:]] == [(handshake.connection, "/")]
    assert handshake.resumed


@pytest.mark.parametrize("name", ["http3.test", "told.test"])
def test_the_certificate_is_that_of_the_name(captures: Testbed, name: str) -> None:
    # Each name at the other's address: what decides is the name in the client's hello.
    other = {"http3.test": "told.test", "told.test": "http3.test"}[name]
    got = fetch(captures, name, f"https://{name}/", at=captures.scenario.hosts[other].addresses[0])
    assert got.certificate == x509.load_pem_x509_certificate(captures.certificate_of(name).chain.read_bytes())
    assert got.statuses == [421]


def test_varints_are_read_as_written() -> None:
    for number in (0, 12, 63, 64, 16_383, 16_384, 1 << 40):
        assert read_varint(encode_uint_var(number) + b"rest") == (number, b"rest")
