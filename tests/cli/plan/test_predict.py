"""``originset plan predict``: what each browser needs today and under a plan."""

import json
from pathlib import Path


def test_what_a_plan_does_by_browser(run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert run("plan", "site", "www.site.test", "--out", plan).returncode == 0
    done = run("plan", "predict", plan, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["browser"], row["model"]) for row in rows] == [
        (browser, model) for browser in ("chromium", "firefox") for model in ("today", "announced", "planned")
    ]
    assert {row["pages"] for row in rows} == {2}
    assert all(row["tls_low"] <= row["tls_high"] for row in rows)
    # Announcing can only help where nothing is left out that coalesces today; nothing can be added here.
    today, announced, planned = (row["tls_high"] for row in rows[3:])
    assert planned == announced <= today


def test_a_prediction_is_of_the_studys_pages(run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert run("plan", "site", "www.site.test", "--out", plan).returncode == 0
    plan.write_text(plan.read_text().replace('"site": "www.site.test"', '"site": "else.test"'))
    done = run("plan", "predict", plan)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no visit of else.test" in done.stderr
