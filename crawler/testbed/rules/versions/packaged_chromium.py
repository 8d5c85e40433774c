"""A Chromium of another version as the rules are observed in it: steered over DevTools, judged by the servers' logs.

It needs no more of DevTools than Chromium 64 had, and no NetLog: what is observed is what the servers logged.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from originset.crawler.browsers import launch
from originset.crawler.browsers.devtools import DevTools, DevToolsError, DevToolsLost
from originset.crawler.browsers.scratch import scratch_folder
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.rules.rule_drivers import last_s
from originset.crawler.testbed.rules.rule_outcome import expected_requests
from originset.crawler.testbed.rules.versions.browser_packages import Build
from originset.crawler.testbed.scenario import Resource
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import BrowserError
from originset.data.http_status import MISDIRECTED_REQUEST

_START_S = 60.0
_LOAD_S = 20.0
# How long nothing may happen after the last request that is due, and how long is waited for one after the load event.
_QUIET_S = 0.15
_TIMEOUT_S = 1.5
_POLL_S = 0.05

# A namespace without a way out and pages of our own: so without the sandbox, which old ones do not have in a namespace.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--mute-audio",
)
_HEADLESS: dict[Build, str] = {"full": "--headless=new", "headless-shell": "--headless"}


class PackagedChromium:
    """``with PackagedChromium(...) as driver: driver.load(page, url, 0)``; ``flags`` are added to what all get.

    Third-party cookies are allowed. Raises ``BrowserError`` where it does not start.
    """

    def __init__(self, testbed: Testbed, binary: Path, build: Build, flags: tuple[str, ...] = ()) -> None:
        self._testbed = testbed
        self._binary = binary
        self._build: Build = build
        self._flags = (*_FLAGS, _HEADLESS[build], *testbed.browser_flags, *flags)
        self._stack = ExitStack()
        self.version = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            folder = stack.enter_context(scratch_folder())
            settings = VisitSettings(
                browser="chromium" if self._build == "full" else "headless-shell", environment=self._testbed.environment
            )
            process = launch.start_with_pipes(
                settings, str(self._binary), launch.end_with_parent(), self._flags, folder
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            if process.stdin is None or process.stdout is None:
                raise BrowserError("chromium", "it has no pipes")
            stack.enter_context(process.stdin)
            stack.enter_context(process.stdout)
            self._devtools = DevTools(process.stdout.fileno(), process.stdin.fileno())
            try:
                product = str(self._devtools.call("Browser.getVersion", timeout_s=_START_S)["product"])
            except (DevToolsLost, DevToolsError) as error:
                raise BrowserError("chromium", f"it did not start ({launch.last_message(folder)})") from error
            self.version = product.rpartition("/")[2]
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def load(self, page: Resource, url: str, _number: int) -> None:
        """Load a page in a context without a past. Raises ``BrowserError`` where the browser was lost."""
        devtools = self._devtools
        try:
            context = devtools.call("Target.createBrowserContext")["browserContextId"]
            target = devtools.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
            session = devtools.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            devtools.call("Page.enable", session)
            self._load_in(session, page, url)
            devtools.call("Target.disposeBrowserContext", browserContextId=context)
        except (DevToolsLost, DevToolsError) as error:
            raise BrowserError("chromium", f"was lost while it loaded {url} ({error})") from error
        finally:
            devtools.on_event = None

    def _load_in(self, session: str, page: Resource, url: str) -> None:
        """Navigate, and wait until all is answered and quiet, or until nothing more can be expected."""
        due = set(expected_requests(page))
        before = len(self._testbed.requests())
        deadline = time.monotonic() + _LOAD_S
        answered: float | None = None

        def on_event(_session: str | None, method: str, _params: msgspec.Raw) -> None:
            nonlocal deadline
            if method == "Page.loadEventFired":
                deadline = min(deadline, time.monotonic() + last_s(page) + _TIMEOUT_S)

        # The blank page's own load event is not this one's.
        while self._devtools.pump(0):
            pass
        self._devtools.on_event = on_event
        self._devtools.send("Page.navigate", session, url=url)
        while (now := time.monotonic()) < deadline and (answered is None or now - answered < _QUIET_S):
            self._devtools.pump(_POLL_S)
            asked = self._testbed.requests()[before:]
            if due <= {f"{one.host}{one.path}" for one in asked if one.status != MISDIRECTED_REQUEST}:
                answered = answered or now
