"""Requests for several hosts over one QUIC connection, answered by a server of aioquic's."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent

from originset.crawler.probe import http3_client
from originset.crawler.probe.http3_client import Http3Connection
from originset.crawler.probe.tls_client import ProbeAnswer
from originset.crawler.testbed.servers.certificate_authority import Authority
from originset.data.errors import ProbeError

pytestmark = pytest.mark.slow

NAME = "www.lab.test"


class AnswersByHost(QuicConnectionProtocol):
    """``silent.test`` gets no answer, ``part.test`` no end of it, ``reset.test`` a reset of the stream."""

    h3: H3Connection | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ProtocolNegotiated):
            self.h3 = H3Connection(self._quic)
        for received in self.h3.handle_event(event) if self.h3 else ():
            if isinstance(received, HeadersReceived):
                self.answer(received.stream_id, dict(received.headers)[b":authority"])

    def answer(self, stream: int, host: bytes) -> None:
        assert self.h3 is not None
        if host == b"reset.test":
            self._quic.reset_stream(stream, 0x10C)
        elif host != b"silent.test":
            self.h3.send_headers(
                stream, [(b":status", b"421" if host == b"other.test" else b"200"), (b"location", b"/a")]
            )
            self.h3.send_data(stream, host, end_stream=host != b"part.test")
        self.transmit()


def ask(folder: Path, hosts: list[str], trust: Callable[[Authority], Path] = lambda one: one.root) -> list[ProbeAnswer]:
    authority = Authority(folder / "authority")
    issued = authority.issue([NAME])
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(str(issued.chain), str(issued.key))

    async def answers() -> list[ProbeAnswer]:
        server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=AnswersByHost)
        port = server._transport.get_extra_info("sockname")[1]
        try:
            async with Http3Connection("127.0.0.1", port, NAME, str(trust(authority))) as connection:
                return [await connection.get(host, "/") for host in hosts]
        finally:
            server.close()
            server._transport.close()

    return asyncio.run(answers())


def test_each_request_gets_its_own_answer(tmp_path: Path) -> None:
    found = ask(tmp_path, [NAME, "other.test", "third.test"])
    assert [one.status for one in found] == [200, 421, 200]
    assert [one.location for one in found] == ["/a"] * 3
    assert found[2].body_sha256 == hashlib.sha256(b"third.test").hexdigest()


@pytest.mark.parametrize("host", ["silent.test", "part.test", "reset.test"])
def test_no_whole_answer_is_none(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http3_client, "HTTP3_SECONDS", 1.0)
    with pytest.raises(ProbeError, match=f"no whole answer for {host}"):
        ask(tmp_path, [host])


def test_a_certificate_that_is_not_trusted_is_no_connection(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="no SETTINGS"):
        ask(tmp_path, [NAME], lambda _: Authority(tmp_path / "another").root)
