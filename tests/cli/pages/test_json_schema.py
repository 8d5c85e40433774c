"""What commands write for programs is as docs/json-schema.json says."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from generated_captures import write_captures
from hand_made_har import write_har
from json_schemas import output_of, validator
from jsonschema import Draft202012Validator, ValidationError

from originset.cli.main import main
from originset.cli.pages.json_schema import OUTPUTS, ROWS
from originset.data.captures.capture import read_capture_bytes
from originset.data.studies.study import Study

HARS = Path(__file__).parents[2] / "fixtures" / "hars"


def written(*words: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_the_published_schema_is_a_schema() -> None:
    for output in (*OUTPUTS, *ROWS):
        Draft202012Validator.check_schema(validator(output).schema)


def test_explain() -> None:
    said = written(
        "explain", HARS / "originset" / "daily-cold.har", HARS / "firefox" / "daily-cold.har", "--format", "json"
    )
    validator("explain").validate(said)
    assert [page["connections_measured"] for page in said["pages"]] == [9, None]
    redundant = [one for one in said["pages"][0]["connections"] if one["cause"]]
    assert all(one["why"] for one in redundant)
    ids = {one["id"] for one in said["pages"][0]["connections"]}
    assert {one["could_be"] for one in redundant} <= ids | {None}
    assert {one for change in said["pages"][0]["owner_changes"] for one in change["connections"]} <= ids
    assert {state["state"] for state in said["pages"][0]["states"]} == {"recorded", "best"}


def test_budget(tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text("[budget]\nconnections = 1\nmissing_names = 9\n")
    har = write_har(tmp_path / "page.har", [("https://www.site.test/", "104.20.8.1", "1")])
    rows = written("check", "budget", tmp_path / "budget.toml", har, "--format", "json", code=3)
    validator("budget").validate(rows)
    assert {row["verdict"] for row in rows} == {"within", "unknown"}


def test_compare() -> None:
    """Totals and pages are validated where tests/cli/study/test_compare.py calls it."""
    sides = [HARS / "originset" / f"{name}-cold.har" for name in ("daily", "shop")]
    compared = written("study", "compare", *sides, "--rows", "connections", "--format", "json")
    validator("compare_connections").validate(compared)
    assert compared


def test_plan_rows(modelled_example: Study) -> None:
    rows = written("--study", modelled_example.root, "plan", "site", "example.com", "--format", "json")
    validator("plan_rows").validate(rows)
    assert rows


def test_lint(tmp_path: Path) -> None:
    path = tmp_path / "nginx.conf"
    path.write_text("http { server { listen 443 ssl; server_name a.test b.test; unheard_of on; } }")
    rows = written("check", "lint", path, "--server", "nginx", "--format", "json", code=2)
    validator("lint").validate(rows)
    assert {row["verdict"] for row in rows} == {"not understood", "unknown"}


def test_server() -> None:
    rows = written("check", "server", "nobody.invalid", "--max-time", "1", "--format", "json", code=3)
    validator("server").validate(rows)
    assert [row["address"] for row in rows] == [None]


@pytest.mark.parametrize(
    ("change", "output"),
    [({"why": 1}, "lint"), ({"verdict": "fine"}, "lint"), ({"more": 1}, "lint"), ({"opened_for": 1}, "lint")],
)
def test_rows_of_another_kind_are_found(change: dict[str, Any], output: str) -> None:
    row = {
        "opened_for": None,
        "requested": None,
        "verdict": "safe",
        "why": "",
        "change": None,
        "file": "x",
        "line": "1",
    }
    validator(output).validate([row])
    with pytest.raises(ValidationError):
        validator(output).validate([row | change])
    with pytest.raises(ValidationError):
        validator(output).validate([{name: value for name, value in row.items() if name != "change"}])


def test_the_schema_of_a_command_line() -> None:
    assert output_of(["check", "lint", "x", "--format", "json"]) == "lint"
    assert output_of(["study", "compare", "a", "b", "--rows", "pages", "--format", "json"]) == "compare_pages"
    assert output_of(["study", "compare", "a", "b"]) is None
    assert output_of(["study", "schema", "--format", "json"]) == "study_tables"
    assert output_of(["study", "schema", "visits", "--format", "json"]) == "study_columns"
    assert output_of(["study", "status", "--format", "csv"]) is None


def test_captures(tmp_path: Path) -> None:
    for path in write_captures(tmp_path, range(3)):
        validator("capture").validate(json.loads(read_capture_bytes(path))["log"]["_originset"])


@pytest.mark.parametrize("path", sorted((HARS / "originset").glob("*.har")), ids=lambda path: path.stem)
def test_recorded_captures(path: Path) -> None:
    validator("capture").validate(json.loads(path.read_text())["log"]["_originset"])


def test_a_value_of_another_type_is_found() -> None:
    extension = json.loads((HARS / "originset" / "shop-cold.har").read_text())["log"]["_originset"]
    changed = copy.deepcopy(extension)
    changed["connections"][0]["id"] = "1"
    validator("capture").validate(extension)
    with pytest.raises(ValidationError):
        validator("capture").validate(changed)
