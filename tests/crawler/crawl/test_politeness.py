"""Robots, those who do not want visits, and the pace of visits to one server."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from web_server import Quiet, serving

from originset.crawler.crawl import politeness as politeness_module
from originset.crawler.crawl.frontier import RateLimit
from originset.crawler.crawl.politeness import Politeness, is_excluded, site_of
from originset.crawler.settings import CrawlSettings, VisitSettings
from originset.data.ledger.crawl_ledger import LedgerRow

pytestmark = pytest.mark.slow


class Robots(Quiet, BaseHTTPRequestHandler):
    rules: ClassVar[tuple[int, str]] = (200, "")
    agents: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.agents.append(self.headers["User-Agent"])
        assert self.path == "/robots.txt"
        status, body = self.rules
        self.answer(status, body.encode())


@pytest.fixture
def server() -> Iterator[str]:
    Robots.agents.clear()
    with serving(Robots) as address:
        yield address


@pytest.mark.parametrize(
    ("status", "text", "permitted"),
    [
        (200, "User-agent: *\nDisallow: /private\n", {"/": True, "/private/x": False}),
        (200, "User-agent: originset\nDisallow: /\n\nUser-agent: *\nAllow: /\n", {"/": False}),
        (200, "User-agent: other\nDisallow: /\n", {"/": True}),
        (404, "", {"/": True}),
        (503, "", {"/": False}),
        # RFC 9309 section 2.2.2: the longest rule decides, and Allow where two are as long.
        (200, "User-agent: *\nDisallow: /\nAllow: /open\n", {"/": False, "/open/x": True}),
        (200, "User-agent: *\nAllow: /a\nDisallow: /a\n", {"/a": True}),
        # Section 2.2.3: wildcards, and the end of the URL.
        (
            200,
            "User-agent: *\nDisallow: /*.pdf$\nDisallow: /x/*/z\n",
            {"/a.pdf": False, "/a.pdf?b": True, "/x/y/z": False},
        ),
        # Section 2.2.1: groups of one product are one, names of products are not cut, and their case does not matter.
        (
            200,
            "User-agent: Originset\nDisallow: /a\n\nUser-agent: originset\nDisallow: /b\n",
            {"/a": False, "/b": False},
        ),
        (200, "User-agent: set\nDisallow: /\n", {"/": True}),
        (200, "\ufeffUser-agent: *\nDisallow: /\n", {"/": False}),
    ],
)
def test_robots(server: str, status: int, text: str, permitted: dict[str, bool]) -> None:
    Robots.rules = status, text
    politeness = Politeness(
        CrawlSettings(visit=VisitSettings(contact="+https://crawl.example/", allow_private=True), respect_robots=True)
    )
    assert {path: politeness.permits(server + path) for path in permitted} == permitted
    assert Robots.agents == ["originset (+https://crawl.example/)"], "asked once for a site"


class Silent(Quiet, BaseHTTPRequestHandler):
    """It takes the question and closes the connection."""

    asked: ClassVar[int] = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.close_connection = True


def test_a_server_that_does_not_answer_for_its_rules_is_not_visited() -> None:
    """RFC 9309 section 2.3.1.4; one that is not reached is, as its visit says what is wrong, and is asked again."""
    politeness = Politeness(CrawlSettings(visit=VisitSettings(allow_private=True), respect_robots=True))
    with serving(Silent) as address:
        assert not politeness.permits(address)
        assert not politeness.permits(f"{address}/other")
        assert Silent.asked == 1
    with serving(Robots) as address:
        pass
    assert politeness.permits(address)
    port = urlsplit(address).port
    Robots.rules = 200, "User-agent: *\nDisallow: /\n"
    with serving(Robots, port):
        assert not politeness.permits(address)


def test_robots_where_nobody_answers_or_nobody_asks(server: str) -> None:
    Robots.rules = 200, "User-agent: *\nDisallow: /\n"
    assert Politeness(CrawlSettings(respect_robots=True)).permits("http://127.0.0.1:9/"), "the visit says what is wrong"
    assert Politeness(CrawlSettings()).permits(server)
    assert Robots.agents == []


class Stranger(Quiet, BaseHTTPRequestHandler):
    """Its robots.txt is said to be elsewhere."""

    place: ClassVar[str] = ""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", f"{self.place}/robots.txt")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.mark.promise("crawls-stay-public")
@pytest.mark.testbed
def test_robots_lead_to_no_private_address(server: str) -> None:
    """Neither a stranger's redirect nor a name that leads here: nothing is asked for, over FTP neither."""
    Robots.rules = 200, "User-agent: *\nDisallow: /\n"
    Stranger.place = server
    public = "104.24.7.1"
    place = [f"{public}/32", "dev", "lo"]
    subprocess.run(["ip", "addr", "add", *place], check=True)
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as inside,
            ThreadingHTTPServer((public, 80), Stranger) as stranger,
        ):
            threading.Thread(target=stranger.serve_forever, args=(0.05,), daemon=True).start()
            careful = Politeness(CrawlSettings(respect_robots=True))
            assert careful.permits(f"http://{public}/")
            assert careful.permits(server.replace("127.0.0.1", "localhost"))
            assert Robots.agents == []
            allowed = CrawlSettings(visit=VisitSettings(allow_private=True), respect_robots=True)
            assert not Politeness(allowed).permits(f"http://{public}/")
            assert len(Robots.agents) == 1
            # The standard library's own opener follows redirects there.
            Stranger.place = f"ftp://127.0.0.1:{inside.getsockname()[1]}"
            assert Politeness(CrawlSettings(respect_robots=True)).permits(f"http://{public}/")
            inside.setblocking(False)
            with pytest.raises(BlockingIOError):
                inside.accept()
            stranger.shutdown()
    finally:
        subprocess.run(["ip", "addr", "del", *place], check=True)


class Endless(Quiet, BaseHTTPRequestHandler):
    """It goes on with a header, a body or the body of a redirect, slowly or as fast as it can."""

    def do_GET(self) -> None:
        part, pace, _ = self.path.strip("/").split("/")
        status = "302 Found" if part == "redirect" else "200 OK"
        head = f"HTTP/1.0 {status}\r\nLocation: /redirect/fast/robots.txt\r\n"
        self.wfile.write(head.encode() + (b"X: " if part == "header" else b"\r\n"))
        with suppress(OSError):
            while True:
                self.wfile.write(b"#" if pace == "slow" else b"#" * (1 << 16))
                time.sleep(0.05 if pace == "slow" else 0)


@pytest.mark.promise("robots-end")
@pytest.mark.parametrize("path", ["header/slow", "body/slow", "redirect/slow", "redirect/fast"])
def test_an_answer_without_an_end(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of its single steps takes long. Whose rules do not come is not visited."""
    monkeypatch.setattr(politeness_module, "_ALL_S", 60.0 if path.endswith("fast") else 0.5)
    settings = CrawlSettings(visit=VisitSettings(allow_private=True), respect_robots=True)
    with serving(Endless) as address:
        assert not Politeness(settings)._fetch(f"{address}/{path}/robots.txt").can_fetch(f"{address}/", "originset")


def test_exclusions() -> None:
    excluded = frozenset({"example.com", "sub.example.org"})
    hosts = ["example.com", "www.example.com", "notexample.com", "example.org", "a.sub.example.org"]
    assert [host for host in hosts if is_excluded(host, excluded)] == [hosts[0], hosts[1], hosts[4]]


def test_sites() -> None:
    hosts = ["www.a.co.uk", "a.co.uk", "192.0.2.1", "localhost", "x.alice.github.io"]
    assert [site_of(host) for host in hosts] == ["a.co.uk", "a.co.uk", "192.0.2.1", "localhost", "alice.github.io"]


def test_sites_are_the_registrable_domains_of_the_tables() -> None:
    """Also below a top-level domain that is not on the list, and of a private suffix itself."""
    assert [site_of(host) for host in ("www.a.test", "b.a.test", "s3.amazonaws.com")] == [
        "a.test",
        "a.test",
        "amazonaws.com",
    ]


def test_paces() -> None:
    row = LedgerRow("8.8.8.8", "here", 1, 1)
    assert Politeness(CrawlSettings()).rate_limits(row) == ()
    assert Politeness(CrawlSettings(per_address=30)).rate_limits(row) == (RateLimit("8.8.8.8", 2.0),)
    assert Politeness(CrawlSettings(per_as=60)).rate_limits(row) == (RateLimit(15169, 1.0),)
    assert (
        Politeness(CrawlSettings(per_address=1, per_as=1)).rate_limits(LedgerRow("nowhere.invalid", "here", 1, 1)) == ()
    )
