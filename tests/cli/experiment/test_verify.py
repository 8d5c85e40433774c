"""``originset experiment verify``: a plan of a crawled site, deployed; what both browsers do is what was predicted."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner, Result

from originset.cli.experiment.verify import command, verified_page, verify_plan
from originset.cli.pages.commands_page import split_help
from originset.data.studies.study import Study
from originset.models.plans.plan_file import plan_text
from originset.models.plans.site_plan import site_plan

SITE, MAPS = "travel.test", "maps.travel.test"


def verify(study: Study, plan: Path, out: Path) -> Result:
    _, words = split_help(command)[1].split(" verify ")
    example = words.replace("plan.json", str(plan)).split()
    return CliRunner().invoke(
        command, [*example, "--out", str(out), "--format", "json"], obj=study, catch_exceptions=False
    )


def elsewhere(scenario: str) -> str:
    """The same at addresses that the session's testbed, of which the study is, has not taken."""
    moved = re.sub(r'"(\d+\.\d+)\.\d+\.(\d+)"', r'"\1.250.\2"', scenario)
    return f'dns = "192.0.2.54"\n{moved}'


@pytest.fixture
def plan(testbed_study: Study, tmp_path: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(plan_text(site_plan(testbed_study, SITE)))
    return made


@pytest.fixture
def rewrite(plan: dict[str, Any], tmp_path: Path):
    def call(**changes: Any) -> Path:
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(plan | changes))
        return path

    return call


@pytest.mark.testbed
@pytest.mark.browser
def test_a_plan_is_kept_and_a_tampered_deployment_is_told(testbed_study, rewrite, plan, tmp_path, monkeypatch) -> None:
    deployed = []

    def kept(page: Any, hosts: pl.DataFrame, folder: Path) -> Any:
        page.scenario.text = elsewhere(page.scenario.text)
        deployed.append((page, hosts))
        return verified_page(page, hosts, folder)

    monkeypatch.setattr("originset.cli.experiment.verify.verified_page", kept)
    done = verify(testbed_study, rewrite(), tmp_path / "out")
    rows = {(row["browser"], row["host"]): row for row in json.loads(done.stdout)}
    assert done.exit_code == 0, done.output
    assert rows["firefox", MAPS]["predicted"] == rows["firefox", MAPS]["observed"] == f"that of {SITE}"
    assert rows["chromium", MAPS]["predicted"] == rows["chromium", MAPS]["observed"] == "its own"
    assert "1 requests that went over no TLS connection" in done.stderr
    assert (tmp_path / "out" / "connections.csv").read_text().count("true") == len(rows)
    # The same page, but its server sends no ORIGIN frame.
    ((page, hosts),) = deployed
    kept_lines = [line for line in page.scenario.text.splitlines() if not line.startswith("origin_set")]
    page.scenario.text = "\n".join(kept_lines)
    monkeypatch.setattr("originset.cli.experiment.verify.BROWSERS", ("firefox",))
    (found,) = verified_page(page, hosts, tmp_path / "tampered")
    assert found.filter(~pl.col("agrees")).select("host", "predicted", "observed").rows() == [
        (MAPS, f"that of {SITE}", "its own")
    ]


@pytest.mark.testbed
def test_a_tampered_plan_is_told_before_any_browser_starts(testbed_study, rewrite, plan, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("originset.cli.experiment.verify.verified_page", lambda *_: iter(()))
    (server,) = plan["servers"]
    own = [entry for entry in server["announce"] if MAPS not in entry["origin"]]
    done = verify(testbed_study, rewrite(servers=[server | {"announce": own}]), tmp_path / "out")
    ((row,), code) = json.loads(done.stdout), done.exit_code
    assert (row["host"], row["predicted"], code) == (SITE, "what it announces saves 1, by the plan", 1)


@pytest.mark.testbed
def test_a_cookie_setting_that_nobody_recorded_is_said(testbed_study, rewrite, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("originset.cli.experiment.verify.verified_page", lambda *_: iter(()))
    copy = Study(Path(shutil.copytree(testbed_study.root, tmp_path / "study")))
    unsaid = "the recorder does not say whether third-party cookies were blocked"
    assert unsaid not in verify(copy, rewrite(), tmp_path / "out").stderr
    with duckdb.connect(str(copy.database_path)) as connection:
        connection.execute("UPDATE visits SET third_party_cookies = NULL")
    assert unsaid in verify(copy, rewrite(), tmp_path / "out").stderr


@pytest.mark.testbed
def test_what_is_no_plan_to_deploy_is_one_line(testbed_study, rewrite, plan, tmp_path) -> None:
    (server,) = plan["servers"]
    own = next(entry for entry in server["announce"] if SITE in entry["origin"])
    hostile = {"origin": 'https://a.test"]\n[host."b.test"]'}
    addition = plan["additions"][0]
    for changes, said in (
        ({"servers": "x"}, "is not a plan"),
        ({"servers": []}, "nothing to deploy"),
        ({"servers": [server | {"announce": [own, own | hostile]}]}, "more than scheme, host and port"),
        ({"servers": [server | {"server": "x\x1b[2J"}]}, "lower-case letters"),
        ({"servers": [server | {"server": "else.test"}]}, "without its own origin"),
        ({"additions": [addition | {"name": '*"\n', "same_owner": True}]}, "a wildcard is not an origin"),
        ({"site": "x\x1b[2J"}, "has no visit of"),
        ({"site": "gone.test"}, "that did not fail"),
    ):
        with pytest.raises(Exception, match=said) as told:
            verify_plan(testbed_study, rewrite(**changes), tmp_path / "out")
        assert "\x1b" not in str(told.value)
        assert not (tmp_path / "out").exists()
