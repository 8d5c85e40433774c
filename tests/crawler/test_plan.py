"""What a crawl has to do when its ledger and its captures do not say the same."""

import os
import shutil
from pathlib import Path

import pytest
from generated_captures import write_captures

from originset.crawler.plan import Plan, plan_crawl
from originset.crawler.settings import CrawlSettings
from originset.crawler.site_list import parse_site_list
from originset.data.errors import StudyError
from originset.data.ledger import Ledger
from originset.data.study import Study

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
        for row in plan.pending[:5]:
            ledger.lease(row)
    return made


def _plan(study: Study, ledger: Ledger) -> Plan:
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
        for row, _ in ledger.leased():
            ledger.requeue(row)
            ledger.finish(row, "skipped", "robots")
        for ending in ("", "-wal"):
            (copy.root / f"ledger.sqlite{ending}").write_bytes(Path(f"{study.ledger_path}{ending}").read_bytes())
    log = copy.root / "ledger.sqlite-wal"
    os.truncate(log, int(log.stat().st_size * share))
    sites, _ = _to_make(copy)
    assert {*_SITES[25:]} <= sites <= {*_SITES[20:]}


def test_a_capture_that_was_removed_is_made_again(study: Study) -> None:
    removed = next(study.captures.glob("*/*"))
    removed.unlink()
    sites, learnt = _to_make(study)
    assert (len(sites), learnt) == (11, 0)
