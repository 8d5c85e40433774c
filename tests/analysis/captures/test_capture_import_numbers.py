"""Captures whose numbers no column can hold, or whose visit is another than their file's name says."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
import zstandard
from generated_captures import write_captures
from rich.progress import Progress

from originset.analysis.captures.capture_import import read_captures
from originset.analysis.captures.capture_tables import CaptureBatch
from originset.data.captures.capture import read_capture_bytes
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

_FIELDS = [
    *(("visit", name) for name in ("rank", "round", "repeat")),
    *(("connections", name) for name in ("port", "local_port", "id")),
    *(("dns", name) for name in ("lookup_id", "ttl", "attempts", "cache_hits")),
]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "S")
    made.create()
    write_captures(made.captures, range(3), folders=1, entries=2)
    return made


def _captures(study: Study) -> list[Path]:
    return sorted(study.captures.rglob("*.har.zst"))


def _read(study: Study) -> dict[str, int]:
    with study.changing("analyze", {}), Progress(disable=True) as progress:
        return read_captures(study, progress)


def _change(path: Path, part: str, name: str, value: Any) -> None:
    har = json.loads(read_capture_bytes(path))
    of = har["log"]["_originset"][part]
    (of[0] if isinstance(of, list) else of)[name] = value
    path.write_bytes(zstandard.compress(json.dumps(har).encode()))


def _rejects(study: Study) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = scan(study, "rejects").select("source", "reason").collect().rows()
    return rows


def _visits(study: Study) -> int:
    return scan(study, "visits").collect().height


@pytest.mark.promise("captures-are-bounded")
@pytest.mark.parametrize(("part", "name"), _FIELDS)
@pytest.mark.parametrize("value", [1 << 31, 1 << 63, 1 << 80, -1])
def test_a_number_out_of_range_costs_its_file(study: Study, part: str, name: str, value: int) -> None:
    first, *_ = _captures(study)
    _change(first, part, name, value)
    counts = _read(study)
    held = name in {"id", "ttl"} and value == 1 << 31
    assert (counts["captures_refused"], _visits(study)) == ((0, 3) if held else (1, 2))
    assert _rejects(study) == ([] if held else [(f"captures/00/{first.name}", "not-capture")])


@pytest.mark.parametrize("value", [1 << 31, 1 << 70, 1e300, -1e300])
def test_numbers_of_an_entry_are_left_out_where_they_cannot_be(study: Study, value: float) -> None:
    first, *_ = _captures(study)
    har = json.loads(read_capture_bytes(first))
    entry = har["log"]["entries"][0]
    entry |= {"connection": value, "_connectionId": value, "_initiatorIndex": value, "_socket": value}
    entry["response"] |= {"status": value, "_transferSize": value, "headersSize": value, "bodySize": value}
    entry["timings"] = dict.fromkeys(("blocked", "dns", "connect", "ssl", "send", "wait", "receive"), value)
    first.write_bytes(zstandard.compress(json.dumps(har).encode()))
    assert _read(study)["captures_refused"] == 0
    assert _visits(study) == 3


@pytest.mark.promise("captures-are-bounded")
@pytest.mark.parametrize(
    ("part", "name"),
    [("visit", "load_ms"), ("connections", "opened_ms"), ("connections", "established_ms"), ("dns", "asked_ms")],
)
@pytest.mark.parametrize("value", [1e300, -1e300, 1e11, float("inf"), float("nan")])
def test_a_time_that_no_visit_lasts_costs_its_file(study: Study, part: str, name: str, value: float) -> None:
    first, *_ = _captures(study)
    _change(first, part, name, value)
    assert (_read(study)["captures_refused"], _visits(study)) == (1, 2)
    assert _rejects(study) == [(f"captures/00/{first.name}", "not-capture")]


def test_a_ttl_with_its_first_bit_set_is_zero(study: Study) -> None:
    """RFC 2181 section 8. A name server decides it, so it may not cost the visit."""
    first, *_ = _captures(study)
    _change(first, "dns", "ttl", (1 << 32) - 1)
    _read(study)
    assert 0 in scan(study, "dns_queries").select("ttl").collect().to_series().to_list()


@pytest.mark.promise("captures-are-bounded")
def test_a_capture_under_another_name_is_refused(study: Study) -> None:
    first, second, _ = _captures(study)
    shutil.copyfile(first, first.with_name("00" + "a" * 30 + ".har.zst"))
    second.rename(second.with_name("00" + "b" * 30 + ".har.zst"))
    counts = _read(study)
    assert (counts["captures_refused"], _visits(study)) == (2, 2)
    assert {reason for _, reason in _rejects(study)} == {"misnamed"}


@pytest.mark.promise("captures-are-bounded")
def test_more_parts_than_any_capture_has_are_refused(study: Study) -> None:
    first, *_ = _captures(study)
    har = msgspec.json.decode(read_capture_bytes(first))
    har["log"]["_originset"]["connections"] = [{"id": 1}] * 300_000
    first.write_bytes(zstandard.compress(msgspec.json.encode(har)))
    assert _read(study)["captures_refused"] == 1
    assert [reason for _, reason in _rejects(study)] == ["too-large"]


@pytest.mark.promise("captures-are-bounded")
def test_a_capture_that_no_rows_can_be_made_of_costs_itself(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not thought of: it is found out which file it is."""
    first, *_ = _captures(study)
    tables = CaptureBatch.tables

    def failing(batch: CaptureBatch) -> dict[str, pl.DataFrame]:
        if any(extension.visit.visit_id == first.name.partition(".")[0] for extension in batch._extensions):
            raise OverflowError("a number that no column holds")
        return tables(batch)

    monkeypatch.setattr(CaptureBatch, "tables", failing)
    counts = _read(study)
    assert (counts["captures_read"], counts["captures_refused"], _visits(study)) == (2, 1, 2)
    assert _rejects(study) == [(f"captures/00/{first.name}", "no-rows")]
