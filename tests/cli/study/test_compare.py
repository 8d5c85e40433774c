"""``originset study compare``: two HARs, two studies, the vantages of one; and calls that cannot work."""

import json
from pathlib import Path

import pytest
from hand_made_har import write_har

from originset.data.studies.study import Study

HARS = Path(__file__).parents[2] / "fixtures" / "hars"


@pytest.fixture
def study(modelled_example: Study) -> Study:
    return modelled_example


def test_two_hars(run) -> None:
    """Two pages, and the other way round: every change has the other sign."""
    cold, other = sorted((HARS / "chrome-devtools").glob("*.har"))[:2]
    done = run("study", "compare", cold, other, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = {row["metric"]: row for row in json.loads(done.stdout)}
    assert rows["hosts"]["pages"] == 1
    again = {row["metric"]: row for row in json.loads(run("study", "compare", other, cold, "--format", "json").stdout)}
    assert {name: -row["change"] for name, row in rows.items()} == {name: row["change"] for name, row in again.items()}


def test_a_study_with_itself(run, study) -> None:
    done = run("study", "compare", study.root, study.root, "--rows", "pages", "--format", "json")
    assert done.returncode == 2
    assert "visits of several vantages: here, there, unknown; choose one with --vantage" in done.stderr
    done = run("study", "compare", study.root, study.root, "--vantage", "here", "--rows", "pages", "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {row["change"] for row in rows} == {0.0}
    # One visit of one page, twice the same.
    assert {(row["site"], row["visits"], row["verdict"]) for row in rows} == {("example.com", 1, "same")}


def test_the_vantages_of_a_study(run) -> None:
    done = run("study", "compare", "--by", "vantage", "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = {row["metric"]: row for row in json.loads(done.stdout)}
    row = rows["measured_tls"]
    assert (row["vantage_before"], row["vantage_after"], row["before"], row["after"]) == ("here", "there", 6.0, 2.0)
    assert "without a named vantage" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "two studies or HARs"),
        ([__file__], "two studies or HARs"),
        ([__file__, __file__, "--by", "round"], "two studies or HARs"),
        (["--by", "round"], "0 named rounds"),
        ([__file__, __file__], "test_compare.py"),
    ],
)
def test_calls_that_are_refused(run, arguments: list[str], said: str) -> None:
    done = run("study", "compare", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_which_connections_went_and_came_and_how_they_were_recorded(run, tmp_path: Path) -> None:
    home, near = "104.20.8.1", "104.20.8.2"
    page, font, image = "https://www.a.test/", "https://font.a.test/f", "https://img.a.test/i"
    before = write_har(tmp_path / "before.har", [(page, home, "1"), (font, near, "2"), (image, home, "3")])
    after = write_har(
        tmp_path / "after.har", [(page, home, "1"), (image, home, "1"), ("https://ads.b.test/", near, "2")]
    )
    log = json.loads(after.read_text())
    log["log"]["creator"]["name"] = "chrome-har"
    after.write_text(json.dumps(log))
    done = run("study", "compare", before, after, "--format", "json")
    (tls,) = (row for row in json.loads(done.stdout) if row["metric"] == "measured_tls")
    assert (tls["change"], tls["better"], tls["unclear"]) == (-1.0, 0, 1)
    said = done.stderr.splitlines()
    assert "recorded differently: recorder: chrome-devtools and chrome-har" in said
    assert [line for line in said if line.startswith(("fewer", "more"))] == [
        "fewer: font.a.test, 1 to 0 connections (no requests after)",
        "fewer: img.a.test, 1 to 0 connections (after on the connection to www.a.test)",
        "more: ads.b.test, 0 to 1 connections (no requests before)",
    ]
    assert any("no change is called better or worse" in line for line in said)
    rows = json.loads(run("study", "compare", before, after, "--rows", "connections", "--format", "json").stdout)
    assert [(row["host"], row["change"]) for row in rows] == [
        ("font.a.test", -1.0), ("img.a.test", -1.0), ("ads.b.test", 1.0)
    ]  # fmt: skip
