"""Captures that are merged from and into S3 storage: each once, and the rest after a merge that ended early."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.progress import Progress
from s3_storage import bucket, keys

from originset.analysis.captures.capture_import import read_captures
from originset.analysis.merging import study_merge_captures
from originset.analysis.merging.study_merge import MergeSummary, merge_studies
from originset.crawler.crawl.pending_visits import plan_crawl
from originset.crawler.crawl.site_list import parse_site_list
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import Extension, Visit, capture_path, pack_capture, write_packed
from originset.data.captures.capture_bucket import BucketStore
from originset.data.captures.capture_place import fetch_captures, place_of, settle_place
from originset.data.errors import ClusterError, StudyError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.studies.identity import crawl_visit_id
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

DISPLAY = Progress(disable=True)
SITES = [f"site{number}.example" for number in range(6)]


@pytest.fixture
def place(endpoint: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    with bucket(endpoint, request.node.name.replace("_", "-")[:60], monkeypatch) as address:
        yield address


def crawled(root: Path, sites: list[str], place: str | None = None) -> Study:
    study = Study(root)
    with study.changing("crawl", {}), Ledger(study.ledger_path) as ledger:
        store = settle_place(study, place)
        for site in sites:
            row = LedgerRow(site, "default", 1, 1)
            facts = {"visit_id": visit_id(site), "site": site, "url": "u", "final_url": "u", "status": "ok"}
            visit = Visit(**facts, started_at="2026-11-21T04:00:00.000000Z")
            packed = pack_capture({"version": "1.2", "creator": {}, "pages": [], "entries": []}, Extension(visit=visit))
            if store is None:
                write_packed(study.captures, visit.visit_id, packed)
            else:
                store.write(visit.visit_id, packed)
            ledger.add([row])
            ledger.finish(row, "done")
    return study


def visit_id(site: str) -> str:
    return crawl_visit_id(site, "default", 1, "", 1)


def merged(study: Study, *sources: Study) -> MergeSummary:
    with study.changing("merge", {}):
        return merge_studies(study, sources, DISPLAY)


def names(sites: list[str]) -> list[str]:
    return sorted(f"studies/one/{capture_path(Path(), visit_id(site))}" for site in sites)


def to_make(study: Study) -> set[str]:
    sites = parse_site_list("list", enumerate(SITES, start=1), "0")
    with Ledger(study.ledger_path) as ledger:
        return {row.site for row in plan_crawl(study, ledger, sites, CrawlSettings(seed=1), place_of(study)).pending}


def test_a_study_whose_captures_are_in_s3_takes_in_others(place: str, tmp_path: Path) -> None:
    whole = crawled(tmp_path / "whole", SITES[:2], place)
    elsewhere = crawled(tmp_path / "elsewhere", SITES[3:5], place.replace("/one", "/two"))
    parts = crawled(tmp_path / "part", SITES[1:4]), elsewhere
    assert to_make(whole) == {*SITES[2:]}
    summary = merged(whole, *parts)
    assert (summary.captures, summary.visits_in_both) == (3, 2)
    bucket_name = place.split("/")[2]
    assert [key for key in keys(bucket_name) if "/one/" in key] == names(SITES[:5])
    assert not whole.captures.exists()
    assert merged(whole, *parts).captures == 0
    assert fetch_captures(whole) == {"captures_fetched": 5}
    with whole.changing("analyze", {}):
        read_captures(whole, DISPLAY)
    assert scan(whole, "visits").collect()["site"].sort().to_list() == SITES[:5]
    assert to_make(whole) == {SITES[5]}


def test_a_merge_that_ended_early_goes_on(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, part = crawled(tmp_path / "whole", SITES[:1], place), crawled(tmp_path / "part", SITES)
    part.ledger_path.unlink()  # what was made is in its captures alone
    assert to_make(whole) == {*SITES[1:]}
    written: list[str] = []
    write = BucketStore.write

    def breaks(store: BucketStore, visit: str, packed: bytes) -> None:
        written.append(visit)
        if len(written) > 3:
            raise ClusterError(store.place, "the storage is gone")
        write(store, visit, packed)

    with monkeypatch.context() as patched:
        patched.setattr(BucketStore, "write", breaks)
        with pytest.raises(ClusterError, match="the storage is gone"):
            merged(whole, part)
    bucket_name = place.split("/")[2]
    assert len(keys(bucket_name)) == 4
    # A crawl that comes between makes no visit again whose capture came in.
    assert len(to_make(whole)) == 2
    summary = merged(whole, part)
    assert (summary.captures, summary.visits_in_both) == (2, 4)
    assert keys(bucket_name) == names(SITES)
    assert to_make(whole) == set()


def test_captures_in_s3_come_into_a_folder(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is removed while it is merged is not there."""
    part, whole = crawled(tmp_path / "part", SITES, place), Study(tmp_path / "whole")
    gone = visit_id(SITES[0])
    read = BucketStore.read
    monkeypatch.setattr(BucketStore, "read", lambda store, visit: None if visit == gone else read(store, visit))
    assert merged(whole, part).captures == len(SITES) - 1
    assert sorted(path.name for path in whole.captures.glob("*/*")) == sorted(
        capture_path(Path(), visit_id(site)).name for site in SITES[1:]
    )


def test_what_is_larger_than_any_capture_is_not_put_into_storage(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, part = crawled(tmp_path / "whole", [], place), crawled(tmp_path / "part", SITES[:1])
    monkeypatch.setattr(study_merge_captures, "MAX_BYTES", 10)
    with pytest.raises(StudyError, match="is larger than any capture; move it away"):
        merged(whole, part)
    assert keys(place.split("/")[2]) == []


def test_what_is_no_capture_is_not_put_into_storage(place: str, tmp_path: Path) -> None:
    whole, part = crawled(tmp_path / "whole", SITES[:1], place), crawled(tmp_path / "part", [])
    stray = part.captures / "ab" / "cd not a capture.har.zst"
    stray.parent.mkdir(parents=True)
    stray.symlink_to(whole.manifest_path)
    assert merged(whole, part).links_left_out == 1
    stray.unlink()
    stray.write_bytes(b"")
    with pytest.raises(StudyError, match=r"ab/cd not a capture\.har\.zst is not named as a capture is"):
        merged(whole, part)
    assert keys(place.split("/")[2]) == names(SITES[:1])
