"""Round trips in the testbed: that everything waits for them, that nothing else changes, and who makes them."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import pytest
from healthy_testbed import healthy_testbed

from originset.crawler.testbed import latency, scenario_file
from originset.crawler.testbed.servers.latency_relay import Link
from originset.crawler.testbed.testbed import Testbed

pytestmark = pytest.mark.testbed

ONE_WAY_S = latency.ROUND_TRIP_MS["lte"] / 2000

SCENARIO = """
dns = "192.0.2.58"
[certificate.all]
names = ["*.far.test"]
[host."www.far.test"]
addresses = ["104.24.0.1", "2606:4700::6818:1"]
certificate = "all"
[host."node.far.test"]
addresses = ["104.24.0.2"]
certificate = "all"
implementation = "node"
[site."www.far.test"]
loads = [{ script = "https://node.far.test/a.js" }, { image = "https://www.far.test/large.png", bytes = 300000 }]
"""


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with healthy_testbed(scenario_file.parse(SCENARIO), tmp_path_factory.mktemp("far") / "lab", "lte") as running:
        yield running


@contextlib.contextmanager
def at_least(round_trips: float) -> Iterator[None]:
    """No machine is so slow that it fails this: what is asserted is that light would not have been quicker."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started >= round_trips * 2 * ONE_WAY_S


def get(far: Testbed, name: str, address: str, path: str) -> bytes:
    how = ssl.create_default_context(cafile=far.authority.root)
    client = http.client.HTTPConnection(name)
    client.sock = how.wrap_socket(socket.create_connection((address, 443), 10), server_hostname=name)
    try:
        client.request("GET", path)
        return client.getresponse().read()
    finally:
        client.close()


def test_who_makes_it_is_recorded(far: Testbed) -> None:
    assert (far.latency, far.latency_means) in {("lte", "netem"), ("lte", "relay")}


@pytest.mark.parametrize("address", ["104.24.0.1", "2606:4700::6818:1"])
def test_tcp_tls_and_the_request_wait_for_a_round_trip_each(far: Testbed, address: str) -> None:
    before = len(far.requests())
    with at_least(3):
        body = get(far, "www.far.test", address, "/")
    assert b"https://node.far.test/a.js" in body
    (request,) = far.requests()[before:]
    assert (request.host, request.server, request.status) == ("www.far.test", address, 200)


def test_node_waits_too(far: Testbed) -> None:
    how = ssl.create_default_context(cafile=far.authority.root)
    how.set_alpn_protocols(["h2"])
    with (
        at_least(2),
        socket.create_connection(("104.24.0.2", 443), 10) as plain,
        how.wrap_socket(plain, server_hostname="node.far.test") as client,
    ):
        assert client.selected_alpn_protocol() == "h2"


@pytest.mark.parametrize("ask", [dns.query.udp, dns.query.tcp])
def test_lookups_wait_too(far: Testbed, ask) -> None:
    query = dns.message.make_query("www.far.test", "A")
    with at_least(1):
        answer = ask(query, far.scenario.dns_address, timeout=10)
    assert answer.rcode() == dns.rcode.NOERROR
    assert [record.address for record in answer.answer[0]] == ["104.24.0.1"]


def test_a_server_that_is_gone_ends_the_connection(far: Testbed) -> None:
    if far.latency_means != "relay":
        pytest.skip("the kernel makes the round trips here: no relay")
    with socket.create_connection(("104.24.0.1", 443), 10) as client:
        client.sendall(b"not TLS at all\r\n\r\n")
        client.settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            while client.recv(1024):
                pass


def test_a_narrow_link_is_shared_by_all_connections(tmp_path: Path) -> None:
    """Two bodies at once take the link's time for both; together with them, three round trips for the first byte."""
    elsewhere = SCENARIO.replace("104.24.0.", "104.24.1.").replace("6818:1", "6818:2").replace("2.58", "2.59")
    with healthy_testbed(scenario_file.parse(elsewhere), tmp_path / "lab", "lte", limits_bandwidth=True) as narrow:
        assert narrow.latency_means == "relay"
        on_link_s = 2 * 300_000 * 8 / latency.BANDWIDTH["lte"][0]
        started = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            bodies = list(pool.map(lambda _: get(narrow, "www.far.test", "104.24.1.1", "/large.png"), range(2)))
        assert time.monotonic() - started >= on_link_s + 3 * 2 * ONE_WAY_S
    assert [len(body) for body in bodies] == [300_000, 300_000]


def test_a_link_lets_one_pass_after_the_other() -> None:
    link = Link(8000.0)
    assert [link.passed(now, 100) for now in (1.0, 1.05, 2.0)] == pytest.approx([1.1, 1.2, 2.1])
    assert Link().passed(1.0, 1_000_000) == 1.0


def fake_tc(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> Path:
    """A ``tc`` that writes down what it is told: this kernel may have no netem."""
    told = folder / "told"
    program = folder / "tc"
    program.write_text(f'#!/bin/sh\necho "$@" >> {told}\ncase "$1" in -batch) cat >> {told}; exit {code};; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return told


def test_the_kernel_is_asked_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = fake_tc(tmp_path, monkeypatch, 0)
    with contextlib.ExitStack() as stack:
        assert latency.delay_by_kernel(stack, "cable")
        rules = told.read_text()
        assert "netem delay 14000us" in rules
        assert "127.0.0.0/8 flowid 1:1" in rules, "what steers the browsers is not delayed"
        assert "qdisc del" not in rules
    assert told.read_text().endswith("qdisc del dev lo root\n")


def test_a_kernel_without_netem_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = fake_tc(tmp_path, monkeypatch, 1)
    with contextlib.ExitStack() as stack:
        assert not latency.delay_by_kernel(stack, "lte")
        assert told.read_text().endswith("qdisc del dev lo root\n")
    assert told.read_text().count("qdisc del") == 1


def test_a_machine_without_tc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with contextlib.ExitStack() as stack:
        assert not latency.delay_by_kernel(stack, "lte")
