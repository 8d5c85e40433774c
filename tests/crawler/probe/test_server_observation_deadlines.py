"""A check ends in time whatever servers and the resolver do: each of these held it before there were deadlines."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, QuicEvent
from faulty_server import announcing
from holding_server import ANSWERS_H1, ANSWERS_H2, UNASKED, Endless, HoldingServer

from originset.crawler.probe import http3_origin_frames, server_observation, system_lookup, tls_client
from originset.crawler.probe.server_findings import findings
from originset.crawler.probe.server_observation import ProbeTarget, observe_server
from originset.crawler.testbed.servers.certificate_authority import Authority, Issued
from originset.data.errors import ProbeError

pytestmark = [
    # What ends by itself takes a second or two; what does not is stopped here.
    pytest.mark.timeout(60),
    # asyncio leaves the closing of a connection that is given up as its handshake ends to the interpreter.
    pytest.mark.filterwarnings("ignore:Exception ignored in.*Transport:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in.*socket:pytest.PytestUnraisableExceptionWarning"),
]

SITE = "www.site.test"
IN_TIME = "was not done within 0.5 seconds"
TOO_MUCH = "sent 65536 bytes, more than two answers have"


@dataclass
class Site:
    authority: Authority
    issued: Issued

    def target(self, server: HoldingServer) -> ProbeTarget:
        return ProbeTarget(SITE, "127.0.0.1", server.port, ca_file=self.authority.root)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(tls_client, "CONNECTION_SECONDS", 0.5)
    monkeypatch.setattr(tls_client, "_MOST_RECEIVED_BYTES", 1 << 16)
    authority = Authority(tmp_path)
    return Site(authority, authority.issue([SITE]))


@pytest.mark.promise("check-ends")
@pytest.mark.parametrize("pause", [0.0, 0.1])
@pytest.mark.parametrize("unasked", UNASKED.values(), ids=UNASKED)
def test_a_server_that_never_comes_to_an_answer(site: Site, unasked: Endless, pause: float) -> None:
    with HoldingServer(site.issued, unasked=unasked, pause=pause) as server:
        try:
            problem = observe_server(site.target(server)).page.problem
        except ProbeError as error:
            problem = error.problem
    assert problem in {IN_TIME, TOO_MUCH}


@pytest.mark.promise("check-ends")
@pytest.mark.parametrize(
    ("alpn", "answer"),
    [
        *(pytest.param("h2", answer, id=f"h2 {name}") for name, answer in ANSWERS_H2.items()),
        *(pytest.param("http/1.1", answer, id=f"h1 {name}") for name, answer in ANSWERS_H1.items()),
    ],
)
@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_an_answer_without_an_end(site: Site, alpn: str, answer: Endless, pause: float) -> None:
    with HoldingServer(site.issued, alpn=alpn, answer=answer, pause=pause) as server:
        page = observe_server(site.target(server)).page
    assert page.answer is None
    if pause:
        assert page.problem == IN_TIME


@pytest.mark.promise("check-ends")
def test_a_handshake_of_a_byte_at_a_time(site: Site) -> None:
    with HoldingServer(site.issued, slow_handshake=True) as server, pytest.raises(ProbeError) as caught:
        observe_server(site.target(server))
    assert caught.value.problem == IN_TIME


@pytest.mark.promise("check-ends")
def test_the_whole_check_has_a_deadline_and_says_what_it_left_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_client, "CONNECTION_SECONDS", 0.3)
    frames = b"".join(announcing(*(f"https://h{number}.site.test" for number in range(40))))
    with HoldingServer(site.issued, frames=frames) as server:
        seen = observe_server(site.target(server), seconds=2)
    assert seen.unfinished + len(seen.hosts) == 40
    assert seen.unfinished > 30, "each host takes two connections that are held"
    [found] = [one for one in findings(seen) if one.code == "unfinished"]
    assert not found.is_note, "what was not looked at is no pass"
    assert f"no time for {seen.unfinished} hosts" in found.detail


@pytest.mark.promise("check-ends")
def test_a_deadline_that_is_over_before_anything_was_seen(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_client, "CONNECTION_SECONDS", 3600.0)
    with HoldingServer(site.issued, unasked=UNASKED["pings"], pause=0.1) as server, pytest.raises(ProbeError) as caught:
        observe_server(site.target(server), seconds=0.5)
    assert caught.value.problem == "did not show what it announces within 0.5 seconds"


@pytest.mark.promise("check-ends")
def test_origins_without_an_end(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is read at a cost that no deadline interrupts."""
    monkeypatch.setattr(tls_client, "_MOST_RECEIVED_BYTES", 1 << 20)
    frames = b"".join(
        frame
        for first in range(0, 30_000, 1000)
        for frame in announcing(*(f"https://a{first + n}" for n in range(1000)))
    )
    assert 1 << 18 < len(frames) < 1 << 20
    with HoldingServer(site.issued, frames=frames) as server, pytest.raises(ProbeError) as caught:
        observe_server(site.target(server))
    assert caught.value.problem == "sent more than 262144 bytes of ORIGIN frames"


@pytest.fixture
def silent_resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    over = threading.Event()

    def wait(_host: str) -> list[str]:
        over.wait(120)
        return ["151.101.1.1"]

    monkeypatch.setattr(system_lookup, "_ask_the_system", wait)
    monkeypatch.setattr(system_lookup, "LOOKUP_SECONDS", 0.2)
    yield
    over.set()


@pytest.mark.promise("check-ends")
def test_a_resolver_that_does_not_answer(site: Site, silent_resolver: None) -> None:
    frames = b"".join(announcing("https://other.test"))
    with HoldingServer(site.issued, frames=frames) as server:
        seen = observe_server(site.target(server))
    assert [(host.host, host.not_compared) for host in seen.hosts] == [
        ("other.test", "its name has no address, or none was told in time")
    ]


class EndlessStream(QuicConnectionProtocol):
    """Its stream is of no known type and has no end; it opens no control stream."""

    stream: int | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        if self.stream is None and isinstance(event, HandshakeCompleted):
            self.stream = self._quic.get_next_available_stream_id(is_unidirectional=True)
            self._quic.send_stream_data(self.stream, b"\x21")  # RFC 9114 section 6.2.3
            self.go_on()

    def go_on(self) -> None:
        self._quic.send_stream_data(self.stream, 1000 * b"x")
        self.transmit()
        self._loop.call_later(0.001, self.go_on)


@pytest.mark.promise("check-ends")
@pytest.mark.parametrize("most", [1 << 14, 1 << 30])
def test_quic_without_an_end(site: Site, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(http3_origin_frames, "QUIC_SECONDS", 1.0)
    monkeypatch.setattr(http3_origin_frames, "_MOST_STREAM_BYTES", most)
    problem = "no HTTP/3 within 1 seconds" if most == 1 << 30 else "no SETTINGS in .* bytes over HTTP/3"
    with pytest.raises(ProbeError, match=problem):
        asyncio.run(_read_endless(site, site.authority.root))


def test_over_quic_the_system_authorities_are_trusted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http3_origin_frames, "_MOST_STREAM_BYTES", 1 << 14)
    monkeypatch.setenv("SSL_CERT_FILE", str(site.authority.root))
    with pytest.raises(ProbeError, match=r"no SETTINGS in \d+ bytes over HTTP/3"):
        asyncio.run(_read_endless(site, None))


async def _read_endless(site: Site, ca_file: Path | None) -> list[bytes]:
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(str(site.issued.chain), str(site.issued.key))
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=EndlessStream)
    port = server._transport.get_extra_info("sockname")[1]
    try:
        return await http3_origin_frames.read_origin_payloads("127.0.0.1", port, SITE, ca_file)
    finally:
        server.close()
        server._transport.close()


@pytest.mark.promise("check-ends")
def test_quic_that_never_completes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http3_origin_frames, "QUIC_SECONDS", 0.5)
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as silent:
        silent.bind(("127.0.0.1", 0))
        target = ProbeTarget(SITE, "127.0.0.1", silent.getsockname()[1], ca_file=site.authority.root)
        payloads, problem = asyncio.run(server_observation._over_http3(target))
    assert (payloads, problem) == (None, "no HTTP/3 within 0.5 seconds")
