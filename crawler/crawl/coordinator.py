"""What a crawl has left to do and what became of the rest: the one truth, whoever makes the visits."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from originset.crawler.browsers.engine import Sandbox
from originset.crawler.crawl.frontier import Schedule
from originset.crawler.crawl.pending_visits import OUTCOMES, Plan, further
from originset.crawler.crawl.politeness import Manners
from originset.crawler.failures import may_pass
from originset.crawler.machine import shortage
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture import UNNAMED, Features, Visit, write_packed
from originset.data.captures.capture_place import CaptureStore
from originset.data.errors import BrowserError
from originset.data.ledger.crawl_ledger import Key, Ledger, Row
from originset.data.studies.study import Study

Progress = Callable[[Visit, int], None]

# Before the second attempt; four times as long before each one more.
_RETRY_PAUSE_S = 2.0
# A visit that was under way so often when a worker was lost may be what loses them.
_MOST_LOST = 4


class Made(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A visit that was made: ``capture`` is its file's content, or else ``staged`` the key where a worker left that."""

    visit: Visit
    sandbox: Sandbox
    features: Features | None = None
    links: list[str] = []
    capture: bytes | None = None
    staged: str | None = None


class Maker(Protocol):
    """Who makes visits for one thread: a browser of our own, or one of a worker's."""

    most: int
    """How many visits it is given at a time, at most."""

    over: bool
    """It makes no more visits."""

    lost: bool
    """It was lost with the visits that it was given last and did not answer for."""

    def visit(self, rows: list[Row]) -> Iterator[tuple[Row, Made | None]]:
        """Visits that were made, as they are known; None for one that robots.txt forbids."""

    def close(self) -> None:
        """End what it began."""


class Book:
    """Ledger, schedule and captures of one crawl. All but :meth:`work` may be called at any time from any thread."""

    def __init__(  # noqa: PLR0917 - what a crawl consists of
        self,
        study: Study,
        ledger: Ledger,
        settings: CrawlSettings,
        plan: Plan,
        store: CaptureStore | None,
        progress: Progress,
    ) -> None:
        self.settings = settings
        self.seed = plan.seed
        self.pending = len(plan.pending)
        self.store = store
        self.manners = Manners(settings)
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
        self._progress = progress
        self._schedule = Schedule(plan.pending, self.manners.site, self.manners.paces)
        self._tries: Counter[Key] = Counter()
        self._losses: Counter[Key] = Counter()
        self._lock = threading.Lock()

    @property
    def left_over(self) -> int:
        """Visits not made."""
        return len(self._schedule)

    @property
    def finished(self) -> bool:
        """Nothing is left that this crawl could still do."""
        return self._schedule.finished

    def stop(self) -> None:
        """Begin to end: called by a signal handler, so it does no more than say so."""
        self.stopped = True

    def look_at_machine(self) -> None:
        """End the crawl where the machine runs short of something."""
        if self.shortage is None:
            self.shortage = shortage(self._study.root, self.settings.least_disk, self.settings.least_memory)

    def ended(self) -> bool:
        """Whether no more visits are to be begun."""
        # A full disk or a bug in one slot is one in all of them; a browser that does not start here may start there.
        return self.stopped or self.shortage is not None or not isinstance(self.error, BrowserError | None)

    def work(self, maker: Maker) -> None:
        """Have visits made until none are left, the crawl ends or ``maker`` is over. One thread for each maker."""
        try:
            while rows := self._schedule.take_some(lambda: maker.over or self.ended(), maker.most):
                self._have_made(maker, rows)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error
        finally:
            maker.close()

    def _have_made(self, maker: Maker, rows: list[Row]) -> None:
        left = {row.key: row for row in rows}
        lost = False
        try:
            self._ledger.lease(rows)
            for row, made in maker.visit(rows):
                result = self._settle(row, made)
                del left[row.key]
                if result is not None:
                    self._progress(result, len(self._schedule))
            lost = maker.lost and not self.ended()
        finally:
            for row in left.values():
                self._give_back(row, lost=lost)

    def _settle(self, row: Row, made: Made | None) -> Visit | None:
        """Say what became of a visit; its result where it was the last attempt."""
        if self.stopped:
            self._put_back(row, made)
        elif made is None:
            self._skip(row)
        elif (wait_s := self._pause(row, made.visit)) is not None:
            self._put_back(row, made, wait_s)
        else:
            self._keep(row, made)
            return made.visit
        return None

    def _pause(self, row: Row, result: Visit) -> float | None:
        """How long to wait before another attempt; None if this one was the last."""
        if result.status != "failed" or not may_pass(result.error, result.error_code):
            return None
        with self._lock:
            self._tries[row.key] += 1
            tries = self._tries[row.key]
        return _RETRY_PAUSE_S * 4 ** (tries - 1) if tries <= self.settings.retries else None

    def _put_back(self, row: Row, made: Made | None, wait_s: float | None = None) -> None:
        if made is not None and made.staged is not None and self.store is not None:
            self.store.discard(made.staged)
        self._ledger.requeue(row)
        self._schedule.put(row, wait_s)

    def _give_back(self, row: Row, *, lost: bool) -> None:
        self._ledger.requeue(row)
        with self._lock:
            self._losses[row.key] += lost
            given_up = self._losses[row.key] >= _MOST_LOST
        if given_up:
            self._schedule.give_up(row)
        else:
            self._schedule.put(row)

    def _skip(self, row: Row) -> None:
        self._ledger.finish(row, "skipped", "robots")
        with self._lock:
            self.made["skipped"] += 1
        self._schedule.done(row)

    def _keep(self, row: Row, made: Made) -> None:
        result = made.visit
        # First the capture, then the ledger: a row that says done has its file.
        self._keep_capture(made)
        rows = further(row, result.status, made.links)
        self._ledger.finish(row, OUTCOMES[result.status], result.error, result.error_code, rows)
        with self._lock:
            self.made[result.status] += 1
            self.browser_version, self.sandbox, self.features = result.browser_version, made.sandbox, made.features
            self.unnamed += UNNAMED in result.quality
        self._schedule.done(row, rows)

    def _keep_capture(self, made: Made) -> None:
        visit_id = made.visit.visit_id
        if made.capture is None:
            if self.store is None or made.staged is None:
                raise ValueError(f"{visit_id} has no capture")
            self.store.accept(made.staged, visit_id)
        elif self.store is None:
            write_packed(self._study.captures, visit_id, made.capture)
        else:
            self.store.write(visit_id, made.capture)


Run = Callable[[Book], None]
