"""What a crawl has to do when its ledger and its captures do not say the same."""

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from generated_captures import write_captures

from originset.analysis.rejects import reject_rows
from originset.crawler.crawl.pending_visits import CrawlPlan, plan_crawl
from originset.crawler.crawl.site_list import parse_site_list
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import (
    Extension,
    Visit,
    capture_path,
    capture_paths,
    pack_capture,
    read_capture_bytes,
)
from originset.data.captures.capture_store import FolderStore, StoredCapture
from originset.data.errors import InputError, StudyError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.studies.identity import crawl_visit_id
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study

pytestmark = pytest.mark.slow

_SITES = [f"site{number}.example" for number in range(30)]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Thirty sites, of which twenty were visited, five are leased and five queued."""
    made = Study(tmp_path / "S")
    made.create()
    write_captures(made.captures, range(20), entries=2)
    with Ledger(made.ledger_path) as ledger:
        plan = _plan(made, ledger)
        assert (len(plan.pending), plan.recovered) == (10, 20)
        ledger.lease(plan.pending[:5])
    return made


def _plan(study: Study, ledger: Ledger) -> CrawlPlan:
    return plan_crawl(study, ledger, parse_site_list("list", enumerate(_SITES, start=1), "0"), CrawlSettings(seed=1))


def _to_make(study: Study) -> tuple[set[str], int]:
    with Ledger(study.ledger_path) as ledger:
        plan = _plan(study, ledger)
        return {row.site for row in plan.pending}, plan.recovered


def test_a_new_ledger_learns_from_the_captures(study: Study) -> None:
    for path in study.root.glob("ledger.sqlite*"):
        path.unlink()
    assert _to_make(study) == ({*_SITES[20:]}, 20)
    assert _to_make(study) == ({*_SITES[20:]}, 0)


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9])
def test_a_ledger_that_was_cut_is_said_or_makes_no_visit_twice(study: Study, share: float) -> None:
    os.truncate(study.ledger_path, int(study.ledger_path.stat().st_size * share))
    if share:
        with pytest.raises(StudyError, match=r"ledger.sqlite is damaged .*; run: rm -f .*; then crawl again"):
            Ledger(study.ledger_path)
        study.ledger_path.unlink()
    assert _to_make(study) == ({*_SITES[20:]}, 20)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_log_of_the_ledger_that_was_cut_makes_no_visit_twice(study: Study, tmp_path: Path, share: float) -> None:
    """As a power cut leaves it: SQLite takes of the log what is whole."""
    copy = Study(tmp_path / "copy")
    shutil.copytree(study.captures, copy.captures)
    copy.manifest_path.write_bytes(study.manifest_path.read_bytes())
    with Ledger(study.ledger_path) as ledger:
        for row, _ in ledger.leased_rows():
            ledger.requeue(row)
            ledger.finish(row, "skipped", "robots")
        for ending in ("", "-wal"):
            (copy.root / f"ledger.sqlite{ending}").write_bytes(Path(f"{study.ledger_path}{ending}").read_bytes())
    log = copy.root / "ledger.sqlite-wal"
    os.truncate(log, int(log.stat().st_size * share))
    sites, _ = _to_make(copy)
    assert {*_SITES[25:]} <= sites <= {*_SITES[20:]}


class Watched(FolderStore):
    """Captures elsewhere, and how often all of them were listed."""

    listed = 0

    def captures(self) -> Iterator[StoredCapture]:
        self.listed += 1
        return super().captures()


class Elsewhere:
    """A crawl whose captures are kept elsewhere, and copies of its study as a crash leaves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Watched(folder / "shared")
        self.study = Study(folder / "study")
        self.study.create()

    def plan(self, study: Study, ledger: Ledger) -> CrawlPlan:
        sites = parse_site_list("list", enumerate(_SITES, start=1), "0")
        return plan_crawl(study, ledger, sites, CrawlSettings(seed=1), self.store)

    def crashed(self, name: str) -> Study:
        copy = Study(self.folder / name)
        shutil.copytree(self.study.root, copy.root)
        return copy

    def to_make(self, study: Study) -> tuple[set[str], int]:
        """The sites that are visited next, and how often the captures were listed for that."""
        before = self.store.listed
        with Ledger(study.ledger_path) as ledger:
            sites = {row.site for row in self.plan(study, ledger).pending}
        return sites, self.store.listed - before

    def make(self, row: LedgerRow) -> None:
        """A capture comes into its place."""
        visit = Visit(
            visit_id=crawl_visit_id(row.site, row.vantage, row.round, row.page, row.repeat),
            site=row.site,
            url=f"https://{row.site}/",
            started_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            status="ok",
        )
        self.store.write(visit.visit_id, pack_capture({"version": "1.2", "entries": []}, Extension(visit=visit)))


def test_captures_elsewhere_are_not_listed_after_a_crash(tmp_path: Path) -> None:
    """Whatever moment it comes at: before the capture, before the ledger knows of it, after that, or at a power cut."""
    crawl = Elsewhere(tmp_path)
    left = {*_SITES}
    with Ledger(crawl.study.ledger_path) as ledger:
        pending = crawl.plan(crawl.study, ledger).pending
        for number in range(5):
            rows = pending[4 * number : 4 * number + 4]
            ledger.lease(rows)
            synchronised = crawl.crashed(f"{number}-power")
            assert crawl.to_make(crawl.crashed(f"{number}-leased")) == (left, 0)
            for row in rows:
                crawl.make(row)
                left.discard(row.site)
            assert crawl.to_make(crawl.crashed(f"{number}-captured")) == (left, 0)
            for row in rows:
                ledger.finish(row, "done")
            assert crawl.to_make(crawl.crashed(f"{number}-done")) == (left, 0)
            # A power cut takes what was committed since the last lease.
            assert crawl.to_make(synchronised) == (left, 0)
    assert crawl.to_make(crawl.study) == (left, 0)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 1])
def test_captures_elsewhere_are_listed_where_the_ledger_lost_rows(tmp_path: Path, share: float) -> None:
    """SQLite drops a log's end without a word; what was made is in the captures."""
    crawl = Elsewhere(tmp_path)
    with Ledger(crawl.study.ledger_path) as ledger:
        pending = crawl.plan(crawl.study, ledger).pending
        for row in pending[:20]:
            ledger.lease([row])
            crawl.make(row)
            ledger.finish(row, "done")
        copy = crawl.crashed("cut")
    log = Path(f"{copy.ledger_path}-wal")
    os.truncate(log, int(log.stat().st_size * share))
    left = {row.site for row in pending[20:]}
    assert crawl.to_make(copy) == (left, int(share < 1))
    assert crawl.to_make(copy) == (left, 0)


def test_captures_elsewhere_of_sites_that_are_not_listed_yet(tmp_path: Path) -> None:
    """A new ledger knows only what its lists name; what else was made is found when a list names it."""
    crawl = Elsewhere(tmp_path)
    rows = [LedgerRow(site, "default", 1, 1) for site in [*_SITES[:3], "later.example"]]
    for row in rows:
        crawl.make(row)
    for _ in range(2):
        assert crawl.to_make(crawl.study) == ({*_SITES[3:]}, 1)
    _SITES.append("later.example")
    try:
        assert crawl.to_make(crawl.study) == ({*_SITES[3:-1]}, 1)
        assert crawl.to_make(crawl.study) == ({*_SITES[3:-1]}, 0)
    finally:
        _SITES.pop()


def test_a_refused_capture_elsewhere_that_was_removed_is_made_again(tmp_path: Path) -> None:
    crawl = Elsewhere(tmp_path)
    rows = [LedgerRow(site, "default", 1, 1) for site in _SITES]
    for row in rows:
        crawl.make(row)
    assert crawl.to_make(crawl.study) == (set(), 1)
    names = [f"captures/{path.parent.name}/{path.name}" for path in capture_paths(tmp_path / "shared")]
    refused = [InputError(name, "not-a-capture", "") for name in names[:2]]
    write_shard(crawl.study, "rejects", "captures-all", reject_rows(refused))
    (tmp_path / "shared" / names[0].removeprefix("captures/")).unlink()
    sites, listed = crawl.to_make(crawl.study)
    assert (len(sites), listed) == (1, 0)
    assert names[0] == f"captures/{capture_path(Path(), crawl_visit_id(*sites, 'default', 1, '', 1))}"


def test_a_capture_that_was_removed_is_made_again(study: Study) -> None:
    removed = next(study.captures.glob("*/*"))
    removed.unlink()
    sites, learnt = _to_make(study)
    assert (len(sites), learnt) == (11, 0)


@pytest.mark.promise("received-addresses")
def test_links_of_a_received_capture_lead_to_pages_only(tmp_path: Path) -> None:
    study = Study(tmp_path / "S")
    study.create()
    (path,) = write_captures(study.captures, range(1), entries=2)
    captured = json.loads(read_capture_bytes(path))
    page = "https://site0.example/about"
    hostile = ["file:///etc/passwd", "chrome://version", "javascript:alert(1)", "http://[", "https://a@site0.example/"]
    captured["log"]["_originset"]["links"] = [*hostile, page]
    path.write_bytes(zstandard.compress(json.dumps(captured).encode()))
    with Ledger(study.ledger_path) as ledger:
        plan = _plan(study, ledger)
    assert {row.page for row in plan.pending} == {"", page}
    with Ledger(study.ledger_path):
        pass  # it holds what this program writes


@pytest.mark.promise("received-addresses")
def test_an_address_of_a_received_ledger_that_is_none_is_one_line(study: Study) -> None:
    with Ledger(study.ledger_path) as ledger:
        ledger.add([LedgerRow("site1.example", "default", 1, 1, page="http://[", address="http://[")])
        with pytest.raises(StudyError, match=r"ledger.sqlite is damaged \('http://\[' is no page's address\)"):
            _plan(study, ledger)
