"""The browser context that a visit with Chromium takes place in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.browsers.devtools import DevTools, DevToolsLost


@contextmanager
def visit_context(chromium: Chromium) -> Iterator[str]:
    """The context of one visit; the browser's own, which ends with it, where each visit has a profile."""
    if chromium.settings.profile_per_visit:
        yield chromium.devtools.call("Target.getBrowserContexts")["defaultBrowserContextId"]
    else:
        with _fresh_context(chromium.devtools) as context:
            yield context


@contextmanager
def _fresh_context(devtools: DevTools) -> Iterator[str]:
    """A browser context of its own: cold caches, no cookies, no sockets, no resolver cache, no HSTS."""
    context = devtools.call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
    try:
        yield context
    finally:
        # A lost browser has no contexts left to dispose of.
        with contextlib.suppress(DevToolsLost):
            devtools.call("Target.disposeBrowserContext", browserContextId=context)
