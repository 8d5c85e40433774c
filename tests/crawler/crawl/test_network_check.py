"""A failure without a network is no site's; with one, it is. Networks here are sockets of loopback that come and go."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from originset.crawler.crawl import network_check
from originset.crawler.crawl.network_check import NetworkCheck
from originset.data.captures.capture import Visit

pytestmark = [pytest.mark.testbed]


def visited(status: str, error: str | None = None, url: str = "https://a.test/") -> Visit:
    return Visit(
        visit_id="0" * 16,
        site="a.test",
        url=url,
        started_at="2026-11-21T10:00:00.000000Z",
        status=status,
        error=error,
    )


class Server:
    """An address that takes connections while it is up."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.place = self._socket.getsockname()
        self.url = f"http://127.0.0.1:{self.place[1]}/"

    def down(self) -> None:
        self._socket.close()

    def up(self) -> None:
        self._socket = socket.create_server(self.place)


def test_failures_without_a_network_are_no_sites() -> None:
    server = Server()
    network = NetworkCheck([("name.invalid", 443), server.place])
    began = time.monotonic()
    for kind in ("dns", "connect", "timeout", "empty"):
        assert not network.spoilt(visited("failed", kind), began), "the network is there"
    server.down()
    began = time.monotonic()
    for kind in ("dns", "connect", "timeout", "empty"):
        assert network.spoilt(visited("failed", kind), time.monotonic())
    assert network.spoilt(visited("partial", "timeout"), time.monotonic())
    assert network.spoilt(visited("ok"), began), "the page may lack what was asked for meanwhile"
    assert network.spoilt(visited("failed", "http"), time.monotonic())
    began = time.monotonic()
    server.up()
    assert network.is_online()
    assert network.spoilt(visited("ok"), began), "it began during the outage"
    assert not network.spoilt(visited("failed", "dns"), time.monotonic())
    server.down()


def test_failures_of_other_kinds_ask_nobody() -> None:
    network = NetworkCheck([("127.0.0.1", 1)])  # where nothing listens
    for error in ("http", "tls", "challenge", "private", "crash"):
        assert not network.spoilt(visited("failed", error), time.monotonic())
    assert not network.is_online()


def test_without_names_the_sites_that_loaded_are_asked() -> None:
    server = Server()
    network = NetworkCheck(allow_private=True)
    assert not network.spoilt(visited("failed", "dns"), time.monotonic()), "nothing says that there is no network"
    assert not network.spoilt(visited("ok", url=server.url), time.monotonic())
    assert not network.spoilt(visited("failed", "dns"), time.monotonic())
    server.down()
    assert network.spoilt(visited("failed", "dns"), time.monotonic())


def test_it_waits_until_the_network_is_back_or_the_crawl_ends() -> None:
    server = Server()
    server.down()
    network = NetworkCheck([server.place])
    ended = threading.Event()
    waiting = threading.Thread(target=network.wait, args=(ended.is_set,))
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive()
    ended.set()
    waiting.join(60)
    assert not waiting.is_alive()
    server.up()
    network.wait(lambda: False)
    server.down()


def test_a_visit_that_loads_shows_that_there_is_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the sites that loaded last turn us away by now."""
    monkeypatch.setattr(network_check, "_TRIAL_S", 0.0)
    server = Server()
    network = NetworkCheck(allow_private=True)
    began = time.monotonic()
    network.spoilt(visited("ok", url=server.url), began)
    server.down()
    assert network.spoilt(visited("failed", "connect"), time.monotonic())
    assert network.spoilt(visited("ok"), began), "of this one it is not known when it loaded"
    network.wait(lambda: False)
    assert not network.spoilt(visited("ok", url=server.url), time.monotonic())


@pytest.mark.promise("crawls-stay-public")
def test_sites_that_loaded_are_asked_at_public_addresses_only() -> None:
    server = Server()
    server._socket.settimeout(0.2)
    network = NetworkCheck()
    network.spoilt(visited("ok", url=server.url), time.monotonic())
    assert not network.is_online(), "a name that leads here by now is not reached"
    with pytest.raises(TimeoutError):
        server._socket.accept()
    server.down()


def test_threads_that_ask_together_share_a_probe() -> None:
    server = Server()
    network = NetworkCheck([server.place])
    found: list[bool] = []
    with network._probing:  # as while somebody else is asking
        threads = [threading.Thread(target=lambda: found.append(network.is_online())) for _ in range(8)]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()
    server._socket.settimeout(0.2)
    taken = 0
    while True:
        try:
            server._socket.accept()[0].close()
        except TimeoutError:
            break
        taken += 1
    assert found == [True] * 8
    assert 1 <= taken < 8
    server.down()
