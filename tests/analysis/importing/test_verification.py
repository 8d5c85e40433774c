"""haralyzer's opinion of what was imported: agreement, difference, and failures of its own."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.progress import Progress

from originset.analysis.importing.import_run import import_hars
from originset.analysis.importing.verification import Verification, verify_import
from originset.data.studies.shards import shard_paths
from originset.data.studies.study import Study


def entry(number: int, **more: Any) -> dict[str, Any]:
    return {
        "startedDateTime": f"2024-01-01T00:00:0{number}.000Z",
        "pageref": "p",
        "time": 10,
        "request": {"method": "GET", "url": f"https://a.test/{number}?token=x", "httpVersion": "h2"},
        "response": {
            "status": 200,
            "headersSize": 10,
            "bodySize": 5,
            "content": {"mimeType": "text/html; charset=utf-8"},
        },
        "timings": {"blocked": 1, "dns": 2, "connect": 3, "ssl": 1, "send": 0, "wait": 4, "receive": 1},
        "serverIPAddress": "192.0.2.1",
        **more,
    }


PAGE = {"id": "p", "startedDateTime": "2024-01-01T00:00:00Z", "title": "x", "pageTimings": {"onLoad": 5}}


def imported(
    tmp_path: Path, *entries: dict[str, Any], pages: tuple[dict[str, Any], ...] = (PAGE,)
) -> tuple[Study, Path]:
    path = tmp_path / "x.har"
    path.write_text(json.dumps({"log": {"creator": {"name": "x"}, "pages": list(pages), "entries": list(entries)}}))
    study = Study(tmp_path / "study")
    with study.changing("import", {}), Progress(disable=True) as progress:
        import_hars(study, [path], progress)
    return study, path


def verified(study: Study, path: Path) -> Verification:
    with Progress(disable=True) as progress:
        return verify_import(study, [path], progress)


def test_agreement(tmp_path):
    result = verified(*imported(tmp_path, entry(1), entry(0), entry(2)))
    assert (result.files, result.pages, result.entries) == (1, 1, 3)
    assert (result.differences, result.failures) == ([], [])


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("status", 500, "entry 1 status: 500, haralyzer 200"),
        ("method", "PUT", "entry 1 method: PUT, haralyzer GET"),
        ("mime_type", "text/css", "entry 1 mime_type: text/css, haralyzer text/html"),
        ("server_ip", "192.0.2.9", "entry 1 server_ip: 192.0.2.9, haralyzer 192.0.2.1"),
        ("wait_ms", 9.0, "entry 1 wait_ms: 9.0, haralyzer 4"),
        ("bytes", 16, "entry 1 bytes: 16, haralyzer 15"),
        ("url", "https://a.test/other", "entry 1: https://a.test/1?token=REDACTED is not in the study"),
    ],
)
def test_a_wrong_value_in_the_study_is_found(tmp_path, column, value, said):
    study, path = imported(tmp_path, entry(0), entry(1))
    (shard,) = shard_paths(study, "requests")
    rows = pl.read_parquet(shard)
    spoilt = pl.when(pl.col("request_id") == 1).then(pl.lit(value)).otherwise(pl.col(column)).cast(rows.schema[column])
    rows.with_columns(spoilt.alias(column)).write_parquet(shard)
    assert verified(study, path).differences == [f"x.har: page 1 {said}"]


def test_a_missing_entry_is_found(tmp_path):
    study, path = imported(tmp_path, entry(0), entry(1))
    (shard,) = shard_paths(study, "requests")
    pl.read_parquet(shard).head(1).write_parquet(shard)
    assert verified(study, path).differences == [
        "x.har: page 1: 1 entries, haralyzer 2",
        "x.har: page 1 entry 1: https://a.test/1?token=REDACTED is not in the study",
    ]


def test_failures_of_haralyzer_are_its_own(tmp_path):
    bare = {name: value for name, value in entry(1).items() if name != "serverIPAddress"}
    result = verified(*imported(tmp_path, entry(0), bare, bare))
    assert result.differences == []
    assert result.failures == ["server_ip: KeyError: 'serverIPAddress' (2 times in 1 files, first x.har)"]
    result = (
        verified(*imported(tmp_path / "2", entry(0), pages=({"id": "p"},)))
        if (tmp_path / "2").mkdir() is None
        else None
    )
    assert result is not None


def test_a_file_that_haralyzer_cannot_read_at_all(tmp_path):
    result = verified(*imported(tmp_path, entry(0), pages=({"id": "p"},)))
    assert (result.files, result.differences) == (0, [])
    assert result.failures[0].startswith("file: KeyError")


def test_a_file_that_was_cut_off_is_left_out(tmp_path):
    _, path = imported(tmp_path, entry(0), entry(1))
    text = path.read_text()
    path.write_text(text[: text.index('"timings"', text.index("a.test/1"))])
    study = Study(tmp_path / "another")
    with study.changing("import", {}), Progress(disable=True) as progress:
        (cut_off,) = import_hars(study, [path], progress).cut_off
    assert cut_off.source == "x.har"
    assert verified(study, path) == Verification()


def rewritten(path: Path, change) -> None:
    """Another file than what was imported under its name."""
    har = json.loads(path.read_text())
    change(har["log"])
    path.write_text(json.dumps(har))


def test_pages_that_the_study_has_not(tmp_path):
    two = PAGE, {**PAGE, "id": "q"}
    study, path = imported(tmp_path, entry(0), entry(1, pageref="q"), pages=two)
    assert verified(study, path).pages == 2
    rewritten(path, lambda log: log["pages"].append({**PAGE, "id": "r"}))
    assert verified(study, path).differences == ["x.har: 2 pages, haralyzer 3"]


def test_an_entry_that_haralyzer_cannot_read(tmp_path):
    study, path = imported(tmp_path, entry(0), entry(1))
    rewritten(path, lambda log: log["entries"][1]["request"].pop("url"))
    result = verified(study, path)
    assert (result.differences, result.failures) == ([], ["entry: KeyError: 'url' (1 times in 1 files, first x.har)"])


def test_sizes_that_haralyzer_has_not_are_not_compared(tmp_path):
    response = {**entry(0)["response"], "_transferSize": 99}
    assert verified(*imported(tmp_path, entry(0, response=response))).differences == []


def test_the_real_files(shared, tmp_path):
    """One difference: entries that name no page of their file, which haralyzer gives to none and import to one."""
    study = Study(tmp_path / "study")
    folder = shared / "data" / "hars" / "real"
    with study.changing("import", {}), Progress(disable=True) as progress:
        import_hars(study, [folder], progress)
    result = verified(study, folder)
    assert (result.files, result.pages, result.entries) == (99, 137, 10_126)
    assert result.differences == [
        "real/haralyzer__haralyzer__tests__data__multi_test_4.har: page 1: 4 entries, haralyzer 0"
    ]
