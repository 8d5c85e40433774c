"""The browsers that a crawl can visit with, behind one face."""

from __future__ import annotations

from typing import Any

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.settings import VisitSettings
from originset.crawler.visits.chromium_visit import visit as visit_with_chromium
from originset.crawler.visits.firefox_visit import VisitingFirefox
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import Extension
from originset.data.errors import UsageError

Browser = Chromium | VisitingFirefox


def browser_for(settings: VisitSettings) -> Browser:
    """A browser to be entered. Each visit of it starts without a past.

    Raises:
        UsageError: it cannot do what the settings ask for.
    """
    if settings.profile_per_visit and settings.browser != "chromium":
        raise UsageError(f"--profile-per-visit is of Chromium, not of {settings.browser}", "leave it out")
    return VisitingFirefox(settings) if settings.browser == "firefox" else Chromium(settings)


def visit(browser: Browser, request: VisitRequest) -> tuple[dict[str, Any], Extension]:
    """Visit a page: (HAR ``log`` object, ``log._originset``). One at a time in one browser; failures are results."""
    return browser.visit(request) if isinstance(browser, VisitingFirefox) else visit_with_chromium(browser, request)
