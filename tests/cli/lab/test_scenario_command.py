"""``originset lab scenario``: a crawled page, as a scenario, makes the browser do the same again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.namespace import run_inside

PAGE = """
    SELECT host, count(*) AS requests, count(DISTINCT connection_id) AS connections,
        list(DISTINCT server_ip) AS servers, max(protocol) AS protocol
    FROM requests GROUP BY host ORDER BY host"""


def originset(study: Path, *arguments: str, **more: Any) -> str:
    command = [sys.executable, "-c", "from originset.cli.main import run; run()", "--study", str(study), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def page(study: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(originset(study, "query", "--sql", PAGE, "--format", "json"))
    return rows


@pytest.mark.testbed
@pytest.mark.browser
def test_a_page_of_a_study_happens_again(tmp_path: Path) -> None:
    """Two namespaces: the small internet, and the internet that its page was exported to."""
    (tmp_path / "sites.txt").write_text("daily.test\n")
    crawl = "from originset.cli.main import run; run()"

    def crawled(study: str, scenario: str) -> Path:
        inner = [sys.executable, "-c", crawl, "--study", study, "crawl", "sites.txt", "--jobs", "1"]
        there = ["sh", "-c", 'cd "$0" && exec "$@"', str(tmp_path)]
        assert run_inside([*there, sys.executable, "-m", "originset", "lab", "run", scenario, "--", *inner]) == 0
        originset(tmp_path / study, "analyze")
        return tmp_path / study

    first = crawled("first", "small_internet")
    originset(first, "lab", "scenario", "daily.test", "--out", str(tmp_path / "daily.toml"))
    text = originset(first, "lab", "scenario", "daily.test")
    assert (tmp_path / "daily.toml").read_text() == text
    small, exported = scenario_file.built_in(), scenario_file.parse(text)
    assert exported.sites == ("daily.test",)
    for name, host in exported.hosts.items():
        assert host.addresses == small.hosts[name].addresses or name == "daily.test", "it was asked for over IPv4 alone"
        original = small.certificates[small.hosts[name].certificate or ""]
        assert sorted(exported.certificates[host.certificate or ""].names) == sorted(original.names)
    second = crawled("second", str(tmp_path / "daily.toml"))
    assert page(second) == page(first)
    assert len(page(first)) == 9


@pytest.mark.parametrize(
    ("site", "line"),
    [
        ("nowhere.test", "the study has no visit of nowhere.test that did not fail; list its visits: "),
        ("www.site.test", "the visit of www.site.test shows no document over https at a public address; crawl it"),
    ],
)
def test_what_cannot_be_exported_is_one_line(run, site: str, line: str) -> None:
    done = run("lab", "scenario", site)
    assert (done.returncode, done.stdout) == (2, "")
    (told,) = done.stderr.splitlines()
    assert told.startswith(f"originset: error: {line}")
