"""ORIGIN frames found in a connection's bytes, however these arrive."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.probe import origin_frame
from originset.crawler.probe.server_observation import origins_in
from originset.crawler.probe.tls_client import OriginFrames, ProbeAnswer, ProbeConnection
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import ProbeError

SETTINGS = bytes.fromhex("000006040000000000000100001000")


@given(
    payloads=st.lists(st.binary(max_size=40), max_size=4),
    cuts=st.lists(st.integers(1, 30), min_size=1, max_size=50),
)
def test_frames_are_found_however_the_bytes_are_cut(payloads: list[bytes], cuts: list[int]) -> None:
    data = SETTINGS + b"".join(SETTINGS + origin_frame.frame(payload) for payload in payloads) + SETTINGS
    frames = OriginFrames()
    while data:
        size = cuts[len(data) % len(cuts)]
        frames.feed(data[:size])
        data = data[size:]
    assert frames.payloads == payloads
    assert frames.longest == max(map(len, payloads), default=0)


def test_frames_of_other_streams_and_with_flags_are_ignored() -> None:
    frame = bytearray(origin_frame.frame(b"\0\x01x"))
    frame[8] = 1
    frames = OriginFrames()
    frames.feed(bytes(frame))
    frame[8], frame[4] = 0, 1
    frames.feed(bytes(frame))
    assert frames.payloads == []
    frame[4] = 0x10  # only the first four flags are reserved (RFC 8336 section 2.2)
    frames.feed(bytes(frame))
    assert frames.payloads == [b"\0\x01x"]


def test_the_set_is_read_back_as_it_was_given(testbed: Testbed) -> None:
    host, ca_file = testbed.scenario.hosts["www.gazette.example"], testbed.authority.root

    async def announced(address: str, name: str) -> list[bytes]:
        async with ProbeConnection(address, 443, name, ca_file) as connection:
            return connection.origin_frames.payloads

    found = origins_in(asyncio.run(announced(host.addresses[0], host.name)))
    assert found == ("https://www.gazette.example", "https://media.gazette.example")
    # One name's frame is not another's, and none is not an empty one.
    assert asyncio.run(announced("151.101.129.21", "media.gazette.example")) == []


@pytest.mark.parametrize(
    ("name", "problem"), [("refused.test", "Connection refused"), ("expired.test", "certificate has expired")]
)
def test_why_a_server_could_not_be_asked(testbed: Testbed, name: str, problem: str) -> None:
    async def ask(address: str) -> None:
        async with ProbeConnection(address, 443, name, testbed.authority.root):
            pass

    address = testbed.scenario.hosts[name].addresses[0]
    with pytest.raises(ProbeError) as caught:
        asyncio.run(ask(address))
    assert problem in caught.value.problem
    assert str(caught.value).startswith(f"{name} at {address} port 443: ")


def test_a_server_of_http1_answers_too(testbed: Testbed) -> None:
    host = testbed.scenario.hosts["tags.adnet.test"]

    async def ask_twice() -> tuple[str, ProbeAnswer, ProbeAnswer]:
        async with ProbeConnection(host.addresses[0], 443, host.name, testbed.authority.root) as connection:
            return connection.protocol, await connection.get(host.name, "/"), await connection.get(host.name, "/")

    protocol, first, again = asyncio.run(ask_twice())
    assert protocol == "http/1.1"
    assert first == again
