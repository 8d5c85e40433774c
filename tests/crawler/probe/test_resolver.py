"""A named resolver's answers: from one that this test scripts, packet by packet, and from the testbed's."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.probe import resolver as module
from originset.crawler.probe.resolver import RTYPES, Resolver, parse_resolver, query_names, query_visit_names
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.chromium_visit import visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import DnsQuery, Extension, Visit
from originset.data.errors import UsageError

pytestmark = pytest.mark.slow

ANSWERS = {
    ("plain.test", "A"): ["plain.test. 60 IN A 192.0.2.1", "plain.test. 60 IN A 192.0.2.2"],
    ("plain.test", "AAAA"): ["plain.test. 30 IN AAAA 2001:db8::1"],
    ("plain.test", "HTTPS"): ['plain.test. 90 IN HTTPS 1 . alpn="h3,h2" ipv4hint=192.0.2.1'],
    # As some servers do: the way through the aliases backwards, in capitals.
    ("alias.test", "A"): [
        "Edge.CDN.test. 5 IN A 192.0.2.3",
        "middle.test. 300 IN CNAME Edge.CDN.test.",
        "alias.test. 600 IN CNAME Middle.test.",
    ],
    ("alias.test", "CNAME"): ["alias.test. 600 IN CNAME middle.test."],
}
RCODES = {"gone.test": dns.rcode.NXDOMAIN, "broken.test": dns.rcode.SERVFAIL, "no.test": dns.rcode.REFUSED}


class Script(threading.Thread):
    """A DNS server on loopback: says what ``ANSWERS`` has, and misbehaves for names that say so."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.asked: Counter[tuple[str, str]] = Counter()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.tcp = socket.create_server(self.udp.getsockname())
        threading.Thread(target=self._long_answers, daemon=True).start()

    def run(self) -> None:
        while True:
            try:
                wire, client = self.udp.recvfrom(4096)
            except OSError:
                return
            query = dns.message.from_wire(wire)
            name = query.question[0].name.to_text(omit_final_dot=True)
            rtype = query.question[0].rdtype.name
            self.asked[name, rtype] += 1
            if name == "silent.test" or (name == "lossy.test" and self.asked[name, rtype] == 1):
                continue
            self.udp.sendto(b"\x00" if name == "garbage.test" else self._reply(query, name).to_wire(), client)

    def _reply(self, query: dns.message.Message, name: str) -> dns.message.Message:
        reply = dns.message.make_response(query)
        reply.set_rcode(RCODES.get(name, dns.rcode.NOERROR))
        for record in ANSWERS.get((name, query.question[0].rdtype.name), ()):
            owner, ttl, _, rtype, value = record.split(" ", 4)
            reply.answer.append(dns.rrset.from_text(owner, int(ttl), "IN", rtype, value))
        if name == "long.test":
            reply.flags |= dns.flags.TC
        return reply

    def _long_answers(self) -> None:
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with connection:
                length = int.from_bytes(connection.recv(2))
                query = dns.message.from_wire(connection.recv(length))
                reply = dns.message.make_response(query)
                if query.question[0].rdtype.name == "A":
                    many = [f"192.0.2.{number}" for number in range(1, 201)]
                    reply.answer.append(dns.rrset.from_text("long.test.", 60, "IN", "A", *many))
                wire = reply.to_wire(max_size=65535)
                connection.sendall(len(wire).to_bytes(2) + wire)


@pytest.fixture
def script() -> Iterator[Script]:
    server = Script()
    with closing(server.udp), closing(server.tcp):
        server.start()
        yield server
        server.tcp.shutdown(socket.SHUT_RDWR)  # which wakes who waits for it


def answers(script: Script, *hosts: str) -> dict[tuple[str, str], DnsQuery]:
    resolver = Resolver("127.0.0.1", script.udp.getsockname()[1])
    found = asyncio.run(query_names(resolver, hosts))
    assert {one.resolver for one in found} == {f"127.0.0.1:{resolver.port}"}
    assert {one.source for one in found} == {"resolver"}
    return {(one.host, one.rtype): one for one in found}


def test_answers_with_their_ttls(script: Script) -> None:
    found = answers(script, "plain.test")
    assert {rtype: (one.status, one.answers, one.ttl) for (_, rtype), one in found.items()} == {
        "A": ("NOERROR", ["192.0.2.1", "192.0.2.2"], 60),
        "AAAA": ("NOERROR", ["2001:db8::1"], 30),
        "CNAME": ("NODATA", [], None),
        "HTTPS": ("NOERROR", ["1 . alpn=h3,h2 ipv4hint=192.0.2.1"], 90),
    }
    assert {one.attempts for one in found.values()} == {1}
    assert all(one.took_ms is not None and one.took_ms > 0 for one in found.values())
    assert {one.lookup_id for one in found.values()} == {1}


def test_the_way_through_aliases(script: Script) -> None:
    found = answers(script, "alias.test")
    address = found["alias.test", "A"]
    assert (address.answers, address.cname_chain) == (["192.0.2.3"], ["middle.test", "edge.cdn.test"])
    assert address.ttl == 5, "an answer is good for as long as the shortest of its parts"
    alias = found["alias.test", "CNAME"]
    assert (alias.answers, alias.cname_chain, alias.ttl) == (["middle.test"], [], 600)


@pytest.mark.parametrize(
    ("host", "status"), [("gone.test", "NXDOMAIN"), ("broken.test", "SERVFAIL"), ("no.test", "REFUSED")]
)
def test_refusals_are_statuses(script: Script, host: str, status: str) -> None:
    found = answers(script, host)
    assert {(one.status, *one.answers, one.ttl) for one in found.values()} == {(status, None)}


def test_what_is_lost_is_asked_again_and_silence_is_a_status(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AGAIN_S", 0.1)
    monkeypatch.setattr(module, "_TIMEOUT_S", 0.6)
    silent = answers(script, "silent.test")
    assert {(one.status, one.attempts) for one in silent.values()} == {("TIMEOUT", 2)}
    assert {script.asked["silent.test", rtype] for rtype in RTYPES} == {2}
    monkeypatch.setattr(module, "_TIMEOUT_S", 5.0)
    lossy = answers(script, "lossy.test")
    assert {(one.status, one.attempts) for one in lossy.values()} == {("NODATA", 2)}


def test_what_is_no_answer(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TIMEOUT_S", 0.6)
    garbage = answers(script, "garbage.test")
    assert {one.status for one in garbage.values()} <= {"MALFORMED", "TIMEOUT"}
    assert not any(one.answers for one in garbage.values())
    label = "x" * 64
    assert {one.status for one in answers(script, f"{label}.test").values()} == {"MALFORMED"}


def test_a_long_answer_comes_over_tcp(script: Script) -> None:
    found = answers(script, "long.test")["long.test", "A"]
    assert (found.status, len(found.answers), found.attempts) == ("NOERROR", 200, 2)


def test_nobody_there() -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    found = asyncio.run(query_names(Resolver("127.0.0.1", port), ["plain.test"]))
    assert {one.status for one in found} <= {"UNREACHABLE", "TIMEOUT"}
    assert all(one.answers == [] and one.ttl is None for one in found)


def test_only_names_of_others_are_asked_for(script: Script) -> None:
    har_log = {
        "entries": [
            {"request": {"url": url}}
            for url in ("https://plain.test/a", "http://127.0.0.1/", "https://[::1]/", "http://localhost:8/", "data:,x")
        ]
    }
    seen = Visit(visit_id="0", site="plain.test", url="", started_at="2026-01-01T00:00:00.000000Z", status="ok")
    extension = Extension(visit=seen, dns=[DnsQuery(lookup_id=77, host="alias.test", rtype="A")])
    query_visit_names(Resolver("127.0.0.1", script.udp.getsockname()[1]), har_log, extension)
    assert {name for name, _ in script.asked} == {"plain.test", "alias.test"}
    asked = extension.dns[1:]
    assert len(asked) == 2 * len(RTYPES)
    assert {one.lookup_id for one in asked} == {78, 79}, "no number of the browser's own"


@pytest.mark.promise("crawls-stay-public")
def test_names_of_one_network_are_asked_of_nobody(script: Script) -> None:
    """RFC 6761, RFC 6762, RFC 8375 and what ICANN keeps from being delegated: no public server answers for them."""
    hosts = ["a.corp", "nas.lan", "x.home", "m.internal", "p.local", "h.onion", "r.home.arpa", "w.invalid", "intranet",
             "b.localhost", "c.example", "plain.test", "d.mail"]  # fmt: skip
    har_log = {"entries": [{"request": {"url": f"https://{host}/"}} for host in (*hosts, "plain.test")]}
    seen = Visit(visit_id="0", site="plain.test", url="", started_at="2026-01-01T00:00:00.000000Z", status="ok")
    place = "127.0.0.1", script.udp.getsockname()[1]
    query_visit_names(Resolver(*place, named=False), har_log, Extension(visit=seen))
    assert not script.asked, "nor the names of tests, of a resolver that nobody named"
    query_visit_names(Resolver(*place), har_log, Extension(visit=seen))
    assert {name for name, _ in script.asked} == {"plain.test"}
    query_visit_names(Resolver(*place), har_log, Extension(visit=seen), allow_private=True)
    assert {name for name, _ in script.asked} == set(hosts)


@pytest.mark.testbed
@pytest.mark.browser
def test_beside_a_visit(captures: Testbed) -> None:
    settings = VisitSettings(timeout_s=20, quiet_s=0.3, environment=captures.environment)
    before = len(captures.dns_queries(beside=True))
    with Chromium(settings) as chromium:
        har_log, extension = visit(chromium, VisitRequest("0123456789abcdef", "alias.test", "https://alias.test/"))
    browser = list(extension.dns)
    query_visit_names(captures.resolver, har_log, extension)
    beside = extension.dns[len(browser) :]
    logged = captures.dns_queries(beside=True)[before:]
    assert Counter((one.name, one.rtype) for one in logged) == Counter((one.host, one.rtype) for one in beside)
    own = {(one.host, one.rtype): (one.answers, one.cname_chain) for one in browser if one.answers}
    assert own == {
        (one.host, one.rtype): (one.answers, one.cname_chain)
        for one in beside
        if one.answers and one.rtype in {"A", "AAAA", "HTTPS"}
    }
    # After the visit, on its clock.
    ended = max((one.asked_ms or 0) + (one.took_ms or 0) for one in browser)
    assert all(one.asked_ms is not None and one.asked_ms > ended for one in beside)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("192.0.2.53", "192.0.2.53"),
        ("192.0.2.53:5353", "192.0.2.53:5353"),
        ("2001:db8::53", "2001:db8::53"),
        ("[2001:db8::53]:5353", "[2001:db8::53]:5353"),
    ],
)
def test_how_it_is_named(text: str, name: str) -> None:
    resolver = parse_resolver(text)
    assert resolver is not None
    assert resolver.name == name


def test_none_and_nonsense() -> None:
    assert parse_resolver("none") is None
    for text in ("", "resolver.test", "192.0.2.53:0", "192.0.2.53:65536", "192.0.2.53:x", "2001:db8::53]:53x"):
        with pytest.raises(UsageError):
            parse_resolver(text)
