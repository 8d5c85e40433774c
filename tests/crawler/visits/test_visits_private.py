"""No page leads a browser to an address that is not public, in whatever way it asks: nothing arrives there.

Each way arrives with ``allow_private``, so that a test which sees nothing arrive has looked at the right place.
A way is tried in one browser, and each browser has a third of the ways; with ``ORIGINSET_SOAK=full`` every way is tried
in every browser.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from healthy_testbed import healthy_testbed
from web_server import Quiet

from originset.crawler.settings import BrowserName, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import Browser, browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import Visit

pytestmark = [pytest.mark.browser, pytest.mark.testbed, pytest.mark.soak]
FULL = os.environ.get("ORIGINSET_SOAK") == "full"

BROWSERS: tuple[BrowserName, ...] = ("chromium", "headless-shell", "firefox")
CODES = {"net::ERR_NETWORK_ACCESS_DENIED", "NS_ERROR_SOCKET_ADDRESS_NOT_SUPPORTED"}
STRANGER, INSIDE, METADATA = "104.23.7.1", "10.77.0.9", "169.254.169.254"
INSIDE_URL = f"http://{INSIDE}:8001/"

# The page goes there itself.
LANDINGS = {
    **{
        f"redirect to {host}": f"{host}:8001"
        for host in (INSIDE, METADATA, "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "127.1", "2130706433")
    },
    "meta refresh": f"<meta http-equiv=refresh content='0;url={INSIDE_URL}'>",
    "location": f"<script>location = '{INSIDE_URL}'</script>",
    "form": f"<form method=post action='{INSIDE_URL}'></form><script>document.forms[0].submit()</script>",
}
# What the page asks for beside itself.
ASKED = {
    "WebSocket": f"<script>new WebSocket('ws://{INSIDE}:8001/')</script>",
    "fetch": f"<script>fetch('{INSIDE_URL}', {{mode: 'no-cors'}}).catch(() => 0)</script>",
    "image": f"<img src='{INSIDE_URL}'>",
    "frame": f"<iframe src='{INSIDE_URL}'></iframe>",
    "beacon": f"<script>navigator.sendBeacon('{INSIDE_URL}', 'x')</script>",
    "worker": (
        "<script>new Worker(URL.createObjectURL(new Blob(["
        f"`fetch('{INSIDE_URL}', {{mode: 'no-cors'}}).catch(() => 0)`])))</script>"
    ),
    "STUN": (
        f"<script>const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{INSIDE}:3478'}}]}});"
        "peer.createDataChannel('x'); peer.createOffer().then((offer) => peer.setLocalDescription(offer))</script>"
    ),
    "TURN over TCP": (
        "<script>const peer = new RTCPeerConnection({iceServers: [{"
        f"urls: 'turn:{INSIDE}:8001?transport=tcp', username: 'a', credential: 'b'}}]}});"
        "peer.createDataChannel('x'); peer.createOffer().then((offer) => peer.setLocalDescription(offer))</script>"
    ),
}
POPUP = f"<script>window.open('{INSIDE_URL}')</script>"  # Chromium opens none that nobody clicked for
WAYS = {**LANDINGS, **ASKED, "window.open": POPUP}

# A name of a stranger's that leads inside, and the same over HTTP/3.
NAMES = """
dns = "192.0.2.57"
[certificate.names]
names = ["*.names.test"]
[host."rebound.names.test"]
addresses = ["10.77.0.1"]
certificate = "names"
[host."quic.names.test"]
addresses = ["10.77.0.2"]
certificate = "names"
http3 = "advertised"
https_record = { alpn = ["h3"] }
[host."sixth.names.test"]
addresses = ["fd77::1"]
certificate = "names"
[site."rebound.names.test"]
loads = []
[site."quic.names.test"]
loads = []
[site."sixth.names.test"]
loads = []
"""


def in_browsers(ways: Iterable[str], fixture: str) -> pytest.MarkDecorator:
    """Each way with each browser that tries it; the browser is the parameter of ``fixture``."""
    numbers = {way: number for number, way in enumerate(WAYS)}
    pairs = [(browser, way) for browser in BROWSERS for way in ways]
    tried = [(browser, way) for browser, way in pairs if FULL or BROWSERS[numbers[way] % len(BROWSERS)] == browser]
    return pytest.mark.parametrize((fixture, "way"), tried, indirect=[fixture], scope="module")


class Pages(Quiet, BaseHTTPRequestHandler):
    """The ways, by number."""

    def do_GET(self) -> None:
        number = self.path.removeprefix("/")
        if not number.isdecimal():
            self.answer(404, b"")
            return
        body = list(WAYS.values())[int(number)]
        if not body.startswith("<"):
            self.send_response(302)
            self.send_header("Location", f"http://{body}/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


class Inside:
    """Counts what arrives at addresses of this machine and of its network."""

    def __init__(self, stack: ExitStack) -> None:
        self.arrived: list[str] = []
        for address in (INSIDE, METADATA, "127.0.0.1", "::1"):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listening = stack.enter_context(closing(socket.create_server((address, 8001), family=family)))
            stack.callback(listening.shutdown, socket.SHUT_RDWR)  # which wakes who waits for it
            threading.Thread(target=self._accept, args=(listening, address), daemon=True).start()
        datagrams = stack.enter_context(closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
        datagrams.bind((INSIDE, 3478))
        datagrams.settimeout(0.1)
        over = threading.Event()
        thread = threading.Thread(target=self._receive, args=(datagrams, over), daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(over.set)

    def _accept(self, listening: socket.socket, address: str) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self.arrived.append(address)
            connection.close()

    def _receive(self, datagrams: socket.socket, over: threading.Event) -> None:
        while not over.is_set():
            try:
                datagrams.recv(4096)
            except TimeoutError:
                continue
            self.arrived.append(INSIDE)


@pytest.fixture(scope="module")
def inside() -> Iterator[Inside]:
    with ExitStack() as stack:
        for address in (STRANGER, INSIDE, METADATA):
            place = [f"{address}/32", "dev", "lo"]
            subprocess.run(["ip", "addr", "add", *place], check=True)
            stack.callback(subprocess.run, ["ip", "addr", "del", *place], check=True)
        server = stack.enter_context(ThreadingHTTPServer((STRANGER, 80), Pages))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        stack.callback(server.shutdown)
        yield Inside(stack)


@pytest.fixture(scope="module")
def shut_in(request: pytest.FixtureRequest, inside: Inside) -> Iterator[Browser]:
    with browser_for(VisitSettings(browser=request.param, timeout_s=8, quiet_s=0.5)) as browser:
        yield browser


@pytest.fixture(scope="module")
def let_out(request: pytest.FixtureRequest, inside: Inside) -> Iterator[Browser]:
    settings = VisitSettings(browser=request.param, timeout_s=3, quiet_s=0.5, allow_private=True)
    with browser_for(settings) as browser:
        yield browser


def go(browser: Browser, way: str) -> tuple[Visit, list[dict[str, Any]]]:
    url = f"http://{STRANGER}/{list(WAYS).index(way)}"
    har_log, extension = visit(browser, VisitRequest("0123456789abcdef", "stranger.test", url))
    return extension.visit, har_log["entries"]


def errors_inside(entries: list[dict[str, Any]]) -> set[str | None]:
    return {entry["response"].get("_error") for entry in entries if entry["request"]["url"].startswith(INSIDE_URL[:-1])}


@pytest.mark.promise("pages-stay-public")
@in_browsers(LANDINGS, "shut_in")
def test_a_page_that_goes_inside(shut_in: Browser, inside: Inside, way: str) -> None:
    inside.arrived.clear()
    visited, entries = go(shut_in, way)
    assert inside.arrived == []
    assert (visited.status, visited.error) == ("failed", "private")
    assert visited.error_code in CODES
    assert visited.error_code in {entry["response"].get("_error") for entry in entries}, "of its request, too"
    assert not shut_in.killed


@pytest.mark.promise("pages-stay-public")
@in_browsers([*ASKED, "window.open"], "shut_in")
def test_what_a_page_asks_for_inside(shut_in: Browser, inside: Inside, way: str) -> None:
    inside.arrived.clear()
    visited, entries = go(shut_in, way)
    assert inside.arrived == []
    # headless-shell waits for windows that it does not open, whatever they are to show.
    assert (visited.status == "ok") == (way != "window.open" or shut_in.settings.browser != "headless-shell")
    assert errors_inside(entries) <= CODES


@in_browsers(WAYS, "let_out")
def test_what_is_allowed_arrives(let_out: Browser, inside: Inside, way: str) -> None:
    inside.arrived.clear()
    go(let_out, way)
    if way == "window.open" and let_out.settings.browser != "firefox":
        return
    deadline = time.monotonic() + 10
    while not inside.arrived and time.monotonic() < deadline:
        time.sleep(0.02)
    assert inside.arrived


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with healthy_testbed(scenario_file.parse(NAMES, "names"), tmp_path_factory.mktemp("names")) as running:
        yield running


@pytest.mark.promise("pages-stay-public")
@pytest.mark.parametrize("browser", BROWSERS)
def test_a_name_that_leads_inside(names: Testbed, browser: BrowserName) -> None:
    """Also by IPv6, and over QUIC, which speaks of no connection before it sends."""
    settings = VisitSettings(
        browser=browser, timeout_s=8, quiet_s=0.3, environment=names.environment, extra_flags=names.browser_flags
    )
    before = len(names.handshakes())
    with browser_for(settings) as running:
        for site in names.sites:
            found = visit(running, VisitRequest("0123456789abcdef", site, f"https://{site}/"))[1].visit
            assert (found.status, found.error) == ("failed", "private"), site
    assert len(names.handshakes()) == before
    with browser_for(dataclasses.replace(settings, allow_private=True)) as running:
        for site in names.sites:
            visit(running, VisitRequest("0123456789abcdef", site, f"https://{site}/"))
    arrived = {handshake.alpn for handshake in names.handshakes()[before:]}
    assert "h2" in arrived
    assert browser != "chromium" or "h3" in arrived
