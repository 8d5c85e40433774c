"""One thread's browser, replaced when it is lost or old, and the visits that it makes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from originset.crawler.crawl.internal_links import internal_links
from originset.crawler.crawl.politeness import Politeness, url_of
from originset.crawler.failures import port_is_closed
from originset.crawler.probe.resolver import query_visit_names
from originset.crawler.settings import CrawlSettings, VisitSettings
from originset.crawler.visits.visit_browsers import Browser, browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import Extension
from originset.data.errors import BrowserError
from originset.data.ledger.crawl_ledger import LedgerRow
from originset.data.studies.identity import crawl_visit_id

Captured = tuple[dict[str, Any], Extension]

_STARTS = 3
_START_PAUSE_S = 1.0
# Looking at a browser's memory costs as much as a tenth of a visit.
_VISITS_PER_LOOK = 10


class Browsers:
    """The browsers of several slots, which can be ended from any thread."""

    def __init__(self, settings: VisitSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._running: set[Browser] = set()

    @contextmanager
    def start(self) -> Iterator[Browser]:
        """A browser that :meth:`kill` can end.

        Raises:
            BrowserError: it does not start.
        """
        browser = browser_for(self._settings)
        with self._lock:
            self._running.add(browser)
        try:
            with browser:
                yield browser
        finally:
            with self._lock:
                self._running.discard(browser)

    def kill(self) -> None:
        """End all browsers at once. Call it again while slots may start others."""
        with self._lock:
            browsers = list(self._running)
        for browser in browsers:
            browser.kill()


class BrowserWorker:
    """``start`` gives a browser to enter; ``stopped`` tells that the crawl was told to end."""

    def __init__(
        self,
        settings: CrawlSettings,
        seed: int,
        politeness: Politeness,
        start: Callable[[], AbstractContextManager[Browser]],
        stopped: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._seed = seed
        self._politeness = politeness
        self._start_one = start
        self._stopped = stopped
        self._stack = ExitStack()
        self._browser: Browser | None = None
        self._visits = 0
        self._started = 0.0

    def close(self) -> None:
        """End the browser."""
        self._browser = None
        self._stack.close()

    def visit(self, row: LedgerRow) -> Captured | None:
        """Visit a row's page once; None if its robots.txt forbids it.

        By https, and by http where nothing listens for https and the list named a bare host.

        Raises:
            BrowserError: no browser can be started.
        """
        captured = self._load(row, url_of(row), ())
        if captured is not None and row.address is None and port_is_closed(captured[1].visit.error):
            fallback = self._load(row, f"http://{row.site}/", ("http_fallback",))
            # If neither answers, the first failure is the site's.
            if fallback is None or fallback[1].visit.status != "failed":
                return fallback
            if not port_is_closed(fallback[1].visit.error):
                return fallback
        return captured

    def _load(self, row: LedgerRow, url: str, quality: tuple[str, ...]) -> Captured | None:
        if not self._politeness.permits(url):
            return None
        settings = self._settings

        def follow(landed: str, links: list[str]) -> list[str]:
            return internal_links(
                landed, links, settings.internal, seed=self._seed, site=row.site, excluded=settings.excluded
            )

        request = VisitRequest(
            crawl_visit_id(row.site, row.vantage, row.round, row.page, row.repeat),
            row.site,
            url,
            rank=row.rank,
            vantage=row.vantage,
            vantage_ip=settings.vantage_ip,
            round_number=row.round,
            repeat=row.repeat,
            page_kind="internal" if row.page else "landing",
            profile=settings.profile,
            quality=quality,
            **({} if row.page or not settings.internal else {"follow": follow}),
        )
        browser = self._ready()
        self._visits += 1
        har_log, extension = visit(browser, request)
        if settings.resolver is not None:
            query_visit_names(settings.resolver, har_log, extension, allow_private=settings.visit.allow_private)
        return har_log, extension

    def _ready(self) -> Browser:
        if self._browser is None or self._is_old(self._browser):
            self.close()
            self._browser, self._visits, self._started = self._start(), 0, time.monotonic()
        return self._browser

    def _is_old(self, browser: Browser) -> bool:
        settings = self._settings
        most_visits = 1 if settings.visit.profile_per_visit else settings.browser_visits
        if browser.killed or self._visits >= most_visits:
            return True
        if time.monotonic() - self._started >= settings.browser_s:
            return True
        return self._visits % _VISITS_PER_LOOK == 0 and browser.private_memory() >= settings.browser_memory

    def _start(self) -> Browser:
        for start in range(1, _STARTS + 1):
            try:
                return self._stack.enter_context(self._start_one())
            except BrowserError:
                if start == _STARTS or self._stopped():
                    raise
                time.sleep(_START_PAUSE_S)
        raise AssertionError  # the last round returns or raises
