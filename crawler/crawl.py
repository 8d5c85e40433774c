"""The crawl of a list: slots with a browser each, a ledger of what is left, captures that are whole or not there."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from originset.crawler.chromium import Chromium, flags
from originset.crawler.failures import may_pass, port_is_closed
from originset.crawler.settings import CrawlSettings
from originset.crawler.site_list import SiteList
from originset.crawler.visit import VisitRequest, visit
from originset.data.capture import Extension, Visit, write_capture
from originset.data.errors import BrowserError
from originset.data.identity import crawl_visit_id
from originset.data.ledger import Ledger, Outcome, Row, State
from originset.data.study import Study

Progress = Callable[[Visit], None]
Captured = tuple[dict[str, Any], Extension]

_OUTCOMES: dict[str, Outcome] = {"ok": "done", "partial": "partial", "failed": "failed"}

# A browser's memory grows a little with every context; starting another costs as much as two visits.
_VISITS_PER_BROWSER = 500
_STARTS = 3
_START_PAUSE_S = 1.0


@dataclass(slots=True)
class CrawlSummary:
    """What a crawl did: visits by status, those that were there already by state, those still to make."""

    made: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    left_over: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The visits to make, and how many of the list's were made before, by state."""

    pending: list[Row]
    skipped: dict[str, int]


def plan_crawl(ledger: Ledger, sites: SiteList, settings: CrawlSettings) -> Plan:
    """Enter the list's visits in the ledger and say which are to be made."""
    rows = [
        Row(site.name, settings.vantage, settings.round_number, repeat, rank=site.rank, address=site.url)
        for repeat in range(1, settings.repeats + 1)
        for site in sites.sites
    ]
    ledger.recover()
    ledger.add(rows)
    states = ledger.states(rows)
    wanted: State = "failed" if settings.only_failed else "queued"
    pending = [row for row in rows if states[row.key] == wanted]
    skipped: dict[str, int] = {}
    for row in rows:
        if (state := states[row.key]) != wanted:
            skipped[state] = skipped.get(state, 0) + 1
    return Plan(pending, skipped)


def crawl(
    study: Study, sites: SiteList, settings: CrawlSettings, progress: Progress, planned: Callable[[Plan], None]
) -> CrawlSummary:
    """Visit what is left of a list. ``planned`` is told once what that is, ``progress`` every visit, from any thread.

    SIGINT and SIGTERM end it in order (in the main thread only): no browser stays, no capture is half written, the
    ledger has the rest queued.

    Raises:
        KeyboardInterrupt: it was told to end.
        BrowserError: no browser could be started and visits are left over.
        StudyError: the study cannot be changed.
    """
    parameters = {
        "site_list": sites.source,
        "site_list_sha256": sites.sha256,
        "vantage": settings.vantage,
        "round": settings.round_number,
        "repeats": settings.repeats,
        "jobs": settings.jobs,
        "timeout_s": settings.visit.timeout_s,
        "retries": settings.retries,
        "third_party_cookies": settings.visit.third_party_cookies,
        "only_failed": settings.only_failed,
    }
    with study.changing("crawl", parameters) as counts, Ledger(study.ledger_path) as ledger:
        plan = plan_crawl(ledger, sites, settings)
        planned(plan)
        run = _Run(study, ledger, settings, plan.pending, progress)
        with _signals(run.stop):
            run.wait()
        _record_facts(study, sites, settings, run.browser_version)
        if run.stopped:
            raise KeyboardInterrupt
        summary = CrawlSummary(run.made, plan.skipped, run.left_over)
        counts.update(made=run.made, skipped=plan.skipped, left_over=run.left_over)
        if run.error is not None:
            raise run.error
        return summary


def _record_facts(study: Study, sites: SiteList, settings: CrawlSettings, version: str | None) -> None:
    manifest = study.manifest()
    if version is not None:
        study.update_manifest(browser={"name": "chromium", "version": version, "flags": list(flags())})
    study.update_manifest(
        site_list={"source": sites.source, "sha256": sites.sha256, "sites": len(sites.sites)},
        third_party_cookies=settings.visit.third_party_cookies,
        vantages=sorted({*manifest.get("vantages", []), settings.vantage}),
    )


class _Run:
    """The slots at work, and what they share."""

    def __init__(
        self, study: Study, ledger: Ledger, settings: CrawlSettings, pending: list[Row], progress: Progress
    ) -> None:
        self.settings = settings
        self.error: Exception | None = None
        self.browser_version: str | None = None
        self.made: dict[str, int] = {}
        self.stopped = False
        self._study = study
        self._ledger = ledger
        self._progress = progress
        self._queue = deque(pending)
        self._lock = threading.Lock()
        self._browsers: set[Chromium] = set()
        count = min(settings.jobs, len(pending))
        self._threads = [threading.Thread(target=self._work, name=f"slot-{n}") for n in range(1, count + 1)]

    @property
    def left_over(self) -> int:
        """Visits not made."""
        return len(self._queue)

    def stop(self) -> None:
        """Begin to end: called by a signal handler, so it does no more than say so."""
        self.stopped = True

    def wait(self) -> None:
        """Run to the end, or until told to stop."""
        for thread in self._threads:
            thread.start()
        while any(thread.is_alive() for thread in self._threads):
            if self.stopped:
                with self._lock:
                    browsers = list(self._browsers)
                for browser in browsers:
                    browser.kill()
            for thread in self._threads:
                thread.join(0.1)

    def _work(self) -> None:
        slot = _Slot(self)
        try:
            while (row := self._lease()) is not None:
                try:
                    captured = slot.visit(row)
                except BaseException:
                    self._give_back(row)
                    raise
                if captured is None or self.stopped:
                    self._give_back(row)
                else:
                    self._keep(row, captured)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error
        finally:
            slot.close()

    def _lease(self) -> Row | None:
        # A full disk or a bug in one slot is one in all of them; a browser that does not start here may start there.
        if self.stopped or not isinstance(self.error, BrowserError | None):
            return None
        with self._lock:
            row = self._queue.popleft() if self._queue else None
        if row is not None:
            self._ledger.lease(row)
        return row

    def _give_back(self, row: Row) -> None:
        self._ledger.requeue(row)
        with self._lock:
            self._queue.appendleft(row)

    def _keep(self, row: Row, captured: Captured) -> None:
        har_log, extension = captured
        result = extension.visit
        # First the capture, then the ledger: a row that says done has its file.
        write_capture(self._study.captures, har_log, extension)
        self._ledger.finish(row, _OUTCOMES[result.status], result.error, result.error_code)
        with self._lock:
            self.made[result.status] = self.made.get(result.status, 0) + 1
            self.browser_version = result.browser_version
        self._progress(result)

    @contextmanager
    def browser(self) -> Iterator[Chromium]:
        """A browser that :meth:`wait` can end."""
        browser = Chromium(self.settings.visit)
        with self._lock:
            self._browsers.add(browser)
        try:
            with browser:
                yield browser
        finally:
            with self._lock:
                self._browsers.discard(browser)


class _Slot:
    """One thread's browser, replaced when it is lost or old."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._stack = ExitStack()
        self._browser: Chromium | None = None
        self._visits = 0

    def close(self) -> None:
        """End the browser."""
        self._browser = None
        self._stack.close()

    def visit(self, row: Row) -> Captured | None:
        """Visit a row's page, again where the failure may pass; None if the crawl is told to stop meanwhile."""
        for _ in range(self._run.settings.retries + 1):
            captured = self._attempt(row)
            if self._run.stopped:
                return None
            result = captured[1].visit
            if result.status != "failed" or not may_pass(result.error):
                break
        return captured

    def _attempt(self, row: Row) -> Captured:
        """By https, and by http where nothing listens for https and the list named a bare host."""
        captured = self._load(row, row.address or f"https://{row.site}/", ())
        if row.address is None and port_is_closed(captured[1].visit.error):
            fallback = self._load(row, f"http://{row.site}/", ("http_fallback",))
            # If neither answers, the first failure is the site's.
            if fallback[1].visit.status != "failed" or not port_is_closed(fallback[1].visit.error):
                return fallback
        return captured

    def _load(self, row: Row, url: str, quality: tuple[str, ...]) -> Captured:
        request = VisitRequest(
            crawl_visit_id(row.site, row.vantage, row.round, row.page, row.repeat),
            row.site,
            url,
            rank=row.rank,
            vantage=row.vantage,
            round_number=row.round,
            repeat=row.repeat,
            quality=quality,
        )
        browser = self._ready()
        self._visits += 1
        return visit(browser, request)

    def _ready(self) -> Chromium:
        if self._browser is None or self._browser.killed or self._visits >= _VISITS_PER_BROWSER:
            self.close()
            self._browser, self._visits = self._start(), 0
        return self._browser

    def _start(self) -> Chromium:
        for start in range(1, _STARTS + 1):
            try:
                return self._stack.enter_context(self._run.browser())
            except BrowserError:
                if start == _STARTS or self._run.stopped:
                    raise
                time.sleep(_START_PAUSE_S)
        raise AssertionError  # the last round returns or raises


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call ``stop``; only the main thread may say so, others run without."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
