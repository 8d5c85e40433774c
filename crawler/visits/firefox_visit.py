"""One visit with Firefox: a page loaded in a user context of its own, and all that WebDriver BiDi says of it.

What BiDi does not say is not in the capture: addresses, connections, lookups, certificates.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from websockets.exceptions import WebSocketException

from originset.crawler.browsers.connection_filter import filter_command
from originset.crawler.browsers.firefox import Firefox
from originset.crawler.browsers.memory_limit import MemoryLimit
from originset.crawler.browsers.watchdog import Deadline
from originset.crawler.failures import error_kind
from originset.crawler.machine import own_addresses, private_memory
from originset.crawler.settings import VisitSettings
from originset.crawler.visits.event_limits import text_without_data_urls
from originset.crawler.visits.firefox_log import EVENTS, FirefoxLog
from originset.crawler.visits.har import har_log
from originset.crawler.visits.page_facts import PAGE_FACTS_EXPRESSION, decode_page_facts
from originset.crawler.visits.recorded_page import recorded_page
from originset.crawler.visits.visit_record import (
    VisitOutcome,
    VisitRequest,
    links_to_follow,
    main_failure,
    visit_record,
)
from originset.data.captures.capture import Extension
from originset.data.errors import BrowserError, UsageError
from originset.data.netlog.visit_log import VisitLog

_TIMEOUT_S = 5.0
_VIEWPORT = {"width": 1280, "height": 800}
_COOKIES = {"allowed": 5, "blocked": 1}  # network.cookie.cookieBehavior: 5 is Firefox's own, a jar for each site
_FORGET_HSTS = "Cc['@mozilla.org/ssservice;1'].getService(Ci.nsISiteSecurityService).clearAll()"
# What connecting to an address that is not public fails with, and nothing else does: it becomes
# NS_ERROR_SOCKET_ADDRESS_NOT_SUPPORTED.
_PRIVATE_ERRNO = errno.EAFNOSUPPORT
_EVENT = '{"type":"event"'
_NOTHING = VisitLog({}, [], [])


class VisitingFirefox(Firefox):
    """A Firefox that visits. :meth:`kill` may be called from any thread; everything else from one.

    It trusts what Chromium trusts here: the user's NSS database.

    Raises ``UsageError`` where settings ask for what is Chromium's alone.
    """

    # To ask of its own windows what no page may: see _clear_hsts.
    _arguments = ("--remote-allow-system-access",)
    _events = EVENTS

    def __init__(self, settings: VisitSettings) -> None:
        if settings.device != "desktop":
            raise UsageError("Firefox passes for a desktop only", "leave --device out, or use another --browser")
        if settings.consent != "leave":
            raise UsageError("Firefox accepts no consent banners", "leave --consent out, or use another --browser")
        super().__init__(
            environment=settings.environment,
            preferences={"network.cookie.cookieBehavior": _COOKIES[settings.third_party_cookies]},
        )
        refusal = 0 if settings.allow_private else _PRIVATE_ERRNO
        self._within = filter_command(settings.family, refusal, own_addresses())
        self.settings = settings
        self._killed = threading.Event()
        self._log: FirefoxLog | None = None

    @property
    def killed(self) -> bool:
        """Somebody has ended this browser."""
        return self._killed.is_set()

    def private_memory(self) -> int:
        """Bytes that the browser's processes have for themselves."""
        with contextlib.suppress(psutil.Error):
            return private_memory([psutil.Process(self._process.pid)]) if self._process is not None else 0
        return 0

    @property
    def pids(self) -> list[int]:
        """The process that all others of the browser are below."""
        return [] if self._process is None else [self._process.pid]

    def kill(self) -> None:
        """End the browser with all its processes at once; whoever waits for it finds it lost."""
        self._killed.set()
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def visit(self, request: VisitRequest) -> tuple[dict[str, Any], Extension]:
        """Visit a page: (HAR ``log`` object, ``log._originset``). One visit at a time.

        A page that fails is a result. So is a browser that is lost on the way; it cannot be used again.
        """
        outcome = VisitOutcome()
        log = FirefoxLog("")
        started = time.time()
        settings, pids = self.settings, self.pids
        memory = MemoryLimit(pids, settings.most_memory, self.kill)
        with Deadline(pids, settings.timeout_s + settings.grace_s, self.kill) as deadline, memory:
            try:
                self._clear_hsts()
                with self._user_context() as user:
                    context = str(self._call("browsingContext.create", {"type": "tab", "userContext": user})["context"])
                    log = self._log = FirefoxLog(context)
                    self._prepare(user, context)
                    self._load(context, request.url, log, outcome)
            except (BrowserError, OSError, WebSocketException) as error:
                killed = self.killed or deadline.passed
                outcome.lose(memory, killed=killed, oversized=self._oversized, problem=str(error))
                self.kill()
            else:
                if self.killed or deadline.passed or self._oversized:  # which looks like a page that does not answer
                    outcome.lose(memory, killed=True, oversized=self._oversized, problem="lost during the visit")
                    self.kill()
            finally:
                self._log = None
        return self._capture(request, log, outcome, started)

    def _write_profile(self, profile: Path) -> None:
        super()._write_profile(profile)
        database = Path(self._environment.get("HOME", "/nonexistent")) / ".pki" / "nssdb"
        for name in ("cert9.db", "key4.db"):
            with contextlib.suppress(OSError):
                shutil.copyfile(database / name, profile / name)

    def _within_limits(self, message: str) -> str:
        """A message without what :mod:`event_limits` leaves out; an empty one for an event that goes beyond them."""
        message = text_without_data_urls(message)
        if self._log is None or not message.startswith(_EVENT) or self._log.page.budget.take(len(message)):
            return message
        return "{}"

    def _handle_event(self, method: str, event: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.add(method, event)

    @contextmanager
    def _user_context(self) -> Iterator[str]:
        user = str(self._call("browser.createUserContext", {})["userContext"])
        try:
            yield user
        finally:
            with contextlib.suppress(BrowserError):  # a lost browser has none left to remove
                self._call("browser.removeUserContext", {"userContext": user})

    def _prepare(self, user: str, context: str) -> None:
        self._call("browsingContext.setViewport", {"context": context, "viewport": _VIEWPORT})
        # Else pages fill the user's own folder of downloads.
        refused = {"downloadBehavior": {"type": "denied"}, "userContexts": [user]}
        self._call("browser.setDownloadBehavior", refused)
        if self.settings.contact is not None:
            agent = self._evaluate(context, "navigator.userAgent")
            told = {"userAgent": f"{agent} ({self.settings.contact})", "userContexts": [user]}
            self._call("emulation.setUserAgentOverride", told)

    def _clear_hsts(self) -> None:
        """HSTS is the one thing that Firefox keeps across user contexts."""
        (window, *_) = self._call("browsingContext.getTree", {"moz:scope": "chrome"})["contexts"]
        target = {"context": window["context"]}
        self._call("script.evaluate", {"expression": _FORGET_HSTS, "target": target, "awaitPromise": False})

    def _load(self, context: str, url: str, log: FirefoxLog, outcome: VisitOutcome) -> None:
        """Navigate, wait for the load event and then for the network to go quiet; sets the outcome."""
        deadline = time.monotonic() + self.settings.timeout_s
        # Its answer comes when the navigation has begun, or failed to; what it says, the events say too.
        with contextlib.suppress(BrowserError):
            self._call("browsingContext.navigate", {"context": context, "url": url, "wait": "none"}, _TIMEOUT_S)
        quiet_since: float | None = None
        seen = log.activity
        while (now := time.monotonic()) < deadline and not log.page.budget.exceeded:
            if log.page.download:
                return outcome.fail("download")
            if (failure := main_failure(log.page)) is not None:
                return outcome.fail(error_kind(failure), failure)
            if log.dialog:
                log.dialog = False
                self._call("browsingContext.handleUserPrompt", {"context": context, "accept": False})
            if log.page.loaded is None or log.in_flight or log.activity != seen:
                quiet_since, seen = None, log.activity
            if log.page.loaded is not None and not log.in_flight:
                quiet_since = quiet_since or now
                if now - quiet_since >= self.settings.quiet_s:
                    break
            rest = deadline - now if quiet_since is None else quiet_since + self.settings.quiet_s - now
            with contextlib.suppress(TimeoutError):
                self._receive(max(0.0, min(rest, 1.0)))
        self._read_page_facts(context, outcome)
        return outcome.judge(log.page, in_flight=log.in_flight > 0, timeout_code=None)

    def _read_page_facts(self, context: str, outcome: VisitOutcome) -> None:
        try:
            text = self._evaluate(context, PAGE_FACTS_EXPRESSION)
        except BrowserError:
            outcome.silent = True
        else:
            outcome.facts = None if text is None else decode_page_facts(text)

    def _evaluate(self, context: str, expression: str) -> str | None:
        """A page's answer, asked from a world of our own."""
        target = {"context": context, "sandbox": "originset"}
        asked = {"expression": expression, "target": target, "awaitPromise": False}
        answer = self._call("script.evaluate", asked, _TIMEOUT_S).get("result", {})
        return answer.get("value") if answer.get("type") == "string" else None

    def _capture(
        self, request: VisitRequest, log: FirefoxLog, outcome: VisitOutcome, started: float
    ) -> tuple[dict[str, Any], Extension]:
        page = log.page
        recorded = recorded_page(page, _NOTHING, request.url)
        visit = visit_record(
            request,
            page,
            outcome,
            self.settings,
            recorded,
            started=started,
            browser="firefox",
            browser_version=self.version,
            ip_families=self.settings.family,
            quality=["truncated"] if page.budget.exceeded else [],
        )
        extension = Extension(visit=visit, links=links_to_follow(request, page, outcome.facts))
        return har_log(recorded, "Firefox", self.version), extension
