"""``check --budget`` as continuous integration runs it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hand_made_har import write_har

from originset.cli.budget import github_lines, read_budget
from originset.data.errors import InputError

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
        ("[budget]\nconnections = 2\nmissing_names = 9\n", 2),
        ("[budget]\nconnections = 1\nmissing_names = 9\n", 1),
        ('[budget]\nconnections = 1\n[[page]]\nsite = "www.site.test"\nconnections = 2\n', 0),
        ('[[page]]\nsite = "other.test"\nconnections = 2\n', 2),
    ],
)
def test_exit_codes(run, tmp_path: Path, har: Path, text: str, code: int) -> None:
    done = run("check", "--budget", budget(tmp_path, text), har)
    assert done.returncode == code, done.stdout + done.stderr


def test_rows_and_annotations(run, tmp_path: Path, har: Path) -> None:
    file = budget(tmp_path, "[budget]\nconnections = 1\nmissing_names = 9\nthird_party_ases = 3\n")
    rows = json.loads(run("check", "--budget", file, har, "--format", "json").stdout)
    assert {row["measure"]: (row["value"], row["verdict"]) for row in rows} == {
        "connections": (2, "over"),
        "missing_names": (None, "unknown"),
        "third_party_ases": (0, "within"),
    }
    lines = run("check", "--budget", file, har, "--format", "github").stdout.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning"]
    assert "title=originset%3A connections::2 connections on https://www.site.test/" in lines[0]


def test_a_page_gives_no_commands() -> None:
    row = {"site": "a.test", "url": "https://a.test/\r\n::error::owned %0A", "visit_id": "v", "measure": "connections",
           "budget": 1, "value": 2, "verdict": "over", "why": None}  # fmt: skip
    [line] = github_lines(pl.DataFrame([row]), Path("b,u:d%.toml"))
    assert line == (
        "::error file=b%2Cu%3Ad%25.toml,title=originset%3A connections::2 connections on "
        "https://a.test/%0D%0A::error::owned %250A, where 1 are allowed"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("connections = 1", "neither"),
        ("[budget", "TOML"),
        ("", "no table"),
        ("[budget]\nrequests = 1", "has requests"),
        ("[budget]\nconnections = -1", "no number"),
        ("[budget]\nconnections = true", "no number"),
        ("[budget]\nconnections = inf", "no number"),
        ("[budget]\nconnections = 1" + "0" * 30, "no number"),
        ("[budget]\nconnections = 1" + "0" * 5000, "TOML"),
        ("budget = " + "[" * 5000 + "]" * 5000, "TOML"),
        ("[[page]]\nconnections = 1", "either a site or a url"),
        ('[[page]]\nsite = "a"\nurl = "b"\nconnections = 1', "either a site or a url"),
        ('page = ["a"]', "page is no table"),
    ],
)
def test_what_is_no_budget(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_budget(budget(tmp_path, text))


def test_one_form_at_a_time(run, tmp_path: Path, har: Path) -> None:
    file = budget(tmp_path, "[budget]\nconnections = 1\n")
    for arguments in ((), ("--site", "a.test", "--budget", file), ("--site", "a.test", har)):
        assert run("check", *arguments).returncode == 2
