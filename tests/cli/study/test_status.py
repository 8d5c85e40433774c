"""``originset study status``: what a study holds and what comes next, from an empty one to one that was analysed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.studies.study import Study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study(tmp_path / "a study")
    study.create()
    return study


def status(run: Any, study: Study) -> tuple[list[dict[str, Any]], str]:
    done = run("study", "status", "--format", "jsonl", "--study", study.root)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_visits_by_vantage_and_round(run: Any, study: Study) -> None:
    rows = [LedgerRow(f"site{number}.test", "lab", 1, 1) for number in range(4)]
    settings = {"browser": "firefox", "browser_version": "140.0"}
    with study.changing("crawl", {}) as counts, Ledger(study.ledger_path) as ledger:
        study.update_manifest(rounds=[{"vantage": "lab", "round": 1, "settings": settings}])
        ledger.add(rows)
        ledger.lease(rows[:3])
        ledger.finish(rows[0], "done")
        ledger.finish(rows[1], "failed", "dns")
        found, said = status(run, study)
        assert said == "next: wait; crawl is changing the study\n"
        ledger.requeue(rows[2])
        counts["made"] = {"ok": 1, "failed": 1}
    assert [tuple(row.values())[:7] for row in found] == [
        ("visits", "lab", 1, "firefox", "done", None, 1),
        ("visits", "lab", 1, "firefox", "failed", "dns", 1),
        ("visits", "lab", 1, "firefox", "leased", None, 1),
        ("visits", "lab", 1, "firefox", "queued", None, 1),
        ("captures", None, None, None, None, None, 0),
        ("shards", None, None, None, None, None, 0),
        ("database", None, None, None, None, None, 0),
    ]
    assert all(row["latest"] for row in found[:4])
    assert status(run, study)[1] == "next: run the crawl's command again, 2 visits are left over\n"


def test_what_comes_next(run: Any, study: Study) -> None:
    whole = f"originset --study '{study.root}'"
    assert status(run, study)[1] == f"next: {whole} crawl SITES, or {whole} import FILES\n"
    with study.changing("import", {}):
        pass
    assert status(run, study)[1] == f"next: {whole} analyze\n"
    with study.changing("analyze", {}):
        study.database_path.touch()
    found, said = status(run, study)
    assert said == f"next: {whole} query, or {whole} study report\n"
    assert found[-1]["count"] == 1
    with study.changing("crawl", {}):  # which made no visit
        pass
    assert status(run, study)[1] == said
    with study.changing("crawl", {}) as counts:
        counts["made"] = {"ok": 1}
    assert status(run, study)[1] == f"next: {whole} analyze\n"
    done = run("study", "status", "--study", study.root)
    assert "database" in done.stdout, "a table, for people"


def test_where_there_is_no_study(run: Any, tmp_path: Path) -> None:
    done = run("study", "status", "--study", tmp_path / "none")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "there is no study here" in done.stderr
