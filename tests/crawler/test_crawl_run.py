"""Crawls of the testbed as a user starts them: the whole command, in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
import pytest
from living import living
from other_user import listening_ports
from web_server import Quiet, serving

from originset.crawler.testbed.testbed import Testbed
from originset.data.captures.capture import capture_paths, decode_extension, read_capture_bytes
from originset.data.studies.study import Study

pytestmark = [pytest.mark.browser, pytest.mark.testbed]

# A host that stops answering would end these tests; what they wait for comes within seconds.
PATIENCE_S = 60


class Command:
    """``originset crawl`` with a place of its own for whatever it and its browsers write."""

    def __init__(self, testbed: Testbed, folder: Path) -> None:
        # Not below pytest's folder: the name of a socket has to be short.
        self.scratch = Path(tempfile.mkdtemp(prefix="crawl-"))
        self.study = Study(folder / "study")
        self.list = folder / "sites.txt"
        self._environment = {**os.environ, **testbed.environment, "TMPDIR": str(self.scratch)}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "originset", "--study", str(self.study.root), "crawl", str(self.list)]
        return subprocess.Popen(
            [*command, *arguments], env=self._environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        _, said = process.communicate(timeout=PATIENCE_S)
        return process.returncode, said

    def ledger(self) -> dict[str, tuple[str, int, str | None]]:
        with sqlite3.connect(self.study.ledger_path) as connection:
            rows = connection.execute("SELECT site, state, attempts, error FROM visits").fetchall()
        connection.close()
        return {site: (state, attempts, error) for site, state, attempts, error in rows}

    def captures(self) -> dict[str, str]:
        """Site -> status of every capture, all of them whole."""
        visits = [
            decode_extension(read_capture_bytes(path), str(path)).visit for path in capture_paths(self.study.captures)
        ]
        assert len({visit.site for visit in visits}) == len(visits)
        return {visit.site: visit.status for visit in visits}

    def processes(self) -> list[psutil.Process]:
        """Living processes that work in the scratch folder: browsers, drivers and their helpers."""
        return living(str(self.scratch))

    def wait_for(self, what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if what == "captures" and self.study.captures.exists() and self.captures():
                return
            if what == "no processes" and not self.processes():
                return
            time.sleep(0.05)
        pytest.fail(f"no {what} after {PATIENCE_S} s; running: {self.processes()}")


@pytest.fixture
def command(testbed: Testbed, tmp_path: Path) -> Iterator[Command]:
    command = Command(testbed, tmp_path)
    yield command
    shutil.rmtree(command.scratch)


def test_a_crawl_keeps_every_result(testbed: Testbed, command: Command) -> None:
    command.list.write_text(
        "# ranking\n1,anna.test\n2,gone.test\n3,refused.test\nanna.test\nhttps://wiki.test/missing\n"
    )
    code, said = command.run("--jobs", "1", "--retries", "0", "--vantage", "lab")
    assert code == 0, said
    assert "1 repeated entries left out (line 5)" in said
    assert command.captures() == {
        "anna.test": "ok",
        "gone.test": "failed",
        "refused.test": "failed",
        "https://wiki.test/missing": "failed",
    }
    assert {site: (state, error) for site, (state, _, error) in command.ledger().items()} == {
        "anna.test": ("done", None),
        "gone.test": ("failed", "dns"),
        "refused.test": ("failed", "connect"),
        "https://wiki.test/missing": ("failed", "http"),
    }
    manifest = json.loads(command.study.manifest_path.read_text())
    assert manifest["browser"]["name"] == "chromium"
    assert "--headless=new" in manifest["browser"]["flags"]
    assert manifest["third_party_cookies"] == "allowed"
    assert manifest["vantages"] == ["lab"]
    assert manifest["runs"][0]["parameters"]["site_list_sha256"] == manifest["site_list"]["sha256"]
    assert manifest["runs"][0]["counts"] == {"made": {"ok": 1, "failed": 3}, "skipped": {}, "left_over": 0}

    before = len(testbed.dns_queries())
    code, said = command.run("--vantage", "lab")
    assert (code, len(testbed.dns_queries())) == (0, before), "what is there is not visited again"
    assert "already in the study: 1 done, 3 failed" in said

    code, said = command.run("--vantage", "lab", "--only", "failed", "--retries", "0")
    assert code == 0, said
    assert "crawl: 3 failed" in said
    assert len(testbed.dns_queries()) > before
    assert {attempts for _, attempts, _ in command.ledger().values()} == {1, 2}


class Plain(Quiet, BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer(200, b"hi")


def test_http_where_nothing_listens_for_https(command: Command) -> None:
    command.list.write_text("127.0.0.1\nrefused.test\nhttps://127.0.0.1/said\n")
    with serving(Plain, 80):
        code, said = command.run("--retries", "0", "--allow-private")
    assert code == 0, said
    visits = [decode_extension(read_capture_bytes(path), "").visit for path in capture_paths(command.study.captures)]
    assert {visit.site: (visit.url, visit.status, visit.error, visit.quality) for visit in visits} == {
        "127.0.0.1": ("http://127.0.0.1/", "ok", None, ["http_fallback"]),
        # No answer to either: the first failure is the site's.
        "refused.test": ("https://refused.test/", "failed", "connect", []),
        # The list asked for this address and no other.
        "https://127.0.0.1/said": ("https://127.0.0.1/said", "failed", "connect", []),
    }


@pytest.mark.promise("pages-stay-public")
def test_sites_at_addresses_that_are_not_public(command: Command) -> None:
    """They are a result, and asked for neither by http nor once more; names of one network are asked of nobody."""
    command.list.write_text("127.0.0.1\nhttp://localhost/\nhttp://[::ffff:127.0.0.1]/\n")
    with serving(Plain, 80):
        code, said = command.run("--retries", "2")
    assert code == 0, said
    assert len(command.ledger()) == 3
    assert set(command.ledger().values()) == {("failed", 1, "private")}
    manifest = json.loads(command.study.manifest_path.read_text())
    assert manifest["runs"][0]["parameters"]["allow_private"] is False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_crawl_leaves_nothing_half_done(testbed: Testbed, command: Command, number: int) -> None:
    sites = [site for site in testbed.sites if site not in {"gone.test", "refused.test", "expired.test"}]
    command.list.write_text("\n".join(sites))
    process = command.start("--jobs", "2")
    command.wait_for("captures")
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, said
    assert command.processes() == []
    assert list(command.scratch.iterdir()) == []
    assert list(command.study.root.rglob("*.tmp")) == []
    made = command.captures()
    states = Counter(state for state, _, _ in command.ledger().values())
    assert states == {"done": len(made), "queued": len(sites) - len(made)}
    assert 0 < len(made) < len(sites)

    code, said = command.run("--jobs", "2")
    assert code == 0, said
    assert f"already in the study: {len(made)} done" in said
    assert f"crawl: {len(sites) - len(made)} ok" in said
    assert command.captures() == dict.fromkeys(sites, "ok")
    assert command.processes() == []


@pytest.mark.promise("crawls-take-browsers-along")
def test_a_killed_crawl_takes_its_browsers_along(testbed: Testbed, command: Command) -> None:
    sites = [site for site in testbed.sites if site not in {"gone.test", "refused.test", "expired.test"}]
    command.list.write_text("\n".join(sites))
    process = command.start("--jobs", "1")
    command.wait_for("captures")
    process.kill()
    process.communicate()
    command.wait_for("no processes")
    made = command.captures()
    assert "leased" in {state for state, _, _ in command.ledger().values()}
    assert list(command.scratch.iterdir()) != [], "nobody was left to remove what the browser wrote"

    code, said = command.run("--jobs", "2")
    assert code == 0, said
    assert set(made) <= set(command.captures()) == set(sites)
    assert list(command.scratch.iterdir()) == []


@pytest.mark.promise("crawls-listen-nowhere")
def test_a_crawl_listens_nowhere(testbed: Testbed, command: Command) -> None:
    sites = [site for site in testbed.sites if site not in {"gone.test", "refused.test", "expired.test"}]
    command.list.write_text("\n".join(sites))
    process = command.start("--jobs", "2")
    command.wait_for("captures")
    crawl = psutil.Process(process.pid)
    processes = [crawl, *crawl.children(recursive=True)]
    assert len(processes) > 5
    assert listening_ports(processes) == []
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)


def test_a_list_that_cannot_be_used(testbed: Testbed, command: Command) -> None:
    command.list.write_text("good.test\nnot a site\n")
    code, said = command.run()
    assert code == 2
    assert f"{command.list}:2: not a host name or address: 'not a site'" in said
    assert not command.study.root.exists(), "nothing was begun"
