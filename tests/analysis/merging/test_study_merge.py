"""Merging: the parts of a crawl and of an import give what one would have given; nothing twice, no link followed."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from rich.progress import Progress

from originset.analysis.captures.capture_import import read_captures
from originset.analysis.importing.import_run import import_hars
from originset.analysis.merging.study_merge import MergeSummary, merge_studies
from originset.data.captures.capture import Extension, Visit, write_capture
from originset.data.errors import StudyError, UsageError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import scan, shard_paths
from originset.data.studies.study import Study

HARS = Path(__file__).parents[2] / "fixtures" / "hars"
DISPLAY = Progress(disable=True)


def crawled(root: Path, *visit_ids: str) -> Study:
    study = Study(root)
    study.create()
    with study.changing("crawl", {}), Ledger(study.ledger_path) as ledger:
        study.update_manifest(vantages=[root.name])
        for visit_id in visit_ids:
            facts = {"visit_id": visit_id, "site": f"{visit_id}.test", "url": "u", "final_url": "u", "status": "ok"}
            visit = Visit(**facts, started_at="2026-11-21T04:00:00.000000Z")
            log = {"version": "1.2", "creator": {"name": root.name}, "pages": [], "entries": []}
            write_capture(study.captures, log, Extension(visit=visit, connections=[], dns=[], certificates={}))
            row = LedgerRow(f"{visit_id}.test", root.name, 1, 1)
            ledger.add([row])
            ledger.finish(row, "done")
    return study


def merged(root: Path, *sources: Study) -> tuple[Study, MergeSummary]:
    study = Study(root)
    with study.changing("merge", {}):
        return study, merge_studies(study, sources, DISPLAY)


def visits(study: Study) -> list[str]:
    with study.changing("analyze", {}):
        read_captures(study, DISPLAY)
    return sorted(scan(study, "visits").collect()["visit_id"].to_list())


A, B, C = "a" * 16, "b" * 16, "c" * 16


def test_parts_of_a_crawl(tmp_path: Path) -> None:
    parts = crawled(tmp_path / "here", A, B), crawled(tmp_path / "there", B, C)
    study, summary = merged(tmp_path / "whole", *parts)
    assert vars(summary) == {"captures": 3, "imported_visits": 0, "visits_in_both": 1, "links_left_out": 0}
    assert visits(study) == [A, B, C]
    assert study.manifest()["vantages"] == ["here", "there"]
    assert [facts["study"] for facts in study.manifest()["merged"]] == ["here", "there"]
    with Ledger(study.ledger_path) as ledger:
        assert ledger.state_counts() == {"done": 4}
    _, again = merged(tmp_path / "whole", *parts)
    assert (again.captures, again.visits_in_both) == (0, 4)
    assert visits(study) == [A, B, C]
    # What was linked is not changed by a later crawl of either study: captures are replaced, not written to.
    crawled(tmp_path / "here", A)
    (path,) = (tmp_path / "whole").glob(f"captures/*/{A}*")
    assert path.stat().st_ino != next((tmp_path / "here").glob(f"captures/*/{A}*")).stat().st_ino


def test_rounds_keep_the_settings_that_each_study_has_for_them(tmp_path: Path) -> None:
    parts = [crawled(tmp_path / "here", A), crawled(tmp_path / "there", B)]
    rounds = [
        {"vantage": "lab", "round": 1, "settings": {"browser": browser, "browser_version": "150.0"}}
        for browser in ("chromium", "firefox")
    ]
    for part, entry in zip(parts, rounds, strict=True):
        part.update_manifest(rounds=[entry])
    for _ in range(2):
        study, _ = merged(tmp_path / "whole", *parts)
        assert study.manifest()["rounds"] == rounds


def test_imports(tmp_path: Path) -> None:
    first, second, whole = Study(tmp_path / "1"), Study(tmp_path / "2"), Study(tmp_path / "3")
    for study, folders in ((first, ["playwright"]), (second, ["playwright", "firefox"])):
        with study.changing("import", {}):
            import_hars(study, [HARS / folder for folder in folders], DISPLAY)
    with whole.changing("import", {}):
        import_hars(whole, [HARS / "playwright", HARS / "firefox"], DISPLAY)
    study, summary = merged(tmp_path / "whole", first, second)
    assert summary.imported_visits == scan(whole, "visits").collect().height
    assert summary.visits_in_both == scan(first, "visits").collect().height
    for table in ("visits", "requests", "connections", "dns_queries"):
        keys = ["visit_id", *(name for name in ("request_id", "connection_id", "lookup_id") if name in _names(table))]
        ours, theirs = (scan(one, table).select(keys).collect().sort(keys) for one in (study, whole))
        assert ours.rows() == theirs.rows(), table


def _names(table: str) -> list[str]:
    return TABLES[table].polars_schema.names()


def test_captures_on_another_disk_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def across_disks(*_: object, **__: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", across_disks)
    part = crawled(tmp_path / "part", A, B)
    study, summary = merged(tmp_path / "whole", part)
    assert (summary.captures, visits(study)) == (2, [A, B])
    assert not list(study.captures.glob("*/.*"))


def test_shards_of_one_name_and_different_rows_are_both_kept(tmp_path: Path) -> None:
    first, second = Study(tmp_path / "1"), Study(tmp_path / "2")
    for study, folder in ((first, "playwright"), (second, "firefox")):
        with study.changing("import", {}):
            import_hars(study, [HARS / folder], DISPLAY)
    expected = scan(first, "visits").collect().height + scan(second, "visits").collect().height
    (name,), (other,) = ([path.stem for path in shard_paths(study, "visits")] for study in (first, second))
    for path in second.tables.glob(f"*/{other}.parquet"):
        path.rename(path.with_stem(name))
    second.tables.joinpath("dns_queries", f"{name}.parquet").unlink()
    study, summary = merged(tmp_path / "whole", first, second)
    assert summary.imported_visits == scan(study, "visits").collect().height == expected
    assert len(shard_paths(study, "visits")) == 2


@pytest.mark.promise("links-are-not-followed")
def test_links_are_not_followed(tmp_path: Path) -> None:
    part = crawled(tmp_path / "part", A, B)
    (path,) = part.captures.glob(f"*/{A}*")
    secret = tmp_path / "secret"
    shutil.copyfile(path, secret)
    path.unlink()
    path.symlink_to(secret)
    study, summary = merged(tmp_path / "whole", part)
    assert (summary.captures, summary.links_left_out) == (1, 1)
    assert visits(study) == [B]


def test_studies_that_cannot_be_merged(tmp_path: Path) -> None:
    part = crawled(tmp_path / "part", A)
    with pytest.raises(UsageError, match="into itself"):
        merged(tmp_path / "part", part)
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match="no study"):
        merged(tmp_path / "whole", part, Study(tmp_path / "empty"))
    assert not Study(tmp_path / "whole").captures.exists()
