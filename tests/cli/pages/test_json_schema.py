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
from json_schemas import validator
from jsonschema import Draft202012Validator, ValidationError

from originset.cli.main import main
from originset.cli.pages.json_schema import OUTPUTS
from originset.data.captures.capture import read_capture_bytes

HARS = Path(__file__).parents[2] / "fixtures" / "hars"


def written(*words: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_the_published_schema_is_a_schema() -> None:
    for output in OUTPUTS:
        Draft202012Validator.check_schema(validator(output).schema)


def test_explain() -> None:
    said = written(
        "explain", HARS / "originset" / "daily-cold.har", HARS / "firefox" / "daily-cold.har", "--format", "json"
    )
    validator("explain").validate(said)
    assert [page["connections_measured"] for page in said["pages"]] == [9, None]
    redundant = [one for one in said["pages"][0]["connections"] if one["cause"]]
    assert all(one["why"] for one in redundant)
    assert {one["could_be"] for one in redundant} <= {one["id"] for one in said["pages"][0]["connections"]} | {None}


def test_budget(tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text("[budget]\nconnections = 1\nmissing_names = 9\n")
    har = write_har(tmp_path / "page.har", [("https://www.site.test/", "104.20.8.1", "1")])
    rows = written("check", "budget", tmp_path / "budget.toml", har, "--format", "json", code=3)
    validator("budget").validate(rows)
    assert {row["verdict"] for row in rows} == {"within", "unknown"}


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
