"""The whole crawl with each browser: what the manifest says of it, and what analyze makes of its captures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from originset.cli.main import main
from originset.crawler.browsers.engine import DIFFERENCES, sandbox
from originset.crawler.settings import BrowserName
from originset.crawler.testbed.testbed import Testbed
from originset.data.netlog import request_events
from originset.data.studies.study import Study

pytestmark = [pytest.mark.testbed, pytest.mark.browser]


@pytest.mark.promise("sandbox-is-recorded")
@pytest.mark.parametrize("browser", ["chromium", "headless-shell", "firefox"])
def test_a_study_says_which_browser_made_it_and_how_it_differs(
    testbed: Testbed, tmp_path: Path, browser: BrowserName
) -> None:
    study = Study(tmp_path / "study")
    listed = tmp_path / "sites.txt"
    listed.write_text("shop.test\nwiki.test\n")
    originset = [sys.executable, "-m", "originset", "--study", str(study.root)]
    for command in (["crawl", str(listed), "--browser", browser, "--third-party-cookies", "blocked"], ["analyze"]):
        ended = subprocess.run(
            [*originset, *command],
            env={**os.environ, **testbed.environment},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
    manifest = study.manifest()
    said = manifest["browser"]
    assert (said["name"], said["differs"]) == (browser, list(DIFFERENCES[browser]))
    assert manifest["third_party_cookies"] == "blocked"
    assert said["sandbox"] == ("own" if browser == "firefox" else sandbox())
    _check_features(browser, said)
    with duckdb.connect(str(study.database_path), read_only=True) as database:
        rows = database.execute(
            "SELECT status, browser, third_party_cookies, measured_tls, opened_tls, measured_dns, wire_dns "
            "FROM visits JOIN page_counts USING (visit_id) ORDER BY site"
        ).fetchall()
        lookups = database.execute("SELECT DISTINCT rtype FROM dns_queries WHERE source = 'browser'").fetchall()
    name = {"headless-shell": "chromium-headless-shell"}.get(browser, browser)
    assert [row[:3] for row in rows] == [("ok", name, "blocked")] * 2
    if browser == "firefox":
        assert [row[3:] for row in rows] == [(None, None, None, None)] * 2
        assert lookups == []
    else:
        assert all(count > 0 for row in rows for count in row[3:])
        assert {rtype for (rtype,) in lookups} == {"A", "AAAA"} | ({"HTTPS"} if browser == "chromium" else set())


def _check_features(browser: BrowserName, said: dict[str, Any]) -> None:
    if browser == "firefox":
        assert said["features"] is None
    elif browser == "headless-shell":
        assert said["features"]["disabled"] is None, "it does not say"
    else:
        # Debian's start script and we both switch features on and off.
        flag = "--disable-features="
        switched = [word.removeprefix(flag).split(",") for word in said["flags"] if word.startswith(flag)]
        assert switched
        assert {name for names in switched for name in names} <= set(said["features"]["disabled"])


def test_a_crawl_whose_connections_have_no_host_says_so(
    testbed: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SOCKET_POOL_CONNECT_JOB_CREATED", "SOCKET_POOL_BOUND_TO_CONNECT_JOB"):
        monkeypatch.delitem(request_events._HANDLERS, name)
    for name, value in testbed.environment.items():
        monkeypatch.setenv(name, value)
    listed = tmp_path / "sites.txt"
    listed.write_text("shop.test\n")
    study = Study(tmp_path / "study")
    ended = CliRunner().invoke(main, ["--study", str(study.root), "crawl", str(listed)], catch_exceptions=False)
    assert "crawl: 1 visits have connections of which is not known for which host they were opened" in ended.stderr
    (run,) = study.manifest()["runs"]
    assert run["counts"]["unnamed_connections"] == 1
