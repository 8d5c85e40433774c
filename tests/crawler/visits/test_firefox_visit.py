"""Visits with a real Firefox: its captures tell the requests that the servers saw, and nothing that nobody can know."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from originset.analysis.captures.capture_tables import CaptureBatch
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.firefox_visit import VisitingFirefox
from originset.crawler.visits.visit_browsers import browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import read_capture_bytes, write_capture
from originset.data.errors import UsageError

pytestmark = [pytest.mark.browser, pytest.mark.testbed]

SITES = (
    *("http1.test", "http2.test", "http3.test", "one.test", "frames.test", "worker.test", "socket.test", "xhrs.test"),
    *("halfway.test", "misdirected.test", "late.test", "statuses.test", "hangs.test"),
)
# Firefox tells nobody of what its service workers ask for.
UNSEEN = {"worker.test": {"/worker.js", "/kept.png", "/passed-on.png"}}


@pytest.fixture(scope="module")
def settings(captures: Testbed) -> VisitSettings:
    return VisitSettings(browser="firefox", timeout_s=20, quiet_s=0.5, environment=captures.environment)


@pytest.fixture(scope="module")
def firefox(settings: VisitSettings) -> Iterator[VisitingFirefox]:
    with VisitingFirefox(settings) as browser:
        yield browser


@pytest.mark.parametrize("site", SITES)
def test_a_capture_tells_the_requests_that_the_servers_saw(
    captures: Testbed, firefox: VisitingFirefox, settings: VisitSettings, site: str
) -> None:
    hangs = site == "hangs.test"
    quiet_s = 0.9 if site == "late.test" else 0.5
    firefox.settings = dataclasses.replace(settings, timeout_s=3 if hangs else 20, quiet_s=quiet_s)
    before = len(captures.requests())
    har_log, extension = visit(firefox, VisitRequest("0123456789abcdef", site, captures.scenario.url_of(site)))
    seen = [one for one in captures.requests()[before:] if one.status != 421]
    expected = ("partial", "timeout") if hangs else ("ok", None)
    assert (extension.visit.status, extension.visit.error, extension.visit.browser) == (*expected, "firefox")
    sent = [
        entry
        for entry in har_log["entries"]
        if entry["request"]["url"].startswith(("http", "ws")) and "_fromCache" not in entry
    ]
    told = [entry for entry in sent if entry["response"].get("_error") != "NS_ERROR_UNKNOWN_HOST"]
    assert Counter(entry["request"]["url"].partition("://")[2] for entry in told) == Counter(
        one.host + one.path for one in seen if one.path not in UNSEEN.get(site, ())
    )
    answered = {(entry["request"]["url"].partition("://")[2], entry["response"]["status"]) for entry in told}
    assert answered <= {(one.host + one.path, max(one.status, 0)) for one in seen}
    assert {entry["response"]["httpVersion"] for entry in told} - {""} <= {"h3", "h2", "http/1.1"}
    # What BiDi cannot tell is not told.
    assert (extension.connections, extension.dns, extension.certificates) == ([], [], {})
    assert not {"connection", "serverIPAddress", "_credentials", "_securityDetails"} & {
        name for entry in har_log["entries"] for name in entry
    }
    assert {entry["timings"]["dns"] for entry in har_log["entries"]} == {-1}


def test_what_it_cannot_know_is_null_in_the_tables(captures: Testbed, firefox: VisitingFirefox, tmp_path: Path) -> None:
    captured = visit(firefox, VisitRequest("0123456789abcdef", "frames.test", "https://frames.test/"))
    batch = CaptureBatch()
    batch.add(read_capture_bytes(write_capture(tmp_path, *captured)), "a capture")
    tables = batch.tables()
    (row,) = tables["visits"].to_dicts()
    assert (row["browser"], row["ip_families"], row["third_party_cookies"]) == ("firefox", None, "allowed")
    assert row["viewport"] == "1280x800"
    assert "Firefox/" in row["user_agent"]
    requests = tables["requests"]
    assert requests.height >= 5
    unknown = ("server_ip", "connection_id", "dns_ms")
    assert requests.select(*unknown).null_count().row(0) == (requests.height,) * len(unknown)
    assert set(requests["credentials"]) == {"unknown"}
    assert set(requests["frame_site"].drop_nulls()) == {"frames.test", "third.test"}
    assert [tables[name].height for name in ("connections", "dns_queries", "certificates")] == [0, 0, 0]


def test_every_visit_starts_without_a_past(captures: Testbed, firefox: VisitingFirefox) -> None:
    seen = []
    for _ in range(2):
        before = len(captures.requests()), len(captures.handshakes())
        visit(firefox, VisitRequest("0123456789abcdef", "strict.test", "http://strict.test/"))
        assert not any(one.resumed for one in captures.handshakes()[before[1] :])
        seen.append([(one.scheme, one.host, one.path, *one.cookies) for one in captures.requests()[before[0] :]])
    assert seen[0][0] == seen[1][0] == ("http", "strict.test", "/"), "no HSTS"
    assert Counter(seen[0]) == Counter(seen[1]), "no cache, no cookie"


@pytest.mark.parametrize("wanted", ["allowed", "blocked"])
def test_third_party_cookies(captures: Testbed, settings: VisitSettings, wanted: str) -> None:
    with browser_for(dataclasses.replace(settings, third_party_cookies=wanted)) as browser:
        before = len(captures.requests())
        _, extension = visit(browser, VisitRequest("0123456789abcdef", "strict.test", "http://strict.test/"))
    back = {one.host: one.cookies for one in captures.requests()[before:] if one.path == "/back.png"}
    assert back == {"strict.test": ["first"], "third.test": ["third"] if wanted == "allowed" else []}
    assert extension.visit.third_party_cookies == wanted


def test_a_browser_that_is_lost_is_a_result(captures: Testbed, settings: VisitSettings) -> None:
    with browser_for(settings) as browser:
        threading.Timer(1.0, browser.kill).start()
        _, extension = visit(browser, VisitRequest("0123456789abcdef", "hangs.test", "https://hangs.test/"))
        assert browser.killed
    assert (extension.visit.status, extension.visit.error) == ("failed", "hang")


def test_it_says_who_is_there(captures: Testbed, settings: VisitSettings) -> None:
    with browser_for(dataclasses.replace(settings, contact="https://study.test/about")) as browser:
        _, extension = visit(browser, VisitRequest("0123456789abcdef", "http2.test", "https://http2.test/"))
    assert (extension.visit.user_agent or "").endswith(" (https://study.test/about)")


def test_what_is_chromiums_alone_is_refused(settings: VisitSettings) -> None:
    with pytest.raises(UsageError, match="desktop"):
        browser_for(dataclasses.replace(settings, device="mobile"))


class _Downloads(BaseHTTPRequestHandler):
    """A page that hands its visitor files."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(
            b"<p><script>for (let i = 0; i < 5; i++) { const a = document.createElement('a'); a.download = i + '.sh';"
            b"a.href = URL.createObjectURL(new Blob(['x'])); document.body.append(a); a.click() }</script>"
        )


def test_a_page_leaves_no_file_with_its_visitor(tmp_path: Path) -> None:
    settings = VisitSettings(
        browser="firefox", timeout_s=10, quiet_s=1, allow_private=True, environment={"HOME": str(tmp_path)}
    )
    with HTTPServer(("127.0.0.1", 0), _Downloads) as server, VisitingFirefox(settings) as browser:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        visit(browser, VisitRequest("0123456789abcdef", "downloads.test", url))
        server.shutdown()
    assert list(tmp_path.rglob("*.sh*")) == []
