"""The two browsers as the rules are observed in them: a page loaded in a context without a past, until it is quiet."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.browsers.firefox import Firefox
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.rules.observations import Cookies
from originset.crawler.testbed.rules.rule_outcome import expected_requests
from originset.crawler.testbed.scenario import Resource
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.chromium_visit import visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import write_capture
from originset.data.errors import BrowserError
from originset.data.http_status import MISDIRECTED_REQUEST
from originset.data.studies.identity import crawl_visit_id

# How long nothing may happen after the last request that is due, and how long is waited for one.
_QUIET_S = 0.15
_TIMEOUT_S = 1.5

# All third parties' cookies, or none of them.
_COOKIES: Mapping[Cookies, int] = {"allowed": 0, "blocked": 1}


class RuleDriver(Protocol):
    """A browser to be started, in which pages are then loaded one by one."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    @property
    def version(self) -> str:
        """Digits and dots, once it is started."""
        ...

    def load(self, page: Resource, url: str, number: int, /) -> None:
        """Load a page for the ``number``-th time, from 0. Raises ``BrowserError`` where the browser was lost."""
        ...


class ChromiumDriver:
    """Chromium by the crawler's own visits; with ``captures`` each leaves its capture in that folder."""

    def __init__(self, testbed: Testbed, cookies: Cookies, captures: Path | None = None) -> None:
        self._settings = VisitSettings(
            third_party_cookies=cookies, environment=testbed.environment, extra_flags=testbed.browser_flags
        )
        self._captures = captures
        self._cookies = cookies
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._browser = self._stack.enter_context(Chromium(self._settings))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def version(self) -> str:
        return self._browser.version

    def load(self, page: Resource, url: str, number: int) -> None:
        """Load a page for the ``number``-th time, from 0. Raises ``BrowserError`` where Chromium was lost."""
        site = page.host
        self._browser.settings = dataclasses.replace(self._settings, quiet_s=last_s(page) + _QUIET_S)
        visit_id = crawl_visit_id(site, self._cookies, 1, "", number + 1)
        request = VisitRequest(visit_id, site, url, vantage=self._cookies, repeat=number + 1)
        har_log, extension = visit(self._browser, request)
        if self._browser.killed:
            raise BrowserError("chromium", f"was lost while it loaded {url}")
        if self._captures is not None:
            write_capture(self._captures, har_log, extension)


class FirefoxDriver:
    """Firefox over WebDriver BiDi."""

    def __init__(self, testbed: Testbed, cookies: Cookies, _captures: Path | None = None) -> None:
        self._testbed = testbed
        self._cookies = cookies
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        preferences: dict[str, bool | int | str] = {
            "network.cookie.cookieBehavior": _COOKIES[self._cookies],
            # Else roots that are not built in switch HTTP/3 off.
            "network.http.http3.disable_when_third_party_roots_found": False,
        }
        self._browser = self._stack.enter_context(
            Firefox(self._testbed.authority.root, environment=self._testbed.environment, preferences=preferences)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def version(self) -> str:
        return self._browser.version

    def load(self, page: Resource, url: str, _number: int) -> None:
        """Load a page. Raises ``BrowserError`` where Firefox was lost or shows an error page."""
        before = len(self._testbed.requests())
        due = set(expected_requests(page))
        answered: float | None = None

        def settled() -> bool:
            nonlocal answered
            asked = self._testbed.requests()[before:]
            if due <= {f"{one.host}{one.path}" for one in asked if one.status != MISDIRECTED_REQUEST}:
                answered = answered or time.monotonic()
                return time.monotonic() - answered >= _QUIET_S
            return False

        self._browser.load(url, settled=settled, patience_s=last_s(page) + _TIMEOUT_S)


def last_s(resource: Resource) -> float:
    """How long after the load event the last request below a resource comes: scripts that wait add up."""
    return max(((one.after_ms or 0) / 1000 + last_s(one) for one in resource.loads), default=0.0)
