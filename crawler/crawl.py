"""The crawl of a list: slots with a browser each, a ledger of what is left, captures that are whole or not there."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from originset.crawler.address_families import can_limit, families
from originset.crawler.browsers import Browser, browser_for
from originset.crawler.engine import DIFFERENCES, flags, sandbox
from originset.crawler.failures import may_pass
from originset.crawler.machine import give_memory_back, shortage
from originset.crawler.manners import Manners
from originset.crawler.plan import OUTCOMES, Plan, further, plan_crawl
from originset.crawler.schedule import Schedule
from originset.crawler.scratch import sweep
from originset.crawler.settings import CrawlSettings, Family
from originset.crawler.site_list import SiteList
from originset.crawler.slot import Captured, Slot
from originset.data.capture import Visit, write_capture
from originset.data.errors import BrowserError, UsageError
from originset.data.ledger import Key, Ledger, Row
from originset.data.study import Study

Progress = Callable[[Visit, int], None]

# Before the second attempt; four times as long before each one more.
_RETRY_PAUSE_S = 2.0
_LOOK_S = 1.0
_FAMILIES = {"4": "IPv4 alone", "6": "IPv6 alone", "both": "IPv4 and IPv6", None: "neither IPv4 nor IPv6"}


@dataclass(slots=True)
class CrawlSummary:
    """What a crawl did: visits by status, those that were there already by state, those still to make.

    ``shortage`` says what the machine ran out of, if that ended it.
    """

    made: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    left_over: int = 0
    shortage: str | None = None


def crawl(
    study: Study, sites: SiteList, settings: CrawlSettings, progress: Progress, planned: Callable[[Plan], None]
) -> CrawlSummary:
    """Visit what is left of a list.

    ``planned`` is told once what that is; ``progress`` every visit, from any thread, and how many are left.

    SIGINT and SIGTERM end it in order (in the main thread only): no browser stays, no capture is half written, the
    ledger has the rest queued.

    Raises:
        KeyboardInterrupt: it was told to end.
        BrowserError: no browser could be started and visits are left over.
        UsageError: visits cannot be kept to the address families that are wanted.
        StudyError: the study cannot be changed.
    """
    _require_family(settings.visit.family)
    sweep()
    give_memory_back()
    with study.changing("crawl", _parameters(sites, settings)) as counts, Ledger(study.ledger_path) as ledger:
        plan = plan_crawl(study, ledger, sites, settings)
        planned(plan)
        run = _Run(study, ledger, settings, plan, progress)
        with _signals(run.stop):
            run.wait()
        _record_facts(study, sites, settings, plan.seed, run.browser_version)
        if run.stopped:
            raise KeyboardInterrupt
        summary = CrawlSummary(dict(run.made), plan.skipped, run.left_over, run.shortage)
        counts.update(made=dict(run.made), skipped=plan.skipped, left_over=run.left_over)
        if plan.excluded:
            counts.update(excluded=plan.excluded)
        if run.error is not None:
            raise run.error
        return summary


def _require_family(wanted: Family | None) -> None:
    """Whether visits can be kept to the address families that are wanted.

    Raises:
        UsageError: they cannot.
    """
    reached = families()
    if wanted is None or wanted == reached:
        return
    if reached != "both":
        raise UsageError(
            f"this machine reaches {_FAMILIES[reached]}, not {_FAMILIES[wanted]}",
            "run the crawl where that can be reached, or leave --family out",
        )
    if not can_limit():
        raise UsageError(
            f"this machine reaches IPv4 and IPv6, and its kernel lets no browser be kept to {_FAMILIES[wanted]}",
            f"run the crawl where {_FAMILIES[wanted]} can be reached, or leave --family out",
        )


def _parameters(sites: SiteList, settings: CrawlSettings) -> dict[str, Any]:
    return {
        "site_list": sites.source,
        "site_list_sha256": sites.sha256,
        "vantage": settings.vantage,
        "vantage_ip": settings.vantage_ip,
        "round": settings.round_number,
        "repeats": settings.repeats,
        "jobs": settings.jobs,
        "timeout_s": settings.visit.timeout_s,
        "retries": settings.retries,
        "browser": settings.visit.browser,
        "third_party_cookies": settings.visit.third_party_cookies,
        "resolver": None if settings.resolver is None else settings.resolver.name,
        "only_failed": settings.only_failed,
        "shard": f"{settings.shard[0]}/{settings.shard[1]}",
        "internal": settings.internal,
        "profile": settings.profile,
        "device": settings.visit.device,
        "family": settings.visit.family,
        "consent": settings.visit.consent,
        "contact": settings.visit.contact,
        "respect_robots": settings.respect_robots,
        "per_address": settings.per_address,
        "per_as": settings.per_as,
    }


def _record_facts(study: Study, sites: SiteList, settings: CrawlSettings, seed: int, version: str | None) -> None:
    manifest = study.manifest()
    if version is not None:
        browser = settings.visit.browser
        kind = "own" if browser == "firefox" else sandbox()
        study.update_manifest(
            browser={
                "name": browser,
                "version": version,
                "flags": list(flags(browser, kind, settings.visit.third_party_cookies)),
                "sandbox": kind,
                "differs": list(DIFFERENCES[browser]),
            }
        )
    study.update_manifest(
        site_list={"source": sites.source, "sha256": sites.sha256, "sites": len(sites.sites), **sites.origin},
        seed=seed,
        profile=settings.profile,
        third_party_cookies=settings.visit.third_party_cookies,
        vantages=sorted({*manifest.get("vantages", []), settings.vantage}),
    )


class _Run:
    """The slots at work, and what they share."""

    def __init__(self, study: Study, ledger: Ledger, settings: CrawlSettings, plan: Plan, progress: Progress) -> None:
        self.error: Exception | None = None
        self.browser_version: str | None = None
        self.made: Counter[str] = Counter()
        self.stopped = False
        self.shortage: str | None = None
        self._settings = settings
        self._seed = plan.seed
        self._study = study
        self._ledger = ledger
        self._progress = progress
        self._manners = Manners(settings)
        self._schedule = Schedule(plan.pending, self._manners.site, self._manners.paces)
        self._tries: Counter[Key] = Counter()
        self._lock = threading.Lock()
        self._browsers: set[Browser] = set()
        # Internal pages come up on the way, so there may be work for more slots than there are visits now.
        count = settings.jobs if settings.internal else min(settings.jobs, len(plan.pending))
        self._threads = [threading.Thread(target=self._work, name=f"slot-{n}") for n in range(1, count + 1)]

    @property
    def left_over(self) -> int:
        """Visits not made."""
        return len(self._schedule)

    def stop(self) -> None:
        """Begin to end: called by a signal handler, so it does no more than say so."""
        self.stopped = True

    def wait(self) -> None:
        """Run to the end, or until told to stop, or until the machine runs short of something."""
        self._look_at_machine()
        for thread in self._threads:
            thread.start()
        looked = time.monotonic()
        while any(thread.is_alive() for thread in self._threads):
            if self.stopped:
                with self._lock:
                    browsers = list(self._browsers)
                for browser in browsers:
                    browser.kill()
            if time.monotonic() - looked >= _LOOK_S:
                looked = time.monotonic()
                self._look_at_machine()
            for thread in self._threads:
                thread.join(0.1)

    def _look_at_machine(self) -> None:
        if self.shortage is None:
            self.shortage = shortage(self._study.root, self._settings.least_disk, self._settings.least_memory)

    def _ended(self) -> bool:
        # A full disk or a bug in one slot is one in all of them; a browser that does not start here may start there.
        return self.stopped or self.shortage is not None or not isinstance(self.error, BrowserError | None)

    def _work(self) -> None:
        slot = Slot(self._settings, self._seed, self._manners, self._browser, lambda: self.stopped)
        try:
            while (row := self._schedule.take(self._ended)) is not None:
                try:
                    self._ledger.lease(row)
                    result = self._settle(row, slot.visit(row))
                except BaseException:
                    self._give_back(row)
                    raise
                if result is not None:
                    self._progress(result, len(self._schedule))
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error
        finally:
            slot.close()

    def _settle(self, row: Row, captured: Captured | None) -> Visit | None:
        """Say what became of a visit; its result where it was the last attempt."""
        if self.stopped:
            self._give_back(row)
        elif captured is None:
            self._skip(row)
        elif (wait_s := self._pause(row, captured[1].visit)) is not None:
            self._give_back(row, wait_s)
        else:
            self._keep(row, captured)
            return captured[1].visit
        return None

    def _pause(self, row: Row, result: Visit) -> float | None:
        """How long to wait before another attempt; None if this one was the last."""
        if result.status != "failed" or not may_pass(result.error, result.error_code):
            return None
        with self._lock:
            self._tries[row.key] += 1
            tries = self._tries[row.key]
        return _RETRY_PAUSE_S * 4 ** (tries - 1) if tries <= self._settings.retries else None

    def _give_back(self, row: Row, wait_s: float | None = None) -> None:
        self._ledger.requeue(row)
        self._schedule.put(row, wait_s)

    def _skip(self, row: Row) -> None:
        self._ledger.finish(row, "skipped", "robots")
        with self._lock:
            self.made["skipped"] += 1
        self._schedule.done(row)

    def _keep(self, row: Row, captured: Captured) -> None:
        har_log, extension = captured
        result = extension.visit
        # First the capture, then the ledger: a row that says done has its file.
        write_capture(self._study.captures, har_log, extension)
        rows = further(row, extension)
        self._ledger.finish(row, OUTCOMES[result.status], result.error, result.error_code, rows)
        with self._lock:
            self.made[result.status] += 1
            self.browser_version = result.browser_version
        self._schedule.done(row, rows)

    @contextmanager
    def _browser(self) -> Iterator[Browser]:
        """A browser that :meth:`wait` can end."""
        browser = browser_for(self._settings.visit)
        with self._lock:
            self._browsers.add(browser)
        try:
            with browser:
                yield browser
        finally:
            with self._lock:
                self._browsers.discard(browser)


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
