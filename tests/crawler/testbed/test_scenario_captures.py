"""The scenario of captures, asked by other implementations than browsers: DNS packets, TLS, WebSockets, HTTP/1.1."""

from __future__ import annotations

import contextlib
import http.client
import ssl
from collections.abc import Iterator

import dns.message
import dns.query
import dns.rdata
import dns.rdatatype
import dns.rdtypes.svcbbase
import pytest
import websockets.sync.client

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.servers.responses import UNANSWERED
from originset.crawler.testbed.testbed import Testbed
from originset.data.scenario.entries import KINDS

pytestmark = pytest.mark.testbed


def ask(testbed: Testbed, name: str, rtype: str) -> list[dns.rdata.Rdata]:
    query = dns.message.make_query(name, rtype)
    answer = dns.query.udp(query, testbed.scenario.dns_address, timeout=5, source="198.18.0.1")
    return [record for rrset in answer.answer for record in rrset]


def context(testbed: Testbed) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=testbed.authority.root)


@contextlib.contextmanager
def client(testbed: Testbed, host: str) -> Iterator[http.client.HTTPSConnection]:
    connection = http.client.HTTPSConnection(host, timeout=5, context=context(testbed))
    try:
        yield connection
    finally:
        connection.close()


def get(testbed: Testbed, host: str, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    with client(testbed, host) as connection:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def test_every_kind_is_on_some_page() -> None:
    scenario = scenario_file.built_in("captures")
    small = scenario_file.built_in()
    assert {one.kind for pages in (scenario.pages, small.pages) for page in pages for one in page.walk()} == {
        "page",
        *KINDS,
    }
    assert not set(scenario.addresses) & set(small.addresses), "they can be up together"


def test_https_records(captures: Testbed) -> None:
    (record,) = ask(captures, "found.test", "HTTPS")
    assert isinstance(record, dns.rdtypes.svcbbase.SVCBBase)
    assert (record.priority, record.target.to_text()) == (1, ".")
    alpn, port = (
        record.params[key] for key in (dns.rdtypes.svcbbase.ParamKey.ALPN, dns.rdtypes.svcbbase.ParamKey.PORT)
    )
    assert (alpn.to_text(), port.to_text()) == ('"h3,h2"', '"443"')
    (record,) = ask(captures, "far.found.test", "HTTPS")
    assert isinstance(record, dns.rdtypes.svcbbase.SVCBBase)
    assert set(record.params) == {dns.rdtypes.svcbbase.ParamKey.ALPN}
    assert ask(captures, "http3.test", "HTTPS") == []


def test_a_chain_of_aliases(captures: Testbed) -> None:
    assert [record.to_text() for record in ask(captures, "alias.test", "A")] == [
        "balancer.test.",
        "edge.test.",
        "104.18.6.2",
    ]


def test_a_websocket_sends_messages_back(captures: Testbed) -> None:
    before, requests = len(captures.messages()), len(captures.requests())
    with websockets.sync.client.connect("wss://chat.socket.test/room", ssl=context(captures), proxy=None) as socket:
        socket.send("héllo")
        assert socket.recv(5) == "héllo"
        socket.send(b"\0\1\2")
        assert socket.recv(5) == b"\0\1\2"
    assert [one.length for one in captures.messages()[before:]] == [5, 3]
    (request,) = captures.requests()[requests:]
    assert (request.protocol, request.path, request.status) == ("websocket", "/room", 101)
    assert {one.connection for one in captures.messages()[before:]} == {request.connection}


def test_only_a_websocket_becomes_one(captures: Testbed) -> None:
    with (
        pytest.raises(websockets.exceptions.InvalidStatus, match="404"),
        websockets.sync.client.connect("wss://chat.socket.test/other", ssl=context(captures), proxy=None),
    ):
        pytest.fail("there is none")


def test_what_a_host_says_with_every_answer(captures: Testbed) -> None:
    for path, status in (("/", 200), ("/none", 404)):
        got, headers, _ = get(captures, "strict.test", path)
        assert got == status
        assert headers["alt-svc"] == 'h3=":443"; ma=86400'
        assert headers["strict-transport-security"] == "max-age=86400"
        assert headers["set-cookie"].startswith("first=1;")
    plain = http.client.HTTPConnection("strict.test", timeout=5)
    plain.request("GET", "/")
    headers = plain.getresponse().headers
    plain.close()
    assert not {"alt-svc", "strict-transport-security", "set-cookie"} & {name.lower() for name in headers}


def test_cookies_are_logged_by_name(captures: Testbed) -> None:
    get(captures, "strict.test", "/", Cookie="sid=secret; theme=dark=er")
    assert captures.requests()[-1].cookies == ["sid", "theme"]
    assert "secret" not in (captures.folder / "logs" / "requests.jsonl").read_text()


def test_statuses_and_downloads(captures: Testbed) -> None:
    status, headers, body = get(captures, "statuses.test", "/nothing.json")
    assert (status, body) == (204, b"")
    assert "content-length" not in headers
    assert get(captures, "statuses.test", "/missing.png")[0] == 404
    assert get(captures, "download.test", "/archive.bin")[1]["content-disposition"] == "attachment"


def test_what_hangs_is_never_answered(captures: Testbed) -> None:
    with client(captures, "hangs.test") as connection:
        connection.request("GET", "/never.png")
        connection.sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.getresponse()
    assert (captures.requests()[-1].path, captures.requests()[-1].status) == ("/never.png", UNANSWERED)


def test_an_address_has_a_certificate(captures: Testbed) -> None:
    assert get(captures, "104.18.6.9", "/1.png")[0] == 200
    assert captures.handshakes()[-1].server_name is None
