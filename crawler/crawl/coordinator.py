"""The coordinator of a crawl: it hands out visits, records their results, and keeps ledger and captures in step."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from originset.crawler.browsers.engine import Sandbox
from originset.crawler.crawl.failure_bound import FailureBound
from originset.crawler.crawl.frontier import Frontier
from originset.crawler.crawl.outages import Announce, Outages
from originset.crawler.crawl.pending_visits import OUTCOMES, CrawlPlan, internal_pages
from originset.crawler.crawl.politeness import Politeness
from originset.crawler.crawl.round_settings import RoundRecord
from originset.crawler.failures import may_pass
from originset.crawler.machine import shortage
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import UNNAMED, Features, Visit, write_packed
from originset.data.captures.capture_place import CaptureStore
from originset.data.errors import BrowserError, StudyError
from originset.data.ledger.crawl_ledger import Key, Ledger, LedgerRow
from originset.data.studies.study import Study

Progress = Callable[[Visit, int], None]

# Before the second attempt; four times as long before each one more.
_RETRY_PAUSE_S = 2.0
# A visit that was under way each time when so many workers were lost may be the cause.
_MAX_LOSSES = 4


class VisitResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A visit and its capture: the file's content, or else ``staged``, the key under which it is stored.

    ``offline``: there was no network where it was made, so it says nothing of its site.
    """

    visit: Visit
    sandbox: Sandbox
    features: Features | None = None
    links: list[str] = []
    offline: bool = False
    capture: bytes | None = None
    staged: str | None = None


class Worker(Protocol):
    """What makes visits for one thread: a browser of this machine, or one of a cluster's worker."""

    batch_size: int
    """How many visits it takes at a time, at most."""

    closed: bool
    """It makes no more visits."""

    disconnected: bool
    """The connection to it was lost, and with it the visits that it did not answer for."""

    @property
    def machine(self) -> str:
        """Where it runs, in words."""

    def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
        """Each visit with its result as it ends; None for one that robots.txt forbids."""

    def wait_for_network(self, ended: Callable[[], bool]) -> None:
        """Return when it may be worth a try again, or the crawl has ``ended``."""

    def refuse(self, error: StudyError) -> None:
        """It makes no more visits for this crawl, since ``error`` says that none of them would be kept."""

    def close(self) -> None:
        """End its browser."""


class Coordinator:
    """Ledger, frontier and captures of one crawl. All but :meth:`work` may be called at any time from any thread."""

    def __init__(  # noqa: PLR0917 - what a crawl consists of
        self,
        study: Study,
        ledger: Ledger,
        settings: CrawlSettings,
        plan: CrawlPlan,
        store: CaptureStore | None,
        progress: Progress,
        announce: Announce = lambda _line: None,
    ) -> None:
        self.settings = settings
        self.seed = plan.seed
        self.pending = len(plan.pending)
        self.store = store
        self.politeness = Politeness(settings)
        self.error: Exception | None = None
        self.browser_version: str | None = None
        self.sandbox: Sandbox | None = None
        self.features: Features | None = None
        self.unnamed = 0
        self.made: Counter[str] = Counter()
        self.stopped = False
        self.shortage: str | None = None
        self.left_out: list[str] = []
        self._study = study
        self._ledger = ledger
        self._round = RoundRecord(study, settings)
        self._failures = FailureBound(settings.fail_above)
        self._outages = Outages(announce)
        self._progress = progress
        self._frontier = Frontier(plan.pending, self.politeness.site, self.politeness.rate_limits)
        self._tries: Counter[Key] = Counter()
        self._losses: Counter[Key] = Counter()
        self._lock = threading.Lock()

    @property
    def left_over(self) -> int:
        """Visits not made."""
        return len(self._frontier)

    @property
    def failing(self) -> str | None:
        """By how much the crawl's failures are above its bound, in words; None if they are not."""
        return self._failures.excess(self.made)

    @property
    def finished(self) -> bool:
        """Nothing is left that this crawl could still do."""
        return self._frontier.finished

    def stop(self) -> None:
        """Begin to end. A signal handler calls this, so it only sets a flag."""
        self.stopped = True

    def check_machine(self) -> None:
        """End the crawl if the machine runs short of disk or memory."""
        if self.shortage is None:
            self.shortage = shortage(self._study.root, self.settings.least_disk, self.settings.least_memory)

    def ended(self) -> bool:
        """Whether no more visits are to be begun."""
        # A full disk or a bug in one worker concerns all of them; a browser that fails to start here may start there.
        if self.stopped or self.shortage is not None or self._failures.is_passed():
            return True
        return not isinstance(self.error, BrowserError | None)

    def work(self, worker: Worker) -> None:
        """Hand visits to ``worker`` until none are left, the crawl ends or the worker closes. One thread a worker."""
        try:
            while rows := self._frontier.take_batch(lambda: worker.closed or self.ended(), worker.batch_size):
                if self._run_batch(worker, rows):
                    worker.wait_for_network(lambda: worker.closed or self.ended())
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error
        finally:
            worker.close()

    def _run_batch(self, worker: Worker, rows: list[LedgerRow]) -> bool:
        """Have a worker make visits. Whether it had no network meanwhile."""
        left = {row.key: row for row in rows}
        lost = offline = False
        try:
            self._ledger.lease(rows)
            for row, made in worker.visit(rows):
                if made is not None and (refusal := self._round.refusal(made.visit)) is not None:
                    worker.refuse(refusal)
                    break
                if made is not None:
                    self._outages.note(worker.machine, offline=made.offline)
                    offline = offline or made.offline
                result = self._record_result(row, made)
                del left[row.key]
                if result is not None:
                    self._progress(result, len(self._frontier))
            lost = worker.disconnected and not self.ended()
        finally:
            for row in left.values():
                self._requeue(row, lost=lost)
        return offline

    def _record_result(self, row: LedgerRow, made: VisitResult | None) -> Visit | None:
        """Record the result of an attempt; it is returned if no other attempt follows."""
        if self.stopped:
            self._retry_later(row, made)
        elif made is not None and made.offline:
            self._retry_later(row, made, 0.0)  # after all others: it may be its site after all
        elif made is None:
            self._skip(row)
        elif (wait_s := self._retry_pause(row, made.visit)) is not None:
            self._retry_later(row, made, wait_s)
        else:
            self._keep_result(row, made)
            return made.visit
        return None

    def _retry_pause(self, row: LedgerRow, result: Visit) -> float | None:
        """How long to wait before another attempt; None if this one was the last."""
        if result.status != "failed" or not may_pass(result.error, result.error_code):
            return None
        with self._lock:
            self._tries[row.key] += 1
            tries = self._tries[row.key]
        return _RETRY_PAUSE_S * 4 ** (tries - 1) if tries <= self.settings.retries else None

    def _retry_later(self, row: LedgerRow, made: VisitResult | None, wait_s: float | None = None) -> None:
        if made is not None and made.staged is not None and self.store is not None:
            self.store.discard(made.staged)
        self._ledger.requeue(row)
        self._frontier.put(row, wait_s)

    def _requeue(self, row: LedgerRow, *, lost: bool) -> None:
        self._ledger.requeue(row)
        with self._lock:
            self._losses[row.key] += lost
            given_up = self._losses[row.key] >= _MAX_LOSSES
        if given_up:
            self._frontier.give_up(row)
        else:
            self._frontier.put(row)

    def _skip(self, row: LedgerRow) -> None:
        self._ledger.finish(row, "skipped", "robots")
        with self._lock:
            self.made["skipped"] += 1
        self._frontier.done(row)

    def _keep_result(self, row: LedgerRow, made: VisitResult) -> None:
        result = made.visit
        # First the capture, then the ledger: a row that says done has its file.
        self._keep_capture(made)
        rows = internal_pages(row, result.status, made.links)
        self._ledger.finish(row, OUTCOMES[result.status], result.error, result.error_code, rows)
        with self._lock:
            self.made[result.status] += 1
            self._failures.update(self.made)
            self.browser_version, self.sandbox, self.features = result.browser_version, made.sandbox, made.features
            self.unnamed += UNNAMED in result.quality
        self._frontier.done(row, rows)

    def _keep_capture(self, made: VisitResult) -> None:
        visit_id = made.visit.visit_id
        if made.capture is None:
            if self.store is None or made.staged is None:
                raise ValueError(f"{visit_id} has no capture")
            self.store.accept(made.staged, visit_id)
        elif self.store is None:
            write_packed(self._study.captures, visit_id, made.capture)
        else:
            self.store.write(visit_id, made.capture)


Run = Callable[[Coordinator], None]
