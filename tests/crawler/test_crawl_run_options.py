"""What a crawl visits, in which order and how politely: the whole command against sites of this machine."""

from __future__ import annotations

import ipaddress
import json
import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, ClassVar

import pytest
from console_entry import originset

from originset.crawler.browsers.address_families import reachable_families
from originset.crawler.crawl import local_workers
from originset.crawler.crawl.pending_visits import plan_crawl
from originset.crawler.crawl.site_list import parse_site_list
from originset.crawler.crawl_run import crawl
from originset.crawler.settings import CrawlSettings, VisitSettings
from originset.crawler.testbed.testbed import Testbed
from originset.data.captures.capture import capture_path, decode_extension, read_capture_bytes
from originset.data.errors import UsageError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.studies.study import Study

pytestmark = [pytest.mark.testbed, pytest.mark.browser]


class Sites(BaseHTTPRequestHandler):
    """Sites at addresses of loopback, told apart by their Host field."""

    pages: ClassVar[dict[str, str]] = {
        "/": "".join(f"<a href='/page{n}'>{n}</a>" for n in range(8)) + "<a href='/file.pdf'>f</a><a href='/no'>n</a>",
        "/banner": (
            "<div id='onetrust-banner-sdk'>We value <button id='onetrust-reject-all-handler'>No</button>"
            "<button id='onetrust-accept-btn-handler' onclick='fetch(\"/accepted\")'>All</button></div>"
        ),
        "/robots.txt": "User-agent: originset\nDisallow: /no\n",
    }
    statuses: ClassVar[list[int]] = []
    asked: ClassVar[list[tuple[str, str]]] = []
    agents: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.headers["Host"], self.path))
        if self.path == "/page":
            said = self.headers.items()
            self.agents.append({name: value for name, value in said if name.startswith(("User-Agent", "sec-ch-ua"))})
        status = self.statuses.pop(0) if self.path == "/flaky" and self.statuses else 200
        body = self.pages.get(self.path, "<p>a page").encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own looks for the address's name, where nobody answers
        self.server_name, self.server_port = self.server_address[:2]


@pytest.fixture(scope="module")
def sites() -> Iterator[None]:
    # On these addresses alone: a testbed may hold port 80 of others in the same namespace.
    servers = [Server((f"127.0.0.{n}", 80), Sites) for n in range(1, 12)]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield
    for server in servers:
        server.shutdown()
        server.server_close()


class Command:
    def __init__(self, folder: Path) -> None:
        self.study = Study(folder / "study")
        self.list = folder / "sites.txt"

    def run(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> tuple[int, list[dict[str, Any]], str]:
        fixed = ("--format", "jsonl", "--jobs", "1", "--retries", "0", "--allow-private")
        words = ("--study", str(self.study.root), "crawl", str(self.list), *fixed, *arguments)
        ended = originset(*words, environment=environment)
        return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr

    def ledger(self) -> dict[tuple[str, str], tuple[str, str | None, int]]:
        with sqlite3.connect(self.study.ledger_path) as connection:
            rows = connection.execute("SELECT site, page, state, error, attempts FROM visits").fetchall()
        connection.close()
        return {(site, page): (state, error, attempts) for site, page, state, error, attempts in rows}


@pytest.fixture
def command(sites: None, tmp_path: Path) -> Command:
    Sites.asked.clear()
    Sites.agents.clear()
    return Command(tmp_path)


def test_internal_pages_and_robots(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/\n")
    polite = ("--respect-robots", "--contact", "ask@crawl.example")
    code, lines, said = command.run("--internal", "9", "--seed", "7", *polite)
    assert code == 0, said
    assert [line["page_kind"] for line in lines] == ["landing"] + ["internal"] * 8
    assert {line["url"] for line in lines[1:]} == {f"http://127.0.0.1/page{n}" for n in range(8)}
    assert {line["status"] for line in lines} == {"ok"}
    assert all(line["user_agent"].endswith("(ask@crawl.example)") for line in lines)
    assert "1 skipped" in said
    assert command.ledger()["http://127.0.0.1/", "http://127.0.0.1/no"] == ("skipped", "robots", 1)
    assert {path for _, path in Sites.asked if path in {"/no", "/file.pdf"}} == set()
    assert json.loads(command.study.manifest_path.read_text())["seed"] == 7
    again = command.run("--internal", "9", "--respect-robots")
    assert (again[0], again[1]) == (0, []), "nothing is left"
    code, _, said = command.run("--seed", "8")
    assert code == 2
    assert "shuffled with seed 7" in said


def test_shards_in_a_recorded_order_without_those_who_asked(command: Command, tmp_path: Path) -> None:
    hosts = [f"127.0.0.{n}" for n in range(2, 10)]
    command.list.write_text("name,address\n" + "\n".join(f"x,http://{host}/page" for host in hosts))
    (tmp_path / "no.txt").write_text("127.0.0.5\n")
    arguments = ("--column", "address", "--exclude-from", str(tmp_path / "no.txt"), "--seed", "3")
    order = []
    left_out = 0
    for shard in ("1/2", "2/2"):
        code, lines, said = command.run(*arguments, "--shard", shard)
        assert code == 0, said
        order += [line["site"] for line in lines]
        left_out += said.count("1 sites do not want to be visited")
    assert sorted(order) == [f"http://{host}/page" for host in hosts if host != "127.0.0.5"]
    assert order != sorted(order)
    assert left_out == 1
    other = Command(tmp_path / "other")
    other.list = command.list
    for shard in ("1/2", "2/2"):
        _, lines, _ = other.run(*arguments, "--shard", shard)
        assert [line["site"] for line in lines] == order[: len(lines)]
        order = order[len(lines) :]


def test_what_may_pass_is_tried_again(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/flaky\n")
    Sites.statuses[:] = [503, 429]
    code, lines, said = command.run("--retries", "2")
    assert (code, [line["status"] for line in lines]) == (0, ["ok"]), said
    assert list(command.ledger().values()) == [("done", None, 3)]
    Sites.statuses[:] = [404, 200]
    command.list.write_text("http://127.0.0.2/flaky\n")
    code, lines, said = command.run("--retries", "2")
    assert [(line["status"], line["error_code"]) for line in lines] == [("failed", "HTTP 404")], said


def test_profiles(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/page\n")
    code, lines, said = command.run("--profile", "paper-2022", "--device", "mobile")
    assert code == 0, said
    assert [(line["profile"], "Mobile" in line["user_agent"]) for line in lines] == [("paper-2022", True)]
    parameters = json.loads(command.study.manifest_path.read_text())["runs"][0]["parameters"]
    assert (parameters["device"], parameters["third_party_cookies"]) == ("mobile", "allowed")


def test_a_contact_is_all_that_it_changes(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/page\n")
    for number, arguments in enumerate(((), ("--contact", "ask@crawl.example")), start=1):
        code, _, said = command.run("--round", str(number), *arguments)
        assert code == 0, said
    plain, named = Sites.agents
    assert named.pop("User-Agent") == plain.pop("User-Agent") + " (ask@crawl.example)"
    assert {name: sorted(value.split(", ")) for name, value in plain.items()} == {
        name: sorted(value.split(", ")) for name, value in named.items()
    }


def test_vantages_have_an_as(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/page\n")
    code, lines, said = command.run("--vantage", "home", "--vantage-address", "2001:DB8:0::1")
    assert (code, lines[0]["vantage_ip"]) == (0, "2001:db8::1"), said
    code, lines, said = command.run("--vantage", "unnamed")
    assert (code, lines[0]["vantage_ip"]) == (0, None), said
    code, lines, said = command.run("--vantage", "google", "--vantage-address", "8.8.8.8")
    assert (code, lines[0]["vantage_ip"]) == (0, "8.8.8.8"), said
    study = ("--study", str(command.study.root))
    assert originset(*study, "analyze").returncode == 0
    sql = "SELECT vantage, ip, asn, visits FROM vantages ORDER BY vantage"
    out = originset(*study, "query", "--sql", sql, "--format", "jsonl")
    assert [tuple(json.loads(line).values()) for line in out.stdout.splitlines()] == [
        ("google", "8.8.8.8", 15169, 1),
        ("home", "2001:db8::1", None, 1),
        ("unnamed", None, None, 1),
    ]
    code, _, said = command.run("--vantage-address", "8.8.8")
    assert (code, "'8.8.8' does not appear to be" in said) == (2, True), said


def test_banners_are_clicked_for_those_who_ask(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/banner\n")
    code, lines, said = command.run()
    assert (code, [line["consent_banner"] for line in lines]) == (0, ["seen"]), said
    assert "/accepted" not in {path for _, path in Sites.asked}
    code, lines, said = command.run("--round", "2", "--consent", "accept")
    assert (code, [(line["consent_banner"], line["status"]) for line in lines]) == (0, [("accepted", "ok")]), said
    assert Sites.asked[-1] == ("127.0.0.1", "/accepted")
    text = read_capture_bytes(capture_path(command.study.captures, lines[0]["visit_id"]))
    entries = json.loads(text)["log"]["entries"]
    assert entries[-1]["request"]["url"] == "http://127.0.0.1/accepted"
    runs = json.loads(command.study.manifest_path.read_text())["runs"]
    assert [run["parameters"]["consent"] for run in runs] == ["leave", "accept"]


def test_browsers_are_kept_to_one_address_family(testbed: Testbed, command: Command) -> None:
    """www.daily.test has addresses of both families, anna.test and some hosts that it loads from have IPv4 alone."""
    command.list.write_text("www.daily.test\nanna.test\n")
    seen: dict[str, dict[str, tuple[str, str | None, str]]] = {}
    for number, family in enumerate(("4", "6", "both"), start=1):
        code, lines, said = command.run("--round", str(number), "--family", family, environment=testbed.environment)
        assert code == 0, said
        seen[family] = {line["site"]: (line["status"], line["error"], line["ip_families"]) for line in lines}
        for line in lines:
            path = capture_path(command.study.captures, line["visit_id"])
            extension = decode_extension(read_capture_bytes(path), str(path))
            reached = {ipaddress.ip_address(one.server_ip).version for one in extension.connections if one.tls}
            asked = {query.rtype for query in extension.dns if query.source == "browser" and query.attempts}
            assert reached <= {"4": {4}, "6": {6}, "both": {4, 6}}[family]
            assert ("AAAA" in asked) == (family != "4")
    assert seen == {
        "4": {"www.daily.test": ("ok", None, "4"), "anna.test": ("ok", None, "4")},
        "6": {"www.daily.test": ("ok", None, "6"), "anna.test": ("failed", "connect", "6")},
        "both": {"www.daily.test": ("ok", None, "both"), "anna.test": ("ok", None, "both")},
    }
    firefox = ("--browser", "firefox", "--family", "6", "--vantage", "firefox")
    code, lines, said = command.run(*firefox, environment=testbed.environment)
    assert {line["site"]: (line["status"], line["error"], line["ip_families"]) for line in lines} == seen["6"], said


def test_a_machine_without_the_address_family(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/page\n")
    alone = [("4", ["-6"]), ("6", [])]
    for family, words in alone:
        subprocess.run(["ip", *(words or ["-4"]), "route", "del", "default"], check=True)
        try:
            assert reachable_families() == family
            code, _, said = command.run("--family", "both")
            assert code == 2
            assert f"this machine reaches IPv{family} alone, not IPv4 and IPv6" in said
        finally:
            destination = "::/0" if words else "default"
            subprocess.run(["ip", *words, "route", "add", destination, "dev", "uplink"], check=True)
    assert reachable_families() == "both"
    assert not command.study.root.exists(), "nothing was begun"


@pytest.mark.promise("faults-lose-nothing")
def test_a_crawl_stops_where_the_disk_is_full(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/page\n")
    command.study.root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "small", str(command.study.root)], check=True)
    try:
        code, lines, said = command.run()
        assert (code, lines) == (1, [])
        assert "MB left on the study's disk" in said
        assert "1 visits left over" in said
    finally:
        subprocess.run(["umount", str(command.study.root)], check=True)


def test_a_crawl_stops_where_the_machine_runs_short(sites: None, tmp_path: Path) -> None:
    listed = parse_site_list("list", [(1, "http://127.0.0.1/page"), (2, "http://127.0.0.2/page")], "0")
    settings = CrawlSettings(jobs=1, least_memory=1 << 60)
    summary = crawl(Study(tmp_path), listed, settings, lambda _visit, _left: None, lambda _plan: None)
    assert (summary.made, summary.left_over) == ({}, 2)
    assert summary.shortage is not None
    assert "of memory left" in summary.shortage


@pytest.mark.promise("crawls-begin-only-where-that-holds")
def test_a_machine_that_can_refuse_nothing(sites: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so before the first visit, rather than let pages reach what they like."""
    monkeypatch.setattr(local_workers, "can_filter", lambda: False)
    listed = parse_site_list("list", [(1, "http://127.0.0.1/page")], "0")
    asked = len(Sites.asked)
    with pytest.raises(UsageError, match="addresses that are not public") as refused:
        crawl(Study(tmp_path), listed, CrawlSettings(jobs=1), lambda _visit, _left: None, lambda _plan: None)
    assert refused.value.advice is not None
    assert "--allow-private" in refused.value.advice
    allowed = CrawlSettings(jobs=1, visit=VisitSettings(allow_private=True))
    summary = crawl(Study(tmp_path), listed, allowed, lambda _visit, _left: None, lambda _plan: None)
    assert summary.made == {"ok": 1}
    assert len(Sites.asked) > asked


def test_browsers_are_replaced(command: Command) -> None:
    """By visits, by time, by memory, at which every tenth visit looks, and if each visit is to have a profile."""
    bounds: list[dict[str, Any]] = [{"browser_visits": 1}, {"browser_s": 0.0}, {}, {"browser_memory": 0}, {}]
    browsers = []
    for number, bound in enumerate(bounds):
        listed = parse_site_list(
            "list", [(n, f"http://127.0.{number}.{n}/page") for n in range(1, 12 if number == 3 else 4)], "0"
        )
        study = Study(command.study.root / str(number))
        seen: set[int] = set()

        def look(_visit: object, _left: int, seen: set[int] = seen) -> None:
            with os.scandir("/proc") as processes:
                for process in processes:
                    if process.name.isdecimal() and _is_browser(int(process.name)):
                        seen.add(int(process.name))

        own_profiles = number == 4
        browser = "chromium" if own_profiles else "headless-shell"
        visits = VisitSettings(browser=browser, quiet_s=0.2, allow_private=True, profile_per_visit=own_profiles)
        crawl(study, listed, CrawlSettings(jobs=1, visit=visits, **bound), look, lambda _plan: None)
        browsers.append(len(seen))
    assert browsers == [3, 3, 1, 2, 3]


def _is_browser(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.startswith(b"--log-net-log=") for word in words) and not any(b"--type=" in word for word in words)


def test_a_capture_that_its_crawl_could_not_report_is_not_made_again(command: Command) -> None:
    command.list.write_text("http://127.0.0.1/\nhttp://127.0.0.2/page\n")
    code, lines, said = command.run("--internal", "2", "--seed", "1")
    assert code == 0, said
    landing = next(line for line in lines if line["site"] == "http://127.0.0.1/" and line["page_kind"] == "landing")
    path = capture_path(command.study.captures, landing["visit_id"])
    for line in lines:
        if line["page_kind"] == "internal":
            capture_path(command.study.captures, line["visit_id"]).unlink()
    row = LedgerRow("http://127.0.0.1/", "default", 1, 1, address="http://127.0.0.1/")
    with sqlite3.connect(command.study.ledger_path) as connection:
        # As a crawl leaves it that was killed between the capture's rename and the ledger's commit.
        connection.execute("DELETE FROM visits WHERE page <> ''")
        since = "2000-01-01T00:00:00+00:00"
        connection.execute("UPDATE visits SET state = 'leased', changed_at = ? WHERE site = ?", (since, row.site))
    connection.close()
    listed = parse_site_list("list", [(1, "http://127.0.0.1/")], "0")
    with Ledger(command.study.ledger_path) as ledger:
        plan = plan_crawl(command.study, ledger, listed, CrawlSettings(internal=2))
        assert (plan.recovered, plan.skipped) == (1, {"done": 1})
        extension = decode_extension(read_capture_bytes(path), str(path))
        assert sorted(one.page for one in plan.pending) == sorted(extension.links)
        assert len(plan.pending) == 2
        # An older capture is of a visit that was to be made again.
        ledger.lease([row])
        assert plan_crawl(command.study, ledger, listed, CrawlSettings()).recovered == 0
