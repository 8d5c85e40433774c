"""A file that was cut off gives its place to the whole one."""

import json
from pathlib import Path

import pytest
from rich.progress import Progress

from originset.analysis.importing.import_batch import ImportSummary
from originset.analysis.importing.import_run import import_hars
from originset.data.studies.shards import scan
from originset.data.studies.study import Study


def har(host: str) -> bytes:
    request = {"url": f"https://{host}/"}
    entry = {"startedDateTime": "2024-01-01T00:00:00Z", "request": request, "response": {"status": 200}}
    return json.dumps({"log": {"entries": [entry]}}).encode()


def run(study: Study, *paths: Path) -> ImportSummary:
    with study.changing("import", {}), Progress(disable=True) as progress:
        return import_hars(study, paths, progress)


def hosts(study: Study) -> list[str]:
    return sorted(scan(study, "requests").collect()["host"])


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hars").mkdir()
    for letter in "abcdef":
        (tmp_path / "hars" / f"{letter}.har").write_bytes(har(f"{letter}.test"))
    return tmp_path / "hars"


def cut(*names: str) -> bytes:
    """A HAR of which the last entry is not whole."""
    entries = [json.loads(har(name))["log"]["entries"][0] for name in names]
    return json.dumps({"log": {"entries": entries}}).encode()[:-20]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_whole_file_takes_the_place_of_one_that_was_cut_off(study, folder, jobs, monkeypatch):
    monkeypatch.setattr("originset.analysis.importing.import_run._SHARE_FILES", 1)
    (folder / "a.har").write_bytes(cut("a.test", "lost.test"))
    run(study, folder)
    assert hosts(study) == [f"{letter}.test" for letter in "abcdef"]
    # What is cut off elsewhere is no better, nor is what is no HAR.
    for other in (cut("a.test", "y.test", "lost.test"), b"{}"):
        (folder / "a.har").write_bytes(other)
        assert [error.reason for error in run(study, folder).refused] == ["path-taken"]
    (folder / "a.har").write_bytes(har("z.test"))
    with study.changing("import", {}), Progress(disable=True) as progress:
        summary = import_hars(study, [folder], progress, jobs=jobs)
    assert (summary.imported, summary.already, summary.refused) == (1, 5, [])
    assert hosts(study) == [*(f"{letter}.test" for letter in "bcdef"), "z.test"]
    visits = scan(study, "visits").filter(source="hars/a.har").collect()
    assert visits["quality"].list.contains("truncated").to_list() == [False]
    assert scan(study, "rejects").filter(source="hars/a.har").collect().is_empty()
    (folder / "a.har").write_bytes(har("y.test"))
    assert [error.reason for error in run(study, folder).refused] == ["path-taken"]


def test_an_import_that_was_killed_before_it_removed_what_was_cut_off(study, folder, monkeypatch):
    (folder / "a.har").write_bytes(cut("a.test", "lost.test"))
    run(study, folder / "a.har")
    (folder / "a.har").write_bytes(har("z.test"))
    monkeypatch.setattr("originset.analysis.importing.import_run.remove_replaced", lambda _: None)
    run(study, folder / "a.har")
    assert hosts(study) == ["a.test", "z.test"]
    monkeypatch.undo()
    assert run(study, folder / "a.har").already == 1
    assert hosts(study) == ["z.test"]
