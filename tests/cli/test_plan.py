"""``originset plan``: a table or a file that config reads; sites that are not there are named with their neighbours."""

import json
from pathlib import Path

import pytest


def test_the_table_says_what_to_do_with_each_host(run) -> None:
    done = run("plan", "--site", "www.site.test")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[1:]] == ["announce"] * 3 + ["leave out"] * 3 + ["ask its owner"]
    assert lines[1].split()[1:4] == ["www.site.test", "static.cdn.test", "443"]
    assert "421" in next(line for line in lines if "no.test" in line)
    assert "2 visits from 2 named vantages, 2026-11-20 to 2026-11-21" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_the_file_is_versioned_ascii_json(run, tmp_path: Path) -> None:
    done = run("plan", "--site", "www.site.test", "--max-additions", "0", "--out", tmp_path / "plan.json")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "plan.json").read_text()
    made = json.loads(text)
    assert text.isascii()
    assert (made["format"], made["version"], made["site"]) == ("originset-plan", 1, "www.site.test")
    assert made["basis"] == {
        "study": "S",
        "visits": 2,
        "vantages": 2,
        "first_visit": "2026-11-20",
        "last_visit": "2026-11-21",
    }
    assert [entry["origin"] for entry in made["servers"][0]["announce"]] == [
        "https://static.cdn.test",
        "https://www.site.test",
        "https://api.site.test",
    ]
    assert (made["additions"], made["additions_not_taken"]) == ([], 1)
    assert list(tmp_path.iterdir()) == [tmp_path / "plan.json"]
    assert run("plan", "--site", "www.site.test", "--max-additions", "0", "--out", "-").stdout == text


@pytest.mark.parametrize(
    ("site", "said"),
    [
        ("site.test", "near it are: www.site.test"),
        ("www.sitr.test", "near it are: www.site.test"),
        ("zzz", "list its sites"),
        ("gone.test", "every visit of gone.test failed"),
        ("x' OR 1=1 --", "has no site"),
    ],
)
def test_a_site_without_a_plan_is_wrong_usage(run, site: str, said: str) -> None:
    done = run("plan", "--site", site)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_place_that_cannot_be_written(run, tmp_path: Path) -> None:
    done = run("plan", "--site", "www.site.test", "--out", tmp_path / "no" / "plan.json")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
