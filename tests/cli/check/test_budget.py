"""``check budget`` as continuous integration runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hand_made_har import write_har

HOME = "104.20.8.1"


@pytest.fixture
def har(tmp_path: Path) -> Path:
    pages = [("https://www.site.test/?a=1,b:2%25", HOME, "1"), ("https://www.site.test/a.png", HOME, "2")]
    return write_har(tmp_path / "page.har", pages)


def budget(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "budget.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[budget]\nconnections = 2\nredundant_connections = 1\nthird_party_ases = 0\n", 0),
        ("[budget]\nconnections = 1\n", 1),
        ("[budget]\nconnections = 2\nmissing_names = 9\n", 3),
        ("[budget]\nconnections = 1\nmissing_names = 9\n", 1),
        ('[budget]\nconnections = 1\n[[page]]\nsite = "www.site.test"\nconnections = 2\n', 0),
        ('[[page]]\nsite = "other.test"\nconnections = 2\n', 2),
    ],
)
def test_exit_codes(run, tmp_path: Path, har: Path, text: str, code: int) -> None:
    done = run("check", "budget", budget(tmp_path, text), har)
    assert done.returncode == code, done.stdout + done.stderr


def test_rows_and_annotations(run, tmp_path: Path, har: Path) -> None:
    file = budget(tmp_path, "[budget]\nconnections = 1\nmissing_names = 9\nthird_party_ases = 3\n")
    rows = json.loads(run("check", "budget", file, har, "--format", "json").stdout)
    assert {row["measure"]: (row["value"], row["verdict"]) for row in rows} == {
        "connections": (2, "over"),
        "missing_names": (None, "unknown"),
        "third_party_ases": (0, "within"),
    }
    lines = run("check", "budget", file, har, "--format", "github").stdout.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning"]
    assert "title=originset%3A connections::2 connections on https://www.site.test/" in lines[0]


def test_a_file_that_is_no_budget_is_one_line(run, tmp_path: Path, har: Path) -> None:
    done = run("check", "budget", budget(tmp_path, "[budget"), har)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "budget.toml" in done.stderr
