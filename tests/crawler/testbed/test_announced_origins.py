"""ORIGIN frames as they leave the testbed's servers, read off the wire: odd, several, late, and Node's."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Self

import dns.message
import dns.query
import dns.rcode
import h2.config
import h2.connection
import h2.events
import pytest
from healthy_testbed import healthy_testbed

from originset.crawler.probe import origin_frame
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.servers import page_bodies
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import InputError

pytestmark = pytest.mark.testbed

SCENARIO = """
dns = "192.0.2.57"
[certificate.all]
names = ["*.odd.test", "*.late.test", "*.node.test"]

[host."www.odd.test"]
addresses = ["104.23.0.1"]
certificate = "all"
origin_set = ["https://www.odd.test"]
origin_verbatim = ["", "garbage", "HTTPS://STATIC.ODD.TEST/"]
origin_added = ["https://more.odd.test"]
[host."static.odd.test"]
addresses = ["104.23.0.2"]
certificate = "all"
[host."other.odd.test"]
addresses = ["104.23.0.2"]
certificate = "all"
[host."more.odd.test"]
addresses = ["104.23.0.2"]
certificate = "all"
unknown = true

[host."www.late.test"]
addresses = ["104.23.0.3"]
certificate = "all"
origin_set = ["https://www.late.test"]
origin_delay_ms = 300

[host."www.node.test"]
addresses = ["104.23.0.4"]
certificate = "all"
implementation = "node"
origin_set = ["https://www.node.test", "https://static.node.test"]
origin_verbatim = ["https://*.node.test"]
delay_ms = 10
[host."static.node.test"]
addresses = ["104.23.0.5"]
certificate = "all"
implementation = "node"
[host."own.node.test"]
addresses = ["104.23.0.4"]
certificate = "all"
implementation = "node"
own_connection = true

[site."www.odd.test"]
loads = [
  { image = "https://static.odd.test/a.svg" },
  { image = "https://other.odd.test/a.svg" },
  { image = "https://more.odd.test/a.svg" },
]
[site."www.late.test"]
loads = []
[site."www.node.test"]
loads = [
  { script = "https://static.node.test/a.js", loads = [{ fetch = "https://own.node.test/a.json" }] },
]
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with healthy_testbed(scenario_file.parse(SCENARIO), tmp_path_factory.mktemp("promises") / "lab") as running:
        yield running


class Client:
    """An HTTP/2 client of one connection; ``frames`` are the payloads of ORIGIN frames with the time of each."""

    def __init__(self, lab: Testbed, name: str) -> None:
        how = ssl.create_default_context(cafile=lab.authority.root)
        how.set_alpn_protocols(["h2"])
        address = lab.scenario.hosts[name].addresses[0]
        self.socket = how.wrap_socket(socket.create_connection((address, 443), 5), server_hostname=name)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.socket.sendall(self.h2.data_to_send())
        self.frames: list[bytes] = []
        self.events: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def get(self, url: str, **headers: str) -> tuple[dict[str, str], bytes]:
        host, _, path = url.removeprefix("https://").partition("/")
        stream = self.h2.get_next_available_stream_id()
        fields = {":method": "GET", ":scheme": "https", ":authority": host, ":path": f"/{path}", **headers}
        self.h2.send_headers(stream, list(fields.items()), end_stream=True)
        got: dict[str, str] = {}
        body = b""
        while True:
            for event in self.read():
                if isinstance(event, h2.events.ResponseReceived):
                    got = dict(event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                elif isinstance(event, h2.events.StreamEnded) and event.stream_id == stream:
                    return got, body

    def read(self) -> list[h2.events.Event]:
        self.socket.sendall(self.h2.data_to_send())
        events = self.h2.receive_data(self.socket.recv(65_536))
        for event in events:
            self.events.append(type(event).__name__)
            if isinstance(event, h2.events.UnknownFrameReceived) and event.frame.type == origin_frame.TYPE:
                self.frames.append(event.frame.body)
        return events


def test_odd_entries_and_a_second_frame_go_out_as_written(lab: Testbed) -> None:
    with Client(lab, "www.odd.test") as client:
        client.get("https://www.odd.test/")
    first, second = client.frames
    entries = [b"https://www.odd.test", b"", b"garbage", b"HTTPS://STATIC.ODD.TEST/"]
    assert first == origin_frame.pack(entries)
    assert origin_frame.decode(first) == ["https://www.odd.test"], "the rest are no origins"
    assert origin_frame.decode(second) == ["https://more.odd.test"]
    assert client.events.index("UnknownFrameReceived") < client.events.index("ResponseReceived")
    (handshake,) = [one for one in lab.handshakes() if one.server_name == "www.odd.test"][-1:]
    assert handshake.origins == [one.decode() for one in entries] + ["https://more.odd.test"]


def test_what_was_promised_is_answered_however_it_was_written(lab: Testbed) -> None:
    with Client(lab, "www.odd.test") as client:
        statuses = [client.get(f"https://{name}.odd.test/a.svg")[0][":status"] for name in ("static", "more", "other")]
    assert statuses == ["200", "200", "421"]


def test_a_late_frame_comes_after_the_answer(lab: Testbed) -> None:
    with Client(lab, "www.late.test") as client:
        started = time.monotonic()
        assert client.get("https://www.late.test/")[0][":status"] == "200"
        answered = list(client.frames)
        while not client.frames:
            client.read()
        waited = time.monotonic() - started
    assert answered == []
    assert client.frames == [origin_frame.encode_payload(["https://www.late.test"])]
    assert waited >= 0.25, "no machine is too slow for this"


def test_a_client_that_leaves_before_the_late_frame_does_no_harm(lab: Testbed) -> None:
    with Client(lab, "www.late.test") as client:
        client.get("https://www.late.test/")
    time.sleep(0.4)
    assert lab.handshakes()[-1].server_name == "www.late.test"


def test_node_sends_the_same_frame_and_the_same_bodies(lab: Testbed) -> None:
    before = len(lab.requests())
    with Client(lab, "www.node.test") as client:
        page = client.get("https://www.node.test/")
        script = client.get("https://static.node.test/a.js", origin="https://www.node.test", cookie="a=1; b=2")
        refused = client.get("https://own.node.test/a.json")
        unknown = client.get("https://www.node.test/none")
    (frame,) = client.frames
    assert frame == origin_frame.pack([b"https://www.node.test", b"https://static.node.test", b"https://*.node.test"])
    assert client.events.index("RemoteSettingsChanged") < client.events.index("UnknownFrameReceived")
    assert page[0][":status"] == "200"
    assert b"https://static.node.test/a.js" in page[1]
    assert script[0]["access-control-allow-origin"] == "https://www.node.test"
    assert b"own.node.test" in script[1]
    assert (refused[0][":status"], unknown[0][":status"]) == ("421", "404")
    requests = lab.requests()[before:]
    assert [(one.host, one.path, one.status) for one in requests] == [
        ("www.node.test", "/", 200),
        ("static.node.test", "/a.js", 200),
        ("own.node.test", "/a.json", 421),
        ("www.node.test", "/none", 404),
    ]
    assert requests[1].cookies == ["a", "b"]
    handshake = next(one for one in lab.handshakes() if one.connection == requests[0].connection)
    assert (handshake.server, handshake.server_name, handshake.alpn) == ("104.23.0.4", "www.node.test", "h2")
    assert handshake.origins == ["https://www.node.test", "https://static.node.test", "https://*.node.test"]


def test_a_name_that_dns_denies_has_its_server(lab: Testbed) -> None:
    query = dns.message.make_query("more.odd.test", "A")
    answer = dns.query.udp(query, lab.scenario.dns_address, timeout=5)
    assert answer.rcode() == dns.rcode.NXDOMAIN
    client = http.client.HTTPConnection("more.odd.test")
    how = ssl.create_default_context(cafile=lab.authority.root)
    client.sock = how.wrap_socket(socket.create_connection(("104.23.0.2", 443), 5), server_hostname="more.odd.test")
    client.request("GET", "/a.svg")
    assert client.getresponse().status == 200
    client.close()


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        ('origin_verbatim = ["x"]', "has no origin_set"),
        ('origin_set = []\norigin_verbatim = ["\\u0000"]', "is not of the form"),
        ('implementation = "node"\nredirect = "https://www.a.test/"', "Node's server has none of"),
        ('implementation = "nginx"', "nginx"),
    ],
)
def test_what_cannot_be_sent_is_refused(host: str, problem: str) -> None:
    text = f"""
        [certificate.a]
        names = ["www.a.test"]
        [host."www.a.test"]
        addresses = ["104.23.0.9"]
        certificate = "a"
        {host}
    """
    with pytest.raises(InputError, match=problem):
        scenario_file.parse(text)


def test_one_address_has_one_implementation() -> None:
    text = SCENARIO.replace('addresses = ["104.23.0.5"]', 'addresses = ["104.23.0.1"]')
    with pytest.raises(InputError, match="not all of one implementation"):
        scenario_file.parse(text)


SIZES = """
    [certificate.a]
    names = ["www.a.test"]
    [host."www.a.test"]
    addresses = ["104.23.0.9"]
    certificate = "a"
    [site."www.a.test"]
    bytes = 5000
    loads = [
      {{ style = "https://www.a.test/a.css", bytes = 1000 }},
      {{ image = "https://www.a.test/a.png", bytes = 1 }},
      {{ {load} }},
    ]
"""


@pytest.mark.parametrize("kind", ["script", "image", "font", "fetch", "xhr", "iframe"])
def test_bodies_are_as_long_as_is_said(kind: str) -> None:
    scenario = scenario_file.parse(SIZES.format(load=f'{kind} = "https://www.a.test/x", bytes = 3000, wait_ms = 5'))
    (page,) = scenario.pages
    style, image, other = page.loads
    assert [len(page_bodies.resource_body(one).content) for one in (page, style, other)] == [5000, 1000, 3000]
    assert len(page_bodies.resource_body(image).content) > 1, "a body that is longer stays whole"
    assert other.wait_ms == 5
    bare = page_bodies.resource_body(replace(other, bytes=0)).content
    assert page_bodies.resource_body(other).content.startswith(bare)
    filling = page_bodies.resource_body(other).content.removeprefix(bare)
    assert re.fullmatch(rb"<!-- +-->" if kind == "iframe" else rb"\n+", filling)


@pytest.mark.parametrize(
    ("load", "problem"),
    [
        ('websocket = "wss://www.a.test/x", bytes = 9', "bytes does not go with websocket"),
        ('image = "https://www.a.test/x", bytes = -1', "is not between"),
        ('image = "https://www.a.test/x", bytes = 1e9', "bytes"),
    ],
)
def test_sizes_that_no_body_has_are_refused(load: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        scenario_file.parse(SIZES.format(load=load))
