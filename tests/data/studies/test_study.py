"""A study's folder: made once, changed by one process at a time, never mistaken for something else."""

import json
from pathlib import Path

import pytest

from originset.data.errors import StudyError
from originset.data.studies.study import Study


def test_a_run_is_recorded_with_its_counts(tmp_path: Path) -> None:
    study = Study(tmp_path / "S")
    with study.changing("import", {"jobs": 2}) as counts:
        counts["files"] = 7
    (run,) = study.manifest()["runs"]
    assert run["run_id"] == 1
    assert run["parameters"] == {"jobs": 2}
    assert run["counts"] == {"files": 7}
    assert run["ended_at"] > run["started_at"]


def test_a_run_that_failed_has_no_end(tmp_path: Path) -> None:
    study = Study(tmp_path / "S")
    with pytest.raises(ZeroDivisionError), study.changing("analyze", {}):
        raise ZeroDivisionError
    assert study.manifest()["runs"][0]["ended_at"] is None


def test_facts_set_during_a_run_stay(tmp_path: Path) -> None:
    study = Study(tmp_path / "S")
    with study.changing("crawl", {}):
        study.update_manifest(browser="chromium")
    assert study.manifest()["browser"] == "chromium"
    assert len(study.manifest()["runs"]) == 1


@pytest.mark.promise("studies-are-locked")
def test_two_commands_do_not_change_it_at_once(tmp_path: Path) -> None:
    study = Study(tmp_path / "S")
    with study.changing("crawl", {}), pytest.raises(StudyError, match="another originset"), study.changing("model", {}):
        pass


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StudyError, match="not empty and not a study"):
        Study(tmp_path).create()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is damaged"),
        ("[]", "not a manifest"),
        (json.dumps({"format": 99}), "has format 99"),
    ],
)
def test_a_bad_manifest_is_said(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(StudyError, match=message):
        Study(tmp_path).manifest()


def test_no_study_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="crawl or import into it first"):
        Study(tmp_path / "nowhere").manifest()
