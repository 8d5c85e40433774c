"""A session as the guide for researchers has it, rehearsed in the lab: from two vantages to an artifact elsewhere.

``make soak`` takes the lab's thirty sites with inner pages; otherwise it is a sixth of them, with the same assertions.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running_crawl import FULL, PATIENCE_S, Crawl, outage

from originset.cli.study.artifact import NAME
from originset.crawler.testbed.many_sites import many_sites
from originset.crawler.testbed.testbed import Testbed
from originset.data.studies.database import open_database
from originset.data.studies.study import Study

pytestmark = [pytest.mark.testbed, pytest.mark.browser, pytest.mark.soak, pytest.mark.timeout(3 * PATIENCE_S)]

SITES, INTERNAL = (30, 2) if FULL else (5, 0)
OPTIONS = ("--jobs", "1", "--internal", str(INTERNAL))
CHROMIUM = "chromium" if FULL else "headless-shell"


def crawl_with_interruptions(testbed: Testbed, folder: Path) -> Study:
    """From one vantage: an outage, a kill, a Ctrl-C, each followed by the same command."""

    def begun() -> Crawl:
        return Crawl(testbed, folder, testbed.sites, *OPTIONS, "--vantage", "ams", "--browser", CHROMIUM)

    crawl = begun()
    crawl.wait_for("captures", 1)
    with outage():
        crawl.wait_for("this machine has no network", 1)
    crawl.wait_for("this machine has a network again", 1)
    assert crawl.send(signal.SIGKILL) == -signal.SIGKILL
    there = crawl.captures()
    crawl = begun()
    crawl.wait_for("captures", there + 1)
    assert crawl.send(signal.SIGINT) == 130, crawl.said
    crawl = begun()
    assert crawl.end() == 0, crawl.said
    assert {outcome[1:] for outcome in crawl.outcomes()} == {("ok", None)}, "no site failed for it"
    return crawl.study


def crawl_with_two_browsers(testbed: Testbed, folder: Path) -> Study:
    """From the other vantage: two browsers, a round each."""
    options = ("--vantage", "bos", "--as-round", "--browser")
    for browser in (CHROMIUM, "firefox"):
        crawl = Crawl(testbed, folder, testbed.sites[: SITES // 2], *OPTIONS, *options, browser)
        assert crawl.end() == 0, crawl.said
    return crawl.study


def unpacked(archive: Path, to: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(to, filter="data")
    return to / NAME


def test_from_two_vantages_to_an_artifact(run: Callable[..., Any], tmp_path: Path) -> None:
    parts = []
    scenario = dataclasses.replace(many_sites(SITES), dns_address="192.0.2.57")
    with Testbed(scenario, tmp_path / "lab") as testbed:
        for vantage, crawled in (("ams", crawl_with_interruptions), ("bos", crawl_with_two_browsers)):
            (tmp_path / vantage).mkdir()
            parts.append(crawled(testbed, tmp_path / vantage).root)
        sites = testbed.sites
    whole = ("--study", tmp_path / "whole")
    visits = (SITES + 2 * (SITES // 2)) * (1 + INTERNAL)
    merged = run(*whole, "study", "merge", *parts)
    assert (merged.returncode, f"{visits} captures and 0 imported visits are new" in merged.stderr) == (0, True), merged
    assert run(*whole, "analyze").returncode == 0

    ranking = tmp_path / "ranking.csv"
    ranking.write_text("site,place\n" + "".join(f"{site},{place}\n" for place, site in enumerate(sites, 1)))
    joined = run(
        *whole, "query", "--attach", ranking, "--format", "csv", "--sql",
        "SELECT vantage, round, browser LIKE 'firefox%' AS firefox, count(*) AS visits, max(place) AS last FROM visits "
        "JOIN ranking USING (site) WHERE status = 'ok' GROUP BY ALL ORDER BY ALL",
    )  # fmt: skip
    pages = 1 + INTERNAL
    assert list(csv.reader(io.StringIO(joined.stdout)))[1:] == [
        ["ams", "1", "false", str(SITES * pages), str(SITES)],
        ["bos", "1", "false", str(SITES // 2 * pages), str(SITES // 2)],
        ["bos", "2", "true", str(SITES // 2 * pages), str(SITES // 2)],
    ], joined

    packed = tmp_path / "artifact.tar.gz"
    made = run(*whole, "study", "artifact", "--out", packed)
    assert made.returncode == 0, made
    require_the_same_elsewhere(Study(tmp_path / "whole"), unpacked(packed, tmp_path / "elsewhere"), tmp_path / "bin")


def require_the_same_elsewhere(study: Study, bundle: Path, programs: Path) -> None:
    """The bundle's own commands, with nothing of the user's environment, give the figures by vantage and the tables."""
    page = (bundle / "ARTIFACT.md").read_text()
    commands = [line.split("`")[1] for line in page.split("## Claims")[0].splitlines() if line.startswith("| `")]
    assert len(commands) == 4
    programs.mkdir()
    (programs / "originset").write_text(f'#!/bin/sh\nexec {sys.executable} -m originset "$@"\n')
    (programs / "originset").chmod(0o755)
    bare = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(programs)}
    for command in commands:
        done = subprocess.run(["sh", "-c", command], cwd=bundle, env=bare, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert done.stdout == "", "figures and tables are byte for byte those of the study"
    drawn = {path.parent.name for path in (bundle / "figures").glob("*/figure-3.csv")}
    chromium = "chromium" if FULL else "chromium-headless-shell"
    assert drawn >= {f"{chromium}-at-{vantage}" for vantage in ("ams", "bos")}
    with open_database(study) as ours, open_database(Study(bundle / "study")) as theirs:
        for table in ("page_counts", "page_load_times", "certificate_additions", "origin_sets"):
            assert ours.execute(f"FROM {table}").fetchall() == theirs.execute(f"FROM {table}").fetchall(), table
