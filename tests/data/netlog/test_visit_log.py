"""A recorded NetLog (Chromium 156, a page that redirects once), cut down to the sources that the tests speak of."""

from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from originset.data.netlog import visit_log
from originset.data.netlog.events import Event, Parser
from originset.data.netlog.sockets import endpoint, pem_to_der
from originset.data.netlog.visit_log import VisitLog, read_visit

RECORDED = Path(__file__).parent / "recorded"
LINES = (RECORDED / "netlog.json").read_bytes().splitlines()
MAIN_FRAME = {"https://site.test/", "https://www.site.test/"}


def events_of(lines: list[bytes]) -> tuple[Parser, list[Event]]:
    parser = Parser(visit_log.EVENT_NAMES)
    return parser, [event for line in lines if (event := parser.event(line)) is not None]


@pytest.fixture(scope="module")
def log() -> VisitLog:
    parser, events = events_of(LINES)
    assert parser.constants is not None
    return read_visit(events, parser.constants, MAIN_FRAME, frozenset())


def test_connections(log: VisitLog) -> None:
    first, spare, other = log.sockets.values()
    assert (first.host, first.remote, first.local_port) == ("site.test", ("104.16.1.10", 443), 51388)
    assert (first.tls, first.tls_version, first.protocol, first.resumed, first.ech) == (
        True,
        "TLS 1.3",
        "h2",
        False,
        False,
    )
    assert (first.partition_key, first.privacy_mode) == ("https://site.test same_site", "disabled")
    assert first.used
    assert spare.host == "site.test"
    assert spare.tls
    assert not spare.used, "opened by the way, closed for the session of the first"
    assert (other.host, other.protocol, other.used) == ("tracker.third.test", "http/1.1", True)
    for socket in (first, spare, other):
        assert socket.opened is not None
        assert socket.established is not None
        assert socket.closed is not None
        assert socket.opened <= socket.established <= socket.closed


def test_chain_is_as_sent(log: VisitLog) -> None:
    first = next(iter(log.sockets.values()))
    assert first.chain is not None
    leaf, issuer = (x509.load_der_x509_certificate(der) for der in first.chain)
    leaf.verify_directly_issued_by(issuer)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "www.site.test" in names.get_values_for_type(x509.DNSName)


def test_requests_know_their_connection(log: VisitLog) -> None:
    first, _, other = log.sockets
    sent = {request.url: request.socket for request in log.requests}
    assert sent["https://site.test/"] == first
    assert sent["https://www.site.test/"] == first, "the redirect went on over the same session"
    assert sent["https://tracker.third.test/p.png"] == other


def test_lookups(log: VisitLog) -> None:
    lookups = {lookup.host: lookup for lookup in log.lookups}
    assert set(lookups) == {"site.test", "tracker.third.test", "nx.nowhere.test"}, (
        "the browser's own are not the page's"
    )
    plain = lookups["site.test"].queries
    assert {rtype: (query.status, query.answers, query.attempts) for rtype, query in plain.items()} == {
        "A": ("NOERROR", ["104.16.1.10"], 1),
        "AAAA": ("NODATA", [], 1),
        "HTTPS": ("NODATA", [], 1),
    }
    assert plain["A"].ttl == 60
    alias = lookups["tracker.third.test"].queries["A"]
    assert (alias.aliases, alias.answers, alias.ttl) == (["edge.third.test"], ["23.0.0.9"], 60)


def test_system_resolver_counts_as_queries(log: VisitLog) -> None:
    failed = next(lookup for lookup in log.lookups if lookup.host == "nx.nowhere.test")
    assert failed.error == "net::ERR_NAME_NOT_RESOLVED"
    assert failed.system
    assert {rtype: query.attempts for rtype, query in failed.queries.items()} == {"A": 2, "AAAA": 2, "HTTPS": 1}
    assert {query.status for query in failed.queries.values()} == {"NXDOMAIN"}


def test_other_top_level_sites_are_not_the_visits(log: VisitLog) -> None:
    parser, events = events_of(LINES)
    assert parser.constants is not None
    assert log.top_sites == {"https://site.test"}
    nothing = read_visit(events, parser.constants, {"https://elsewhere.test/"}, frozenset())
    assert (nothing.sockets, nothing.lookups, nothing.requests) == ({}, [], [])
    named = next(iter(log.sockets))
    assert set(read_visit(events, parser.constants, set(), {named}).sockets) == {named}, "DevTools saw it in use"


def test_quic_sessions_are_connections() -> None:
    parser, events = events_of((RECORDED / "netlog_quic.json").read_bytes().splitlines())
    assert parser.constants is not None
    log = read_visit(events, parser.constants, {"https://www.site.test/"}, frozenset())
    www, static = log.sockets.values()
    assert (www.host, www.remote, static.host, static.remote) == (
        "www.site.test",
        ("2606:4700::1", 443),
        "static2.site.test",
        ("104.16.1.11", 443),
    )
    for session in (www, static):
        assert (session.protocol, session.tls, session.tls_version, session.used) == ("h3", True, "QUIC", True)
        assert session.local_port is not None
        assert session.origin_set == ["https://static.site.test", "https://www.site.test"]
        assert session.chain is not None
        leaf, issuer = (x509.load_der_x509_certificate(der) for der in session.chain)
        leaf.verify_directly_issued_by(issuer)
    # Coalesced by the ORIGIN frame: one session for both names.
    carried = {request.url: request.socket for request in log.requests}
    assert carried["https://static.site.test/a.css"] == carried["https://www.site.test/"] == www.id


@given(st.integers(0, len(LINES)), st.integers(0, 60))
def test_a_log_may_end_anywhere(lines: int, cut: int) -> None:
    whole = LINES[:lines]
    parser, events = events_of([*whole, LINES[lines][:cut]] if lines < len(LINES) else whole)
    if parser.constants is None:
        assert not events
        return
    log = read_visit(events, parser.constants, MAIN_FRAME, frozenset())
    assert all(socket.remote is None or socket.remote[1] == 443 for socket in log.sockets.values())


@pytest.mark.parametrize(
    ("params", "is_unread"),
    [
        (b'{"url":"\xff"}', True),
        (b'{"url":7,"headers":7}', False),  # read, with values that are not known
        (b"[" * 2_000 + b"]" * 2_000, True),
    ],
)
def test_an_event_that_chromium_would_not_write_costs_itself(params: bytes, is_unread: bool, log: VisitLog) -> None:
    parser, events = events_of(LINES)
    assert parser.constants is not None
    strange = [Event(9_000, "URL_REQUEST", name, 1, 0, msgspec.Raw(params)) for name in sorted(visit_log.EVENT_NAMES)]
    read = read_visit([*strange, *events, *strange], parser.constants, MAIN_FRAME, frozenset())
    assert (read.sockets, read.lookups, read.requests) == (log.sockets, log.lookups, log.requests)
    assert (bool(read.unread), log.unread) == (is_unread, 0)


@given(st.binary(max_size=200))
def test_lines_of_rubbish_are_no_events(line: bytes) -> None:
    parser, _ = events_of(LINES[:1])
    assert parser.event(line) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("104.16.1.10:443", ("104.16.1.10", 443)),
        ("[2606:4700:0:0::1]:443", ("2606:4700::1", 443)),
        ("[fe80::1%25eth0]:443", ("fe80::1", 443)),
        ("site.test:443", None),
        ("", None),
        (None, None),
    ],
)
def test_endpoint(text: str | None, expected: tuple[str, int] | None) -> None:
    assert endpoint(text) == expected


def test_pem_that_is_none() -> None:
    assert pem_to_der("-----BEGIN CERTIFICATE-----\nAAA\n-----END CERTIFICATE-----") == []
    assert pem_to_der("") == []


# 88 says that a request is the main frame's by a load flag alone. 131 does not say that a job that waited for another's
# session got it, until the session sends the job's headers.
@pytest.mark.parametrize("version", [88, 131])
def test_older_versions_say_it_otherwise(version: int) -> None:
    parser, events = events_of((RECORDED / f"netlog_chromium_{version}.json").read_bytes().splitlines())
    assert parser.constants is not None
    page, shared = "https://www.address-different.test/", "https://static.address-different.test/"
    log = read_visit(events, parser.constants, {page}, frozenset())
    assert [request.url for request in log.requests if request.main_frame] == [page]
    carried = {request.url: request.socket for request in log.requests}
    assert carried[page] == carried[f"{page}b.svg"]
    assert carried[f"{shared}a.css"] == carried[f"{shared}a.js"] == carried[f"{shared}a.svg"]
    assert None not in carried.values()
    assert len(set(carried.values())) == 2
