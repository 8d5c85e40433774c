"""The testbed's web servers, asked by other implementations: Python's ssl and http.client, and h2 as a client."""

import http.client
import socket
import ssl

import h2.config
import h2.connection
import h2.events
import h2.settings
import pytest

from originset.crawler.testbed.testbed import Testbed

pytestmark = pytest.mark.testbed


def context(testbed: Testbed, *alpn: str) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=testbed.authority.root)
    made.set_alpn_protocols(alpn)
    return made


def connect(address: str, name: str, how: ssl.SSLContext, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
    return how.wrap_socket(socket.create_connection((address, 443), 5), server_hostname=name, session=session)


def fetch(
    testbed: Testbed, address: str, server_name: str, url: str, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """One HTTP/1.1 request over a connection to ``address`` that was opened for ``server_name``."""
    host, _, path = url.removeprefix("https://").partition("/")
    client = http.client.HTTPConnection(host)
    client.sock = connect(address, server_name, context(testbed, "http/1.1"))
    try:
        client.request("GET", f"/{path}", headers=headers)
        response = client.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        client.close()


def test_a_handshake_is_logged_with_what_the_client_knows(testbed: Testbed) -> None:
    before = len(testbed.handshakes())
    how = context(testbed, "h2", "http/1.1")
    with connect("104.16.1.10", "static.daily.test", how) as client:
        port = client.getsockname()[1]
        assert client.selected_alpn_protocol() == "h2"
    with connect("52.84.1.1", "tags.adnet.test", how) as client:
        assert client.selected_alpn_protocol() == "http/1.1"
    first, second = testbed.handshakes()[before:]
    assert (first.server, first.client_port, first.server_name) == ("104.16.1.10", port, "static.daily.test")
    assert (first.alpn, first.resumed, first.tls_version) == ("h2", False, "TLSv1.3")
    assert (second.server_name, second.alpn) == ("tags.adnet.test", "http/1.1")
    assert second.connection > first.connection


def test_a_resumed_session_is_told_from_a_full_handshake(testbed: Testbed) -> None:
    how = context(testbed, "http/1.1")
    with connect("104.17.2.20", "img.daily.test", how) as client:
        client.sendall(b"HEAD / HTTP/1.1\r\nhost: img.daily.test\r\n\r\n")
        client.recv(100)  # TLS 1.3 tickets come after the handshake
        session = client.session
    with connect("104.17.2.20", "img.daily.test", how, session) as client:
        assert client.session_reused
    assert [one.resumed for one in testbed.handshakes()[-2:]] == [False, True]


def test_a_client_without_trust_completes_no_handshake(testbed: Testbed) -> None:
    before = len(testbed.handshakes())
    with pytest.raises(ssl.SSLCertVerificationError, match=r"self-signed|unable to get"):
        connect("151.101.1.10", "shop.test", ssl.create_default_context())
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        connect("46.4.1.2", "expired.test", context(testbed, "h2"))
    with pytest.raises(ConnectionRefusedError):
        connect("46.4.1.1", "refused.test", context(testbed, "h2"))
    assert len(testbed.handshakes()) == before


def test_the_chain_is_leaf_and_intermediate(testbed: Testbed) -> None:
    with connect("151.101.1.10", "shop.test", context(testbed, "h2")) as client:
        sent = client._sslobj.get_unverified_chain()
    subjects = [dict(part[0] for part in one.get_info()["subject"])["commonName"] for one in sent]
    assert subjects[:2] == ["shop.test", "originset testbed intermediate"]


def test_every_resource_is_there_and_can_be_shared(testbed: Testbed) -> None:
    failed = {"expired.test"}
    asked = 0
    for (host, path), resource in testbed.scenario.served.items():
        if host in failed or host not in testbed.scenario.hosts:
            continue
        status, headers, body = fetch(
            testbed, testbed.scenario.hosts[host].addresses[0], host, f"https://{host}{path}", Origin="https://x.test"
        )
        assert status == 200, resource.url
        assert len(body) == int(headers["content-length"])
        assert headers["access-control-allow-origin"] == "https://x.test"
        assert all(child.url.encode() in body for child in resource.loads)
        asked += 1
    assert asked > 60
    assert [one.status for one in testbed.requests()[-asked:]] == [200] * asked


@pytest.mark.parametrize(
    ("address", "server_name", "url", "status"),
    [
        ("88.198.1.10", "anna.test", "https://anna.test/me.png", 200),
        ("88.198.1.10", "anna.test", "https://bert.test/badge.svg", 421),  # a stranger
        ("51.68.1.20", "dora.hosting.test", "https://carla.hosting.test/friend.png", 421),  # address and name would do
        ("51.68.1.20", "carla.hosting.test", "https://carla.hosting.test/friend.png", 200),
        ("104.16.1.10", "www.daily.test", "https://static.daily.test/main.css", 200),  # a shard
        ("104.16.1.10", "www.daily.test", "https://img.daily.test/1.png", 421),  # another address's
        ("151.101.65.20", "www.gazette.example", "https://media.gazette.example/main.css", 200),  # promised by ORIGIN
        ("104.16.1.10", "www.daily.test", "https://nobody.test/", 421),
        ("104.16.1.10", "www.daily.test", "https://www.daily.test/absent", 404),
    ],
)
def test_who_answers_for_whom(testbed: Testbed, address: str, server_name: str, url: str, status: int) -> None:
    assert fetch(testbed, address, server_name, url)[0] == status
    assert testbed.requests()[-1].status == status


def test_redirects(testbed: Testbed) -> None:
    status, headers, _ = fetch(testbed, "104.16.1.10", "daily.test", "https://daily.test/")
    assert (status, headers["location"]) == (301, "https://www.daily.test/")
    client = http.client.HTTPConnection("shop.test", timeout=5)
    client.request("GET", "/basket.json")
    response = client.getresponse()
    assert (response.status, response.getheader("location")) == (301, "https://shop.test/basket.json")
    client.close()
    assert testbed.requests()[-1].scheme == "http"


def test_a_connection_is_used_again(testbed: Testbed) -> None:
    client = http.client.HTTPConnection("wiki.test")
    client.sock = connect("95.216.1.10", "wiki.test", context(testbed, "http/1.1"))
    for path in ("/1.png", "/2.png", "/3.png"):
        client.request("GET", path)
        assert client.getresponse().read().startswith(b"\x89PNG")
    client.close()
    records = testbed.requests()[-3:]
    assert [one.path for one in records] == ["/1.png", "/2.png", "/3.png"]
    assert {one.connection for one in records} == {testbed.handshakes()[-1].connection}


class Http2Client:
    """Enough of an HTTP/2 client, with a window so small that the server must wait for it."""

    def __init__(self, tls: ssl.SSLSocket, window: int) -> None:
        self.tls = tls
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.local_settings = h2.settings.Settings(
            client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        )
        self.h2.initiate_connection()
        self.bodies: dict[int, bytes] = {}
        self.statuses: dict[int, str] = {}

    def get(self, host: str, *paths: str) -> list[tuple[str, bytes]]:
        streams = []
        for path in paths:
            stream = self.h2.get_next_available_stream_id()
            fields = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", path)]
            self.h2.send_headers(stream, fields, end_stream=True)
            streams.append(stream)
        open_streams = set(streams)
        while open_streams:
            self.tls.sendall(self.h2.data_to_send())
            for event in self.h2.receive_data(self.tls.recv(65_536)):
                if isinstance(event, h2.events.ResponseReceived):
                    self.statuses[event.stream_id] = dict(event.headers)[":status"]
                elif isinstance(event, h2.events.DataReceived):
                    self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    open_streams.discard(event.stream_id)
        return [(self.statuses[stream], self.bodies.get(stream, b"")) for stream in streams]


@pytest.mark.parametrize("window", [16, 65_535])
def test_http2_requests_share_a_connection_and_respect_windows(testbed: Testbed, window: int) -> None:
    paths = ("/", "/logo.svg", "/absent")
    with connect("104.16.1.10", "www.daily.test", context(testbed, "h2")) as tls:
        answers = Http2Client(tls, window).get("www.daily.test", *paths)
    assert [status for status, _ in answers] == ["200", "200", "404"]
    expected = [fetch(testbed, "104.16.1.10", "www.daily.test", f"https://www.daily.test{path}")[2] for path in paths]
    assert [body for _, body in answers] == expected
    records = [one for one in testbed.requests() if one.protocol == "h2"][-3:]
    assert {one.path for one in records} == set(paths)
    assert len({one.connection for one in records}) == 1


def test_noise_does_no_harm(testbed: Testbed) -> None:
    for alpn in ("h2", "http/1.1"):
        with connect("151.101.1.10", "shop.test", context(testbed, alpn)) as client:
            client.sendall(b"\x00\xff" * 500)
            while client.recv(1000):  # until it closes
                pass
    with socket.create_connection(("151.101.1.10", 443)) as client:
        client.sendall(b"no TLS at all\r\n\r\n")
    assert fetch(testbed, "151.101.1.10", "shop.test", "https://shop.test/basket.json")[0] == 200
    assert (testbed.folder / "logs" / "servers.txt").read_text() == ""
