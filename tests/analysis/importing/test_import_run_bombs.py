"""Files that would take more memory than there is, or end the process that reads them: each costs itself alone."""

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from ending_process import import_or_end
from measured_import import measured_import
from rich.progress import Progress

from originset.analysis.har.decoding.bounds import MAX_PARTS
from originset.analysis.har.decoding.har_decoder import decode
from originset.analysis.importing import import_run
from originset.analysis.importing.import_batch import ImportSettings, ImportSummary
from originset.analysis.importing.import_run import import_hars
from originset.data.errors import InputError
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

_QUIET = Progress(disable=True)
_ENTRY: dict[str, Any] = {
    "startedDateTime": "2024-01-01T00:00:00Z",
    "request": {"method": "GET", "url": "https://a.test/"},
    "response": {"status": 200, "content": {"mimeType": "text/html"}},
}


def good(url: str = "https://a.test/") -> str:
    return json.dumps({"log": {"entries": [_ENTRY | {"request": {"method": "GET", "url": url}}]}})


def run(study: Study, folder: Path, jobs: int = 1) -> ImportSummary:
    with study.changing("import", {}):
        return import_hars(study, [folder], _QUIET, ImportSettings(), jobs)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "S")
    made.create()
    return made


@pytest.mark.promise("hars-are-bounded")
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "cut off"])
def test_two_kilobytes_of_empty_entries_are_refused_by_themselves(study: Study, tmp_path: Path, whole: bool) -> None:
    """24 MB of text, which took 10 GB."""
    folder = tmp_path / "hars"
    folder.mkdir()
    text = b'{"log": {"entries": [' + b"{}," * 8_000_000 + (b"{}]}}" if whole else b"")
    packed = zstandard.compress(text, 19)
    assert len(packed) < 4096
    (folder / "bomb.har.zst").write_bytes(packed)
    (folder / "good.har").write_text(good())
    done = measured_import(study, folder)
    assert done.refused == [["hars/bomb.har.zst", "too-large"]]
    assert done.imported == 1
    assert done.risen_kib < 1 << 20


@pytest.mark.promise("hars-are-bounded")
@pytest.mark.parametrize(
    "log",
    [
        b'"entries": [' + b"{}," * MAX_PARTS + b"{}]",
        b'"entries": [], "pages": [' + b"{}," * MAX_PARTS + b"{}]",
        b'"creator": {"name": "WebPagetest"}, "entries": [' + b"{}," * MAX_PARTS + b"{}]",
        b'"entries": [7, ' + b"{}," * MAX_PARTS + b"{}]",
    ],
    ids=["entries", "pages", "of a recorder", "unlike its kind"],
)
def test_parts_are_counted_while_they_are_decoded(log: bytes) -> None:
    with pytest.raises(InputError, match="entries and pages") as refusal:
        decode(b'{"log": {' + log + b"}}", "x")
    assert refusal.value.reason == "too-large"


def test_as_many_as_there_may_be_are_read() -> None:
    log = decode(b'{"log": {"entries": [' + b"{}," * (MAX_PARTS - 1) + b"{}]}}", "x")
    assert len(log.entries) == MAX_PARTS


@pytest.mark.promise("hars-are-bounded")
def test_values_are_counted_before_all_of_them_are_decoded() -> None:
    with pytest.raises(InputError, match="values") as refusal:
        decode(b'{"log": {"entries": [7], "x": [' + b"{}," * 9_000_000 + b"{}]}}", "x")
    assert refusal.value.reason == "too-large"


def test_names_beyond_what_any_certificate_has_are_not_known(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "hars"
    folder.mkdir()
    names = [f"n{number}.test" for number in range(20_000)]
    entry = _ENTRY | {"_securityDetails": {"subjectName": "a.test", "sanList": names}}
    (folder / "names.har").write_text(json.dumps({"log": {"entries": [entry]}}))
    assert run(study, folder).imported == 1
    assert scan(study, "certificates").select("san_count").collect().to_series().to_list() == [None]


@pytest.mark.promise("hars-refused-one-by-one")
def test_a_process_that_ends_costs_its_file(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "hars"
    folder.mkdir()
    for number in range(4):
        (folder / f"a{number}.har").write_text(good(f"https://a{number}.test/"))
    (folder / "a2-ends.har").write_text(good())
    (folder / "z.har").write_text(good("https://z.test/"))
    monkeypatch.setattr(import_run, "import_files", import_or_end)
    # The other process is given all but the last file.
    monkeypatch.setattr(import_run, "_shares", lambda files, _sizes, _jobs: iter([files[:-1], files[-1:]]))
    summary = run(study, folder, jobs=2)
    assert [(error.source, error.reason) for error in summary.refused] == [("hars/a2-ends.har", "process-ended")]
    assert (summary.imported, summary.already, summary.files) == (5, 0, 6)
    assert scan(study, "visits").collect().height == scan(study, "requests").collect().height == 5
    assert scan(study, "rejects").select("source").collect().to_series().to_list() == ["hars/a2-ends.har"]
