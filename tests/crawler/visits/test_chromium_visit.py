"""Visits with a real Chromium: in the testbed against what its servers and its DNS saw, and of pages that go wrong."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import msgspec
import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from web_server import Quiet, serving

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.settings import Device, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.chromium_visit import visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import Extension

SITES = scenario_file.built_in().sites
# How long nothing may happen before a page counts as complete: short, for servers that answer at once.
QUIET_S = 0.3

pytestmark = pytest.mark.browser


def request(url: str) -> VisitRequest:
    return VisitRequest("0123456789abcdef", "site", url)


@pytest.fixture(scope="module")
def browser(testbed: Testbed) -> Iterator[Chromium]:
    with Chromium(VisitSettings(timeout_s=20, quiet_s=QUIET_S, environment=testbed.environment)) as chromium:
        yield chromium


@pytest.mark.testbed
@pytest.mark.parametrize("site", SITES)
def test_a_visit_counts_what_the_servers_saw(testbed: Testbed, browser: Chromium, site: str) -> None:
    before = len(testbed.handshakes()), len(testbed.requests()), len(testbed.dns_queries())
    har_log, extension = visit(browser, request(f"https://{site}/"))
    handshakes, requests, queries = (
        records[start:]
        for start, records in zip(
            before, (testbed.handshakes(), testbed.requests(), testbed.dns_queries()), strict=True
        )
    )
    # Opened: each handshake that a server completed, by the port that it came from.
    assert Counter((c.server_ip, c.local_port) for c in extension.connections if c.tls) == Counter(
        (handshake.server, handshake.client_port) for handshake in handshakes
    )
    assert {(c.local_port, c.protocol, c.resumed) for c in extension.connections if c.tls} == {
        (handshake.client_port, handshake.alpn or "http/1.1", handshake.resumed) for handshake in handshakes
    }
    # Used: each connection on which a server saw a request; so say the entries too.
    used = {c.id: (c.server_ip, c.local_port) for c in extension.connections if c.used}
    assert set(used.values()) == {(request.server, request.client_port) for request in requests}
    assert {int(entry["connection"]) for entry in har_log["entries"] if "connection" in entry} == set(used)
    # Queries: each one that the DNS server got.
    asked = Counter((query.host, query.rtype) for query in extension.dns for _ in range(query.attempts))
    assert asked == Counter((query.name, query.rtype) for query in queries)


@pytest.mark.testbed
@pytest.mark.parametrize("site", SITES)
def test_chains_are_those_that_the_servers_sent(testbed: Testbed, browser: Chromium, site: str) -> None:
    _, extension = visit(browser, request(f"https://{site}/"))
    with_chain = [connection for connection in extension.connections if connection.chain is not None]
    assert bool(with_chain) == any(connection.tls for connection in extension.connections) or site == "expired.test"
    for connection in with_chain:
        assert connection.first_host is not None
        sent = x509.load_pem_x509_certificates(testbed.certificate_of(connection.first_host).chain.read_bytes())
        received = [base64.b64decode(extension.certificates[number]) for number in connection.chain or []]
        assert received == [certificate.public_bytes(Encoding.DER) for certificate in sent]


@pytest.mark.testbed
def test_visits_of_one_browser_are_all_cold(testbed: Testbed, browser: Chromium) -> None:
    visits = [visit(browser, request("https://shop.test/"))[1] for _ in range(2)]
    opened = [Counter(c.first_host for c in extension.connections if c.used) for extension in visits]
    assert opened[0] == opened[1]
    assert not any(c.resumed for extension in visits for c in extension.connections)
    assert not {c.id for c in visits[0].connections} & {c.id for c in visits[1].connections}


@pytest.mark.testbed
@pytest.mark.parametrize(
    ("site", "error", "code"),
    [
        ("gone.test", "dns", "net::ERR_NAME_NOT_RESOLVED"),
        ("refused.test", "connect", "net::ERR_CONNECTION_REFUSED"),
        ("expired.test", "tls", "net::ERR_CERT_DATE_INVALID"),
    ],
)
def test_sites_that_fail(browser: Chromium, site: str, error: str, code: str) -> None:
    har_log, extension = visit(browser, request(f"https://{site}/"))
    assert (extension.visit.status, extension.visit.error, extension.visit.error_code) == ("failed", error, code)
    (entry,) = har_log["entries"]
    assert entry["response"]["_error"] == code
    assert "connection" not in entry


@pytest.mark.testbed
def test_blocking_third_party_cookies_parts_the_pools(testbed: Testbed) -> None:
    settings = VisitSettings(
        timeout_s=20, quiet_s=QUIET_S, third_party_cookies="blocked", environment=testbed.environment
    )
    with Chromium(settings) as chromium:
        _, extension = visit(chromium, request("https://shop.test/"))
    assert extension.visit.third_party_cookies == "blocked"
    assert extension.visit.ip_families == "both"
    assert "enabled partitioned state allowed" in {connection.privacy_mode for connection in extension.connections}


class Pages(Quiet, BaseHTTPRequestHandler):
    """Pages that test what is not a matter of connections."""

    protocol_version = "HTTP/1.1"
    pages: ClassVar[dict[str, tuple[int, dict[str, str], str]]] = {
        "/missing": (404, {}, "<p>no"),
        "/loop": (302, {"Location": "/loop"}, ""),
        "/download": (200, {"Content-Type": "application/zip", "Content-Disposition": "attachment"}, "PK"),
        "/nothing": (204, {}, ""),
        "/wedged": (200, {}, "<script>while (true) {}</script>"),
        "/challenge": (403, {"CF-Mitigated": "challenge"}, "<title>Just a moment...</title>"),
        "/consent": (
            200,
            {},
            (
                "<div id='onetrust-banner-sdk'>We value</div><a href='/a#x'>a</a><a href='/a'>a</a>"
                "<a href='/z' download>z</a><a href='mailto:a@b'>m</a><a href='https://other.test/'>o</a>"
            ),
        ),
        "/hidden": (200, {}, "<div id='onetrust-banner-sdk' style='display:none'>We value</div>"),
        "/waits": (200, {}, "<script>fetch('/never')</script>"),
        "/alerts": (200, {}, "<script>alert(1); confirm(2); fetch('/after')</script>"),
        "/after": (200, {}, "x"),
        "/secrets?token=hunter2": (200, {"Set-Cookie": "sid=hunter2"}, "<img src='/i?api_key=hunter2#hunter2'>"),
        "/works": (
            200,
            {},
            (
                "<meta name=viewport content='width=device-width'><iframe src='/frame'></iframe>"
                "<script>new Worker(URL.createObjectURL(new Blob(["
                "`fetch('${location.origin}/from-worker')`])));"
                "new WebSocket(`ws://${location.host}/socket`); new SharedWorker('/shared'); fetch('/unread');"
                "window.open('/popup')</script>"
            ),
        ),
        "/drawn": (
            200,
            {},
            (
                "<style>p { animation: grow .2s } @keyframes grow { from { width: 0 } }</style><p>text</p>"
                "<img loading=lazy src='/lazy' width=9><script>requestAnimationFrame(() => fetch('/next-frame'));"
                "new IntersectionObserver(([one]) => one.isIntersecting && fetch('/in-view')).observe(document.body);"
                "let start = performance.now(); document.querySelector('p').onanimationend = () => "
                "fetch('/animated?' + (performance.now() - start > 150))</script>"
            ),
        ),
        "/frame": (200, {}, "<img src='/in-frame'><iframe srcdoc='<img src=/in-srcdoc>'></iframe>"),
        "/shared": (200, {"Content-Type": "text/javascript"}, "fetch('/from-shared')"),
    }

    agents: ClassVar[list[tuple[str, str, str | None]]] = []

    def do_GET(self) -> None:
        self.agents.append((self.path, self.headers["User-Agent"], self.headers["Sec-CH-UA-Mobile"]))
        if self.path == "/never":
            threading.Event().wait(8)
            return
        if self.path == "/closes":
            self.close_connection = True
            return
        status, headers, body = self.pages.get(self.path, (200, {"Content-Type": "image/gif"}, ""))
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", **headers}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    with serving(Pages) as address:
        yield address


@pytest.fixture(scope="module")
def quick() -> Iterator[Chromium]:
    with Chromium(VisitSettings(timeout_s=3, quiet_s=QUIET_S, allow_private=True)) as chromium:
        yield chromium


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/missing", "failed", "http"),
        ("/loop", "failed", "redirect_loop"),
        ("/download", "failed", "download"),
        ("/nothing", "failed", "empty"),
        ("/closes", "failed", "empty"),
        ("/never", "failed", "timeout"),
        ("/waits", "partial", "timeout"),
        ("/wedged", "partial", "hang"),
        ("/challenge", "failed", "challenge"),
        ("/alerts", "ok", None),
    ],
)
def test_pages_that_go_wrong(quick: Chromium, pages: str, path: str, status: str, error: str | None) -> None:
    har_log, extension = visit(quick, request(pages + path))
    assert (extension.visit.status, extension.visit.error) == (status, error)
    first = har_log["entries"][0]
    assert first["request"]["url"] == pages + path
    assert "connection" in first, "it was sent, whatever became of it"
    assert any(connection.used for connection in extension.connections)
    assert not quick.killed, "a page that goes wrong leaves the browser usable"


def test_what_a_page_shows(quick: Chromium, pages: str) -> None:
    seen: list[tuple[str, list[str]]] = []

    def follow(landed: str, links: list[str]) -> list[str]:
        seen.append((landed, links))
        return links[-1:]

    _, extension = visit(quick, dataclasses.replace(request(f"{pages}/consent"), follow=follow))
    assert (extension.visit.consent_banner, extension.visit.challenge) == ("seen", False)
    assert seen == [(f"{pages}/consent", [f"{pages}/a", f"{pages}/a", "https://other.test/"])]
    assert extension.links == ["https://other.test/"]
    assert visit(quick, request(f"{pages}/hidden"))[1].visit.consent_banner == "none"
    assert visit(quick, request(f"{pages}/challenge"))[1].visit.challenge is True
    missed = visit(quick, request("http://127.0.0.1:9/"))[1].visit
    assert (missed.consent_banner, missed.challenge, missed.viewport) == ("unknown", None, None)


def test_what_a_page_asks_for_once_it_is_drawn(quick: Chromium, pages: str) -> None:
    har_log, extension = visit(quick, request(f"{pages}/drawn"))
    assert extension.visit.viewport == "1280x800"
    asked = {entry["request"]["url"].removeprefix(pages) for entry in har_log["entries"]}
    assert asked >= {"/lazy", "/next-frame", "/in-view", "/animated?true"}


def test_a_page_that_does_not_end_takes_no_processor_on(quick: Chromium, pages: str) -> None:
    def renderers() -> set[int]:
        pids = set()
        for one in [one for process in quick._browsers for one in [process, *process.children(recursive=True)]]:
            with contextlib.suppress(psutil.Error):  # it ended meanwhile
                pids |= {one.pid} if "--type=renderer" in one.cmdline() else set()
        return pids

    visit(quick, request(f"{pages}/after"))
    before = renderers()
    visit(quick, request(f"{pages}/wedged"))
    deadline = time.monotonic() + 10
    while renderers() - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert renderers() <= before


@pytest.mark.parametrize(("device", "contact"), [("mobile", None), ("desktop", "+https://crawl.example/")])
def test_who_the_browser_says_it_is(pages: str, device: Device, contact: str | None) -> None:
    with Chromium(
        VisitSettings(timeout_s=5, quiet_s=QUIET_S, device=device, contact=contact, allow_private=True)
    ) as chromium:
        Pages.agents.clear()
        extension = visit(chromium, request(f"{pages}/works"))[1]
    agents = {path: agent for path, agent, _ in Pages.agents if path in {"/works", "/in-frame", "/from-worker"}}
    assert len(agents) == 3
    assert set(agents.values()) == {extension.visit.user_agent}
    assert ("Mobile" in agents["/works"]) == (device == "mobile")
    assert contact is None or agents["/works"].endswith(f"({contact})")
    hints = {hint for path, _, hint in Pages.agents if path == "/works"}
    assert hints == {"?1" if device == "mobile" else "?0"}
    assert (extension.visit.viewport == "412x915") == (device == "mobile")


def test_a_page_that_crashes(quick: Chromium, pages: str) -> None:
    _, extension = visit(quick, request("chrome://crash"))
    assert (extension.visit.status, extension.visit.error) == ("failed", "crash")
    assert visit(quick, request(f"{pages}/after"))[1].visit.status == "ok"


def test_workers_frames_and_sockets_are_seen(quick: Chromium, pages: str) -> None:
    har_log, extension = visit(quick, request(f"{pages}/works"))
    assert extension.visit.status == "ok", "a body that nobody reads is not waited for"
    entries = {entry["request"]["url"].removeprefix(pages): entry for entry in har_log["entries"]}
    assert entries["/from-worker"]["response"]["status"] == 200
    assert entries["/from-shared"]["response"]["status"] == 200
    assert entries["/in-srcdoc"]["_frameUrl"] == f"{pages}/frame", "a document without an address is its parent's"
    assert "/popup" not in entries
    carried = {int(entry["connection"]) for entry in har_log["entries"] if "connection" in entry}
    assert carried == {connection.id for connection in extension.connections if connection.used}
    assert entries["/in-frame"]["_frameUrl"] == f"{pages}/frame"
    assert har_log["entries"][entries["/in-frame"]["_initiatorIndex"]]["request"]["url"] == f"{pages}/frame"
    socket = next(entry for url, entry in entries.items() if url.endswith("/socket"))
    assert socket["_resourceType"] == "websocket"


@pytest.mark.promise("captures-without-secrets")
def test_secrets_stay_out(quick: Chromium, pages: str) -> None:
    har_log, extension = visit(quick, request(f"{pages}/secrets?token=hunter2"))
    text = msgspec.json.encode([har_log, extension])
    assert b"/i?api_key=" in text
    assert b"hunter2" not in text


def _lose(do: Any) -> tuple[Extension, Chromium]:
    with Chromium(VisitSettings(timeout_s=2, grace_s=1, quiet_s=QUIET_S, allow_private=True)) as chromium:
        (process,) = chromium._browsers
        timer = threading.Timer(0.5, partial(do, process))
        timer.start()
        # An address that nobody answers at: the visit is under way when the browser goes.
        with serving(Pages) as address:
            _, extension = visit(chromium, request(f"{address}/never"))
        timer.join()
    assert not process.is_running()
    return extension, chromium


@pytest.mark.promise("browsers-end")
def test_a_browser_that_is_killed(pages: str) -> None:
    extension, chromium = _lose(psutil.Process.kill)
    assert (extension.visit.status, extension.visit.error) == ("failed", "crash")
    assert extension.visit.url.endswith("/never")
    assert chromium.killed, "not to be used again"


@pytest.mark.promise("browsers-end")
def test_a_browser_that_hangs(pages: str) -> None:
    extension, chromium = _lose(lambda process: os.kill(process.pid, signal.SIGSTOP))
    assert (extension.visit.status, extension.visit.error) == ("failed", "hang")
    assert chromium.killed


@pytest.mark.promise("browsers-end")
def test_nothing_stays_of_a_browser() -> None:
    with Chromium(VisitSettings()) as chromium:
        (process,) = chromium._browsers
        family = [process, *process.children(recursive=True)]
        assert len(family) > 3
        (profile,) = {part for part in process.cmdline() if part.startswith("--user-data-dir=")}
    assert all(not member.is_running() or member.status() == psutil.STATUS_ZOMBIE for member in family)
    folder = profile.partition("=")[2]
    deadline = time.monotonic() + 5
    while os.path.exists(os.path.dirname(folder)) and time.monotonic() < deadline:  # noqa: PTH110, PTH120 - text
        time.sleep(0.05)
    assert not os.path.exists(os.path.dirname(folder))  # noqa: PTH110, PTH120 - text
