"""What a crawl would take, said before it is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from s3_storage import bucket

from originset.cli.main import main
from originset.crawler.crawl.estimate import estimate
from originset.crawler.crawl.pending_visits import plan_crawl
from originset.crawler.crawl.site_list import parse_site_list
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import Extension, Visit, capture_path, pack_capture, write_capture
from originset.data.captures.capture_bucket import BucketStore
from originset.data.captures.capture_place import settle_place
from originset.data.errors import StudyError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.studies.identity import crawl_visit_id
from originset.data.studies.study import Study

pytestmark = pytest.mark.slow

SITES = parse_site_list("list", enumerate(["a.test", "b.test", "c.test"], 1), "0" * 64)
SETTINGS = CrawlSettings(seed=1)


def capture(study: Study, visit_id: str) -> int:
    visit = Visit(
        visit_id=visit_id, site="a.test", url="https://a.test/", started_at="2026-01-01T00:00:00Z", status="ok"
    )
    write_capture(study.captures, {"entries": []}, Extension(visit=visit))
    return capture_path(study.captures, visit_id).stat().st_size


def test_a_new_study(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    found = estimate(study, SITES, replace(SETTINGS, repeats=2, internal=4, excluded=frozenset({"b.test"})))
    assert (found.visits, found.internal, found.skipped, found.excluded) == (4, 4, {}, 1)
    assert found.total_bytes == 4 * 5 * found.page_bytes
    assert "no captures to go by" in found.basis
    assert found.free_bytes > 0
    assert not study.root.exists(), "nothing is made"


def test_a_study_with_captures_goes_by_them(tmp_path: Path) -> None:
    study = Study(tmp_path)
    sizes = [capture(study, crawl_visit_id(site, "default", 1, "", 1)) for site in ("a.test", "b.test")]
    with Ledger(study.ledger_path) as ledger:
        ledger.add([LedgerRow("a.test", "default", 1, 1), LedgerRow("b.test", "default", 1, 1)])
        ledger.finish(LedgerRow("a.test", "default", 1, 1), "done", None)
        ledger.finish(LedgerRow("b.test", "default", 1, 1), "failed", "dns")
        before = ledger.rows("default", 1)
    found = estimate(study, SITES, SETTINGS)
    assert (found.visits, found.skipped) == (1, {"done": 1, "failed": 1})
    assert (found.page_bytes, found.basis) == (sum(sizes) // 2, "the mean of 2 captures of this study")
    assert estimate(study, SITES, replace(SETTINGS, only_failed=True)).visits == 1
    with Ledger(study.ledger_path) as ledger:
        assert ledger.rows("default", 1) == before


def test_a_ledger_that_is_none_is_told(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.ledger_path.write_text("no ledger")
    with pytest.raises(StudyError, match="is damaged"):
        estimate(study, SITES, SETTINGS)


def test_captures_elsewhere_are_listed_only_if_the_ledger_may_have_lost_rows(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bucket(endpoint, "estimated", monkeypatch) as place:
        study = Study(tmp_path / "study")
        study.create()
        store = settle_place(study, place)
        assert isinstance(store, BucketStore)
        with Ledger(study.ledger_path) as ledger:
            ledger.add([LedgerRow("a.test", "default", 1, 1)])
            plan_crawl(study, ledger, SITES, SETTINGS, store)
            ledger.lease([LedgerRow("a.test", "default", 1, 1)])
            ledger.lease([LedgerRow("b.test", "default", 1, 1)])
        # A crawl that was killed: one of its visits has its capture.
        visit_id = crawl_visit_id("a.test", "default", 1, "", 1)
        visit = Visit(
            visit_id=visit_id, site="a.test", url="https://a.test/", started_at="2100-01-01T00:00:00Z", status="ok"
        )
        store.write(visit_id, pack_capture({"entries": []}, Extension(visit=visit)))
        listed: list[str] = []
        captures = BucketStore.captures
        monkeypatch.setattr(BucketStore, "captures", lambda self: listed.append(self.place) or captures(self))
        before = study.ledger_path.read_bytes()
        found = estimate(study, SITES, SETTINGS)
        assert (found.visits, found.skipped, listed) == (2, {"done": 1}, [])
        study.ledger_path.with_suffix(".leases").unlink()
        assert (estimate(study, SITES, SETTINGS).visits, listed) == (2, [place])
        assert study.ledger_path.read_bytes() == before
        with pytest.raises(StudyError, match="shuffled with seed 1"):
            estimate(study, SITES, replace(SETTINGS, seed=2))


def test_the_command_says_it_and_visits_nothing(tmp_path: Path) -> None:
    listed = tmp_path / "sites.txt"
    listed.write_text("a.test\nb.test\n")
    arguments = ["--study", str(tmp_path / "study"), "crawl", str(listed), "--dry-run", "--internal", "2"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "2 visits to make, and up to 4 of pages that they link to"
    assert "kB a capture: a page of 103 requests" in result.stdout
    assert "at most" in result.stdout
    assert not (tmp_path / "study").exists()
