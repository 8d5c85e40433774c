"""Crawls at length: rough sites, kills at any moment, many vantages, a long list.

``make soak`` runs them in full; otherwise they are as small as their assertions permit, which are the same.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import duckdb
import psutil
import pytest
from living import living

from originset.crawler import crawl_run as crawl_module
from originset.crawler.crawl import browser_worker
from originset.crawler.crawl.site_list import parse_site_list
from originset.crawler.crawl_run import crawl
from originset.crawler.machine import private_memory
from originset.crawler.settings import CrawlSettings, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.scenario import Scenario
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import Extension, Visit, capture_paths, decode_extension, read_capture_bytes
from originset.data.ledger.crawl_ledger import Ledger
from originset.data.studies.study import Study

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
PATIENCE_S = 7200 if FULL else 200

pytestmark = [pytest.mark.soak, pytest.mark.timeout(PATIENCE_S)]

# What becomes of each kind of rough site.
REASONS = {
    "hangs": {("partial", "hang")},
    "crashes": {("failed", "crash")},
    "silent": {("failed", "timeout")},
    "endless": {("partial", "timeout")},
    "drops": {("failed", "connect"), ("failed", "empty"), ("failed", "http")},
}


def rough() -> Scenario:
    return scenario_file.built_in("rough")


class Crawls:
    """``originset crawl`` of one study, with a place of its own for whatever it and its browsers write."""

    def __init__(self, folder: Path) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix="soak-"))
        self.study = Study(folder / "study")
        self.list = folder / "sites.txt"
        # A page that takes all memory that it gets must not get all that there is.
        wrapper = self.scratch / "bin" / "chromium"
        wrapper.parent.mkdir()
        chromium = shutil.which("chromium") or "chromium"
        wrapper.write_text(f'#!/bin/sh\nexec {chromium} "$@" --js-flags=--max-old-space-size=64\n')
        wrapper.chmod(0o700)

    def start(self, testbed: Testbed, *arguments: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            **testbed.environment,
            "TMPDIR": str(self.scratch),
            "PATH": f"{self.scratch / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.Popen(
            [sys.executable, "-m", "originset", "--study", str(self.study.root), "crawl", str(self.list), *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def processes(self) -> list[psutil.Process]:
        return living(str(self.scratch))

    def gone(self) -> bool:
        deadline = time.monotonic() + 30
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.processes()

    def visits(self) -> dict[str, Visit]:
        """All captures, every one of them whole, by id."""
        return {
            path.name.partition(".")[0]: decode_extension(read_capture_bytes(path), str(path)).visit
            for path in capture_paths(self.study.captures)
        }

    def states(self) -> Counter[tuple[str, str | None]]:
        with sqlite3.connect(self.study.ledger_path) as connection:
            rows = connection.execute("SELECT state, error FROM visits").fetchall()
        connection.close()
        return Counter(rows)


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    made = Crawls(tmp_path)
    yield made
    shutil.rmtree(made.scratch)


def calm_sites(count: int) -> list[str]:
    calm = [site for site in rough().sites if "calm" in site]
    return [f"https://{calm[n % len(calm)]}/?n={n}" for n in range(count)]


@pytest.mark.browser
@pytest.mark.testbed
def test_rough_sites(crawls: Crawls, tmp_path: Path) -> None:
    total, of_each_kind = (1000, 10) if FULL else (55, 1)
    bad = [f"https://www.{kind}.test/?n={n}" for n in range(of_each_kind) for kind in REASONS]
    crawls.list.write_text("\n".join(calm_sites(total - len(bad)) + bad))
    memory: list[int] = []
    lines: list[dict[str, Any]] = []
    with Testbed(rough(), tmp_path / "testbed") as testbed:
        # Rough pages take all of their time; calm ones on a loaded machine need some of it.
        timeout = "15" if FULL else "8"
        arguments = ("--jobs", "3", "--timeout", timeout, "--retries", "0", "--format", "jsonl")
        with crawls.start(testbed, *arguments) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            crawler = psutil.Process(process.pid)
            for line in process.stdout:
                lines.append(json.loads(line))
                if len(lines) % 2 == 0:  # looking costs a tenth of a visit
                    memory.append(private_memory([crawler]))
            said = process.stderr.read()
        assert process.returncode == 0, said
    assert crawls.gone()
    assert list(crawls.scratch.iterdir()) == [crawls.scratch / "bin"]
    visits = crawls.visits()
    assert len(lines) == len({line["visit_id"] for line in lines}) == len(visits) == total
    assert sum(crawls.states().values()) == total
    assert {state for state, _ in crawls.states()} == {"done", "partial", "failed"}
    for visit in visits.values():
        kind = visit.site.split(".")[1]
        assert (visit.status, visit.error) in REASONS.get(kind, {("ok", None)}), visit
    part = max(len(memory) // 10, 12)
    first, last = statistics.median(memory[:part]), statistics.median(memory[-part:])
    print(f"memory in the first {2 * part} visits: {first / 1e6:.0f} MB, in the last: {last / 1e6:.0f} MB")  # noqa: T201
    assert last <= 1.1 * first


@pytest.mark.browser
@pytest.mark.testbed
def test_kills_at_any_moment(crawls: Crawls, tmp_path: Path) -> None:
    kills = 50 if FULL else 3
    total = kills * 6
    crawls.list.write_text("\n".join(calm_sites(total)))
    moments = random.Random(8336)  # noqa: S311 - moments, not secrets
    before: dict[str, Visit] = {}
    killed = 0
    with Testbed(rough(), tmp_path / "testbed") as testbed:
        while killed < kills:
            process = crawls.start(testbed, "--jobs", "2", "--timeout", "10", "--format", "jsonl")
            assert process.stdout is not None
            # Every fifth moment counts from the start, the others from the first visit, however long that takes.
            latest = 5 if killed % 5 == 0 or not process.stdout.readline() else 2
            try:
                process.communicate(timeout=moments.uniform(0, latest))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                killed += 1
            assert crawls.gone(), "browsers outlived their crawl"
            visits = crawls.visits() if crawls.study.captures.exists() else {}
            assert before.items() <= visits.items(), "a whole visit was made again"
            before = visits
            if len(before) == total:
                break
        process = crawls.start(testbed, "--jobs", "2", "--timeout", "10")
        _, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
    print(f"{killed} kills, {len(before)} of {total} visits made until the last of them")  # noqa: T201
    assert killed == kills, "the list was too short for so many kills"
    assert len(before) >= kills * 4 // 5
    visits = crawls.visits()
    assert before.items() <= visits.items()
    assert Counter(visit.site for visit in visits.values()) == Counter(crawls.list.read_text().split())
    assert crawls.states() == {("done", None): total}
    assert list(crawls.study.root.rglob("*.tmp")) == []


def from_elsewhere(number: int) -> Scenario:
    """What DNS answers at a vantage: the image host is somewhere else, for some sites where the page is."""
    scenario = rough()
    hosts = dict(scenario.hosts)
    for site in range(1, 7):
        page, image = hosts[f"www.calm{site}.test"], hosts[f"img.calm{site}.test"]
        there = page.addresses if site % 3 == number else (f"104.18.{3 + number}.{site}",)
        hosts[image.name] = dataclasses.replace(image, addresses=there)
    return dataclasses.replace(scenario, hosts=hosts)


@pytest.mark.browser
@pytest.mark.testbed
def test_vantages_rounds_and_repeats_are_one_study(crawls: Crawls, tmp_path: Path) -> None:
    rounds, repeats, count, vantages = (3, 5, 6, ["ams", "nyc", "sin"]) if FULL else (2, 2, 2, ["ams", "nyc"])
    # The last one never needs more than one connection, so that sites differ from one another too.
    sites = [*(f"www.calm{n}.test" for n in range(1, count + 1)), "https://img.calm1.test/1.png"]
    crawls.list.write_text("\n".join(sites))
    for number, vantage in enumerate(vantages):
        with Testbed(from_elsewhere(number), tmp_path / "testbed") as testbed:
            for round_number in range(1, rounds + 1):
                process = crawls.start(
                    testbed, "--vantage", vantage, "--round", str(round_number), "--repeat", str(repeats), "--jobs", "2"
                )
                _, said = process.communicate(timeout=PATIENCE_S)
                assert process.returncode == 0, said
    visits = crawls.visits().values()
    made = Counter((visit.site, visit.vantage, visit.round, visit.repeat) for visit in visits)
    expected = len(sites) * len(vantages) * rounds * repeats
    assert (len(made), sum(made.values())) == (expected, expected)
    originset = [sys.executable, "-m", "originset", "--study", str(crawls.study.root)]
    subprocess.run([*originset, "analyze"], check=True, capture_output=True)
    out = subprocess.run(
        [*originset, "query", "variance_site_summary", "--format", "json"], check=True, capture_output=True, text=True
    )
    rows = {row["vantage"]: row for row in json.loads(out.stdout) if row["counts"] == "TLS connections"}
    with duckdb.connect(str(crawls.study.database_path), read_only=True) as connection:
        counts = connection.execute(
            "SELECT vantage, site, measured_tls FROM visits JOIN page_counts USING (visit_id)"
        ).fetchall()
    assert sorted(rows) == vantages, "each stands by itself"
    for vantage, row in rows.items():
        groups = [[tls for place, site, tls in counts if (place, site) == (vantage, wanted)] for wanted in sites]
        within = statistics.mean(statistics.variance(group) for group in groups)
        assert (row["pages"], row["visits"]) == (len(sites), expected / len(vantages))
        assert row["within_variance"] == pytest.approx(within)
        between = max(0.0, statistics.variance(map(statistics.mean, groups)) - within / len(groups[0]))
        assert row["between_variance"] == pytest.approx(between)
        assert row["between_variance"] > 0, "sites differ"


class Stub:
    """In place of a browser: a process that answers a line with that line."""

    def __init__(self, _settings: VisitSettings) -> None:
        self.killed = False

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def private_memory(self) -> int:
        return private_memory([psutil.Process(self.process.pid)])

    def kill(self) -> None:
        self.killed = True
        self.process.kill()


def answered(stub: Stub, request: VisitRequest) -> tuple[dict[str, Any], Extension]:
    assert stub.process.stdin is not None
    assert stub.process.stdout is not None
    started = time.time_ns() // 1000
    stub.process.stdin.write(request.url + "\n")
    url = stub.process.stdout.readline().strip()
    visit = Visit(
        visit_id=request.visit_id,
        site=request.site,
        url=url,
        started_at=time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started // 10**6)) + f".{started % 10**6:06}Z",
        status="ok",
        browser_version="0",
    )
    return {"version": "1.2", "entries": []}, Extension(visit=visit)


def test_the_ledger_costs_the_same_from_first_to_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    total = 10_000 if FULL else 1_000
    monkeypatch.setattr(browser_worker, "browser_for", Stub)
    monkeypatch.setattr(browser_worker, "visit", answered)
    costs: list[int] = []

    class Counted(Ledger):
        """What the database does for each visit, in steps of its own: a search of the whole table would be many."""

        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.steps = 0
            self._connection.set_progress_handler(self.step, 1)

        def step(self) -> None:
            self.steps += 1

        def lease(self, *arguments: Any, **named: Any) -> None:
            before = self.steps
            super().lease(*arguments, **named)
            costs.append(self.steps - before)

        def finish(self, *arguments: Any, **named: Any) -> None:
            before = self.steps
            super().finish(*arguments, **named)
            costs[-1] += self.steps - before

    monkeypatch.setattr(crawl_module, "Ledger", Counted)
    sites = parse_site_list("list", ((n, f"site{n}.example") for n in range(1, total + 1)), "0")
    study = Study(tmp_path / "study")
    children = set(psutil.Process().children())
    left: list[int] = []
    # One slot: with more, costs would be of whoever came between.
    summary = crawl(study, sites, CrawlSettings(jobs=1), lambda _visit, rest: left.append(rest), lambda _plan: None)
    assert (summary.made, summary.left_over) == ({"ok": total}, 0)
    assert left == list(range(total - 1, -1, -1))
    assert len(list(capture_paths(study.captures))) == total
    assert set(psutil.Process().children()) == children
    with Ledger(study.ledger_path) as ledger:
        assert ledger.state_counts() == {"done": total}
    first, last = statistics.median(costs[: total // 10]), statistics.median(costs[-total // 10 :])
    print(f"ledger: {first:.0f} steps a visit at first, {last:.0f} at last")  # noqa: T201
    assert 10 < last < 1.1 * first
