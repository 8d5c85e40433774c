"""Names and servers asked again: what is learned, and that a stranger's recording leads nowhere private."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from faulty_server import FaultyServer
from scripted_dns import ScriptedDns

from originset.crawler.probe import live_lookups as module
from originset.crawler.probe.live_lookups import Endpoint, LookupPolicy, LookupRequest, probe_live
from originset.crawler.probe.resolver import Resolver
from originset.crawler.testbed.servers.certificate_authority import Authority

PRIVATE = ("169.254.169.254", "10.0.0.1", "127.0.0.1", "::1")
HOME, MOVED = "104.20.9.1", "104.20.9.2"

pytestmark = pytest.mark.testbed


@contextmanager
def addresses(*named: str) -> Iterator[None]:
    with ExitStack() as stack:
        for address in named:
            place = [f"{address}/32", "dev", "lo"]
            subprocess.run(["ip", "addr", "add", *place], check=True)
            stack.callback(subprocess.run, ["ip", "addr", "del", *place], check=True)
        yield


class Listener:
    """Counts who connects to port 443 of private addresses."""

    def __init__(self, stack: ExitStack) -> None:
        self.contacts = 0
        for address in PRIVATE:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listening = stack.enter_context(closing(socket.create_server((address, 443), family=family)))
            stack.callback(listening.shutdown, socket.SHUT_RDWR)  # which wakes who waits for it
            threading.Thread(target=self._count, args=(listening,), daemon=True).start()

    def _count(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self.contacts += 1
            connection.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with addresses("169.254.169.254", "10.0.0.1", HOME), ExitStack() as stack:
        yield Listener(stack)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.root))
    return made


def answer(name: str, kind: str, before: int) -> list[str]:
    """rebinding.test leads to the outside when it is judged and into the network ever after."""
    if name == "inside.test":
        return {"A": ["169.254.169.254", "10.0.0.1"], "AAAA": ["::1", "::ffff:10.0.0.1"]}.get(kind, [])
    if name == "rebinding.test" and kind == "A":
        return [HOME] if before == 0 else ["127.0.0.1"]
    if name in {"home.test", "other.test"} and kind == "A":
        return [HOME]
    return []


def policy(dns: ScriptedDns, **more: object) -> LookupPolicy:
    return LookupPolicy(Resolver("127.0.0.1", dns.port), 50, **more)


@pytest.mark.promise("live-stays-public")
def test_nothing_private_is_contacted(listener: Listener) -> None:
    hostile = [
        *(LookupRequest(address, (Endpoint(address, 443),)) for address in PRIVATE),
        *(LookupRequest("inside.test", (Endpoint(address, 443), Endpoint(None, 443))) for address in PRIVATE),
        LookupRequest("rebinding.test", (Endpoint(None, 443), Endpoint("::ffff:127.0.0.1", 443))),
        LookupRequest("rebinding.test", (Endpoint("224.0.0.1", 443),)),
        LookupRequest("localhost", (Endpoint(None, 443),)),
        LookupRequest("printer.local", (Endpoint(None, 443),)),
        LookupRequest("intranet", (Endpoint(None, 443),)),
        *(
            LookupRequest(f"printer.{zone}", (Endpoint(None, 443),))
            for zone in ("corp", "lan", "home", "internal", "invalid")
        ),
        LookupRequest("home.test", (Endpoint(HOME, 22),)),
    ]
    with ScriptedDns(answer) as dns:
        handshakes = probe_live(hostile, policy(dns), 60).handshakes
        asked = {name for name, _ in dns.asked}
    assert listener.contacts == 0
    assert asked == {"inside.test", "rebinding.test", "home.test"}, "names of one's own network are not asked for"
    # What was contacted is the one address that was judged, though the name leads elsewhere by now.
    assert {one.address for one in handshakes if one.asked_at is not None} == {HOME}
    refused = {one.problem for one in handshakes if one.asked_at is None}
    assert refused == {
        "not contacted: not a public address",
        "not contacted: not a port of the web",
        "its name was not asked for, or has no address",
    }


def test_allowed_is_allowed(listener: Listener) -> None:
    with ScriptedDns(answer) as dns:
        wanted = [LookupRequest("inside.test", (Endpoint("10.0.0.1", 443),))]
        handshakes = probe_live(wanted, policy(dns, allow_private=True), 60).handshakes
    assert listener.contacts == 1
    assert [(one.address, one.changed, one.certificate) for one in handshakes] == [("10.0.0.1", False, None)]


def test_what_servers_show(authority: Authority) -> None:
    home = authority.issue(["home.test", "other.test"])
    with addresses(HOME, MOVED), ScriptedDns(answer) as dns, FaultyServer(HOME, home), FaultyServer(MOVED, home):
        found = probe_live(
            [
                LookupRequest("home.test", (Endpoint(HOME, 443), Endpoint(MOVED, 443), Endpoint(None, 443))),
                LookupRequest("stranger.test", (Endpoint(HOME, 443),)),
                LookupRequest("names.only.test"),
            ],
            policy(dns),
            60,
        )
        assert dns.asked["home.test", "A"] == 1
    assert {query.source for query in found.queries} == {"live"}
    shown_by = {(one.host, one.recorded_address, one.address): one for one in found.handshakes}
    facts = {place: (one.recorded, one.changed, one.certificate is not None) for place, one in shown_by.items()}
    assert facts == {
        ("home.test", HOME, HOME): (True, False, True),
        ("home.test", MOVED, MOVED): (True, True, True),
        ("home.test", MOVED, HOME): (False, True, True),
        ("home.test", None, HOME): (False, None, True),
        ("stranger.test", HOME, HOME): (True, None, False),
    }
    shown = shown_by["home.test", HOME, HOME]
    assert (shown.protocol, shown.tls_version) == ("h2", "TLS 1.3")
    # A certificate counts only of a server that proves to be the host's.
    assert "not trusted" in str(shown_by["stranger.test", HOME, HOME].problem)


def test_no_more_than_allowed_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []

    async def wait(seconds: float) -> None:
        waits.append(round(seconds, 1))

    monkeypatch.setattr(module.asyncio, "sleep", wait)
    monkeypatch.setattr(module.time, "monotonic", lambda: 100.0)
    slow = LookupPolicy(None, 2.0)
    for _ in range(4):
        module.asyncio.run(slow.wait_turn())
    assert waits == [0.0, 0.5, 1.0, 1.5]


@pytest.mark.promise("live-ends")
def test_a_silent_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TIMEOUT_S", 0.2)
    with addresses(HOME), closing(socket.create_server((HOME, 443))):
        [one] = probe_live([LookupRequest("home.test", (Endpoint(HOME, 443),))], LookupPolicy(None, 50), 60).handshakes
    assert one.problem == "no handshake in time"


@pytest.mark.promise("live-ends")
@pytest.mark.timeout(60)
def test_the_deadline_holds_whatever_a_recording_leads_to() -> None:
    many = tuple(Endpoint(f"104.20.{number // 250}.{number % 250}", 443) for number in range(1000))
    wanted = [LookupRequest("one.test", (Endpoint("104.21.0.1", 22),)), LookupRequest("home.test", many)]
    found = probe_live(wanted, LookupPolicy(None, 0.5), 0.3)
    assert found.unfinished == {"home.test"}
    assert {one.host for one in found.handshakes} == {"one.test"}, "of whole hosts only"


@pytest.mark.promise("live-ends")
@pytest.mark.timeout(60)
def test_the_deadline_holds_whatever_the_resolver_does() -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as silent:
        silent.bind(("127.0.0.1", 0))
        resolver = Resolver("127.0.0.1", silent.getsockname()[1])
        found = probe_live([LookupRequest("a.test"), LookupRequest("b.test")], LookupPolicy(resolver, 50), 0.3)
    assert (found.queries, found.handshakes, found.unfinished) == ([], [], {"a.test", "b.test"})


@pytest.mark.usefixtures("authority")
def test_a_file_of_authorities_is_trusted_instead_of_the_system_s(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    (trusted,) = LookupPolicy(None, 50, ca_file=other.root).tls_context().get_ca_certs(binary_form=True)
    assert trusted == ssl.PEM_cert_to_DER_cert(other.root.read_text())
