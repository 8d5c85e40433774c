"""What becomes of visits whose makers answer, fail or are lost; without browsers, as a coordinator knows no makers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from originset.crawler.crawl.coordinator import Coordinator, VisitResult
from originset.crawler.crawl.outages import Outages
from originset.crawler.crawl.pending_visits import plan_crawl
from originset.crawler.crawl.site_list import parse_site_list
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import Extension, Visit, capture_paths, pack_capture
from originset.data.captures.capture_store import FolderStore
from originset.data.errors import ClusterError, StudyError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.studies.identity import crawl_visit_id
from originset.data.studies.study import Study

pytestmark = pytest.mark.slow

SITES = [f"site{n}.example" for n in range(12)]


def made(row: LedgerRow, status: str = "ok", error: str | None = None, version: str | None = None) -> VisitResult:
    visit = Visit(
        visit_id=crawl_visit_id(row.site, row.vantage, row.round, row.page, row.repeat),
        site=row.site,
        url="https://a.test/",
        started_at="2026-11-21T10:00:00.000000Z",
        status=status,
        error=error,
        browser_version=version,
    )
    return VisitResult(visit=visit, sandbox="own", capture=pack_capture({"entries": []}, Extension(visit=visit)))


class Steady:
    """Answers for all that it is given, three at a time."""

    batch_size = 3
    closed = disconnected = False

    def __init__(self) -> None:
        self.given: list[list[LedgerRow]] = []
        self.closed = False
        self.refused: StudyError | None = None
        self.waited = 0

    machine = "here"

    def wait_for_network(self, ended: Callable[[], bool]) -> None:
        assert not ended()
        self.waited += 1

    def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
        self.given.append(rows)
        for row in rows:
            yield row, made(row)

    def refuse(self, error: StudyError) -> None:
        self.refused = error
        self.closed = True

    def close(self) -> None:
        self.closed = True


class Lost(Steady):
    """Answers for one visit and is never heard of again."""

    def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
        self.given.append(rows)
        yield rows[0], made(rows[0])
        self.closed = self.disconnected = True


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    study = Study(tmp_path / "study")
    study.create()
    settings = CrawlSettings(seed=1, least_disk=0, least_memory=0)
    with Ledger(study.ledger_path) as ledger:
        sites = parse_site_list("list", enumerate(SITES, 1), "0")
        plan = plan_crawl(study, ledger, sites, settings)
        yield Coordinator(study, ledger, settings, plan, None, lambda _visit, _left: None)


def states(coordinator: Coordinator) -> dict[str, int]:
    return coordinator._ledger.state_counts()


def test_visits_of_a_lost_maker_are_made_by_another(coordinator: Coordinator) -> None:
    lost, steady = Lost(), Steady()
    coordinator.work(lost)
    assert lost.closed
    assert len(lost.given) == 1
    assert states(coordinator) == {"done": 1, "queued": 11}
    coordinator.work(steady)
    assert states(coordinator) == {"done": 12}
    assert (coordinator.left_over, coordinator.finished, coordinator.made) == (0, True, {"ok": 12})
    assert {row for rows in steady.given for row in rows} >= set(lost.given[0][1:])
    assert {row: tries for row, _, tries in coordinator._ledger.all_rows()}[lost.given[0][1]] == 2
    assert len(list(capture_paths(coordinator._study.captures))) == 12


def test_visits_that_lose_every_maker_are_left_over(coordinator: Coordinator) -> None:
    class Poisoned(Steady):
        def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
            self.given.append(rows)
            for row in rows:
                if row.site == SITES[0]:
                    self.closed = self.disconnected = True
                    return
                yield row, made(row)

    makers = [Poisoned() for _ in range(20)]
    for worker in makers:
        coordinator.work(worker)
    assert coordinator.finished, "the crawl ends"
    assert coordinator.left_over == 1
    assert states(coordinator) == {"done": 11, "queued": 1}
    assert sum(any(row.site == SITES[0] for rows in worker.given for row in rows) for worker in makers) == 4


def test_a_maker_that_ends_early_loses_nothing(coordinator: Coordinator) -> None:
    class Brief(Steady):
        def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
            self.given.append(rows)
            yield rows[0], made(rows[0])

    brief = Brief()
    coordinator.work(brief)
    assert states(coordinator) == {"done": 12}
    assert len(brief.given) == 12


def test_a_batch_has_no_two_visits_to_one_site(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    study.create()
    settings = CrawlSettings(seed=1, least_disk=0, least_memory=0)
    addresses = [f"https://www{n % 4}.site{n % 5}.com/{n}" for n in range(60)]
    makers = [Steady() for _ in range(4)]
    with Ledger(study.ledger_path) as ledger:
        plan = plan_crawl(study, ledger, parse_site_list("list", enumerate(addresses, 1), "0"), settings)
        coordinator = Coordinator(study, ledger, settings, plan, None, lambda _visit, _left: None)
        threads = [threading.Thread(target=coordinator.work, args=(worker,)) for worker in makers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert coordinator.error is None
        assert ledger.state_counts() == {"done": 60}
    batches = [[row.site.split(".")[1] for row in rows] for worker in makers for rows in worker.given]
    assert all(len(set(sites)) == len(sites) for sites in batches)
    assert max(map(len, batches)) == 3


def test_a_failure_that_may_pass_is_tried_again_and_what_was_staged_goes(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    store = FolderStore(tmp_path / "shared")
    coordinator.store = store
    tried: list[str] = []

    class Staging(Steady):
        batch_size = 1

        def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
            (row,) = rows
            first = row.site == SITES[0] and SITES[0] not in tried
            tried.append(row.site)
            answer = made(row, *(("failed", "timeout") if first else ("ok", None)))
            assert answer.capture is not None
            answer.staged, answer.capture = store.stage("aa" * 16, answer.visit.visit_id, answer.capture), None
            yield row, answer

    coordinator.work(Staging())
    assert coordinator.error is None
    assert states(coordinator) == {"done": 12}
    assert tried.count(SITES[0]) == 2
    assert len(list(store.captures())) == 12
    assert not [path for path in (tmp_path / "shared" / "incoming").rglob("*") if path.is_file()]


@pytest.mark.promise("workers-are-checked")
def test_a_capture_that_is_not_where_it_was_said_to_be_ends_the_crawl(coordinator: Coordinator, tmp_path: Path) -> None:
    coordinator.store = FolderStore(tmp_path / "shared")

    class Elsewhere(Steady):
        def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
            for row in rows:
                answer = made(row)
                answer.staged, answer.capture = f"incoming/{'aa' * 16}/{answer.visit.visit_id}", None
                yield row, answer

    coordinator.work(Elsewhere())
    assert isinstance(coordinator.error, ClusterError)
    assert "do all machines share this folder?" in str(coordinator.error)
    assert states(coordinator) == {"queued": 12}


def test_visits_by_another_version_of_the_browser_are_made_by_another_worker(coordinator: Coordinator) -> None:
    class Versioned(Steady):
        def __init__(self, *versions: str) -> None:
            super().__init__()
            self._versions = list(versions)

        def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
            self.given.append(rows)
            for row in rows:
                yield row, made(row, version=self._versions.pop(0) if len(self._versions) > 1 else self._versions[0])

    updated, steady = Versioned(*["150.0"] * 4, "151.0"), Versioned("150.0")
    coordinator.work(updated)
    assert "browser version 150.0, not 151.0" in str(updated.refused)
    assert states(coordinator) == {"done": 4, "queued": 8}
    assert len(list(capture_paths(coordinator._study.captures))) == 4
    coordinator.work(steady)
    assert states(coordinator) == {"done": 12}


def test_visits_without_a_network_are_made_again(coordinator: Coordinator) -> None:
    class Offline(Steady):
        outages = 3

        def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
            self.given.append(rows)
            answer = made(rows[0], *(("failed", "dns") if self.outages else ("ok", None)))
            answer.offline = self.outages > 0
            self.outages -= answer.offline
            yield rows[0], answer

    said: list[str] = []
    coordinator._outages = Outages(said.append)
    worker = Offline()
    coordinator.work(worker)
    assert coordinator.error is None
    assert states(coordinator) == {"done": 12}
    assert worker.waited == 3
    assert (coordinator.made, len(worker.given)) == ({"ok": 12}, 15)
    assert [line.split(":")[0].split(",")[0] for line in said] == ["here has no network", "here has a network again"]


def test_a_crawl_of_which_too_much_fails_stops(tmp_path: Path) -> None:
    class Failing(Steady):
        def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
            for row in rows:
                yield row, made(row, "failed", "dns")

    study = Study(tmp_path / "study")
    study.create()
    listed = parse_site_list("list", enumerate((f"site{n}.example" for n in range(40)), 1), "0")
    for bound, left in ((99.0, 19), (100.0, 0)):  # a batch that is under way is made to its end
        settings = CrawlSettings(seed=1, least_disk=0, least_memory=0, fail_above=bound)
        with Ledger(study.ledger_path) as ledger:
            coordinator = Coordinator(
                study, ledger, settings, plan_crawl(study, ledger, listed, settings), None, lambda _visit, _left: None
            )
            coordinator.work(Failing())
            assert coordinator.left_over == left
            assert (coordinator.failing is not None) == bool(left)
