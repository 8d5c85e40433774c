"""A study with two browsers and with settings that change, crawled as a user would: the whole command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from console_entry import originset

from originset.crawler.testbed.testbed import Testbed
from originset.data.captures.capture import capture_paths
from originset.data.studies.study import Study

pytestmark = [pytest.mark.testbed, pytest.mark.browser]


class Commands:
    """``originset`` with a study and a list."""

    def __init__(self, testbed: Testbed, folder: Path) -> None:
        self.study = Study(folder / "study")
        self.sites = folder / "sites.txt"
        self._environment = testbed.environment

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        ended = originset("--study", str(self.study.root), *arguments, environment=self._environment)
        return ended.returncode, ended.stdout, ended.stderr

    def crawl(self, *arguments: str) -> tuple[int, str, str]:
        return self("crawl", str(self.sites), "--jobs", "1", "--retries", "0", "--vantage", "lab", *arguments)


def test_two_browsers_in_one_study(testbed: Testbed, tmp_path: Path) -> None:
    commands = Commands(testbed, tmp_path)
    commands.sites.write_text("anna.test\n")
    code, _, said = commands.crawl()
    assert code == 0, said
    commands.sites.write_text("anna.test\nwiki.test\n")
    before = commands.study.manifest_path.read_bytes()
    firefox = ("--browser", "firefox", "--third-party-cookies", "blocked")
    code, _, said = commands.crawl(*firefox)
    assert code == 2
    assert "round 1 of vantage lab was visited with browser chromium, not firefox; third party cookies allowed" in said
    assert "add --as-round to crawl as a round of its own" in said
    assert commands.study.manifest_path.read_bytes() == before, "nothing was begun"
    code, _, said = commands.crawl(*firefox, "--dry-run")
    assert code == 2, said
    for visits in ("2 ok", "nothing to do"):
        code, _, said = commands.crawl(*firefox, "--as-round")
        assert code == 0, said
        assert "round 2 of vantage lab" in said
        assert f"crawl: {visits}" in said
    code, _, said = commands.crawl()
    assert code == 0, "and the first round goes on"
    assert len(list(capture_paths(commands.study.captures))) == 4
    rounds = commands.study.manifest()["rounds"]
    assert [(entry["round"], entry["settings"]["browser"]) for entry in rounds] == [(1, "chromium"), (2, "firefox")]
    assert all(entry["settings"]["browser_version"] for entry in rounds)
    assert commands("analyze")[0] == 0
    sql = "SELECT round, browser, count(*) AS visits FROM visits GROUP BY ALL ORDER BY round"
    _, out, _ = commands("query", "--sql", sql, "--format", "jsonl")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"round": 1, "browser": "chromium", "visits": 2},
        {"round": 2, "browser": "firefox", "visits": 2},
    ]
    code, _, said = commands.crawl("--round", "3", "--as-round")
    assert code == 2
    assert "leave one of them out" in said


def test_a_browser_that_was_updated_meanwhile(testbed: Testbed, tmp_path: Path) -> None:
    commands = Commands(testbed, tmp_path)
    commands.sites.write_text("anna.test\n")
    assert commands.crawl()[0] == 0
    manifest = commands.study.manifest()
    manifest["rounds"][0]["settings"]["browser_version"] = "100.0.1.2"
    commands.study.manifest_path.write_text(json.dumps(manifest))
    commands.sites.write_text("anna.test\nwiki.test\n")
    code, _, said = commands.crawl()
    assert code == 2
    assert "was visited with browser version 100.0.1.2, not" in said
    assert len(list(capture_paths(commands.study.captures))) == 1, "the visit is not kept"
    code, _, said = commands.crawl("--as-round")
    assert (code, "round 2 of vantage lab" in said, "crawl: 2 ok" in said) == (0, True, True), said
