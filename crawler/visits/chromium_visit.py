"""One visit: a page loaded in a fresh context of a running Chromium, and all that its DevTools and NetLog say of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.browsers.devtools import DevTools, DevToolsError, DevToolsLost, DevToolsOversized, DevToolsSilent
from originset.crawler.browsers.memory_limit import MemoryLimit
from originset.crawler.browsers.user_agent import BrowserIdentity
from originset.crawler.failures import ErrorKind, error_kind
from originset.crawler.visits.consent import accept_all
from originset.crawler.visits.har import har_log
from originset.crawler.visits.page_facts import read_page_facts
from originset.crawler.visits.page_log import PageLog
from originset.crawler.visits.recorded_page import RecordedPage, recorded_page
from originset.crawler.visits.visit_context import visit_context
from originset.crawler.visits.visit_record import (
    VisitOutcome,
    VisitRequest,
    links_to_follow,
    main_failure,
    visit_record,
)
from originset.data.captures.capture import UNNAMED, UNREAD, Extension
from originset.data.netlog import records as netlog_records
from originset.data.netlog import visit_log
from originset.data.netlog.events import Event

#: What may limit a recording of Chromium's, besides what its HAR shows.
QUALITIES = ("network_changed", "truncated", UNNAMED, UNREAD)

# How often a visit looks whether the sockets that outlived its context have ended.
_SETTLE_ROUNDS = 5
_SETTLE_PAUSE_S = 0.02

# DevTools tells of a download a moment after it tells that the document was given up for it.
_DOWNLOAD_NEWS_S = 0.25


@dataclass(slots=True)
class _ChromiumOutcome(VisitOutcome):
    """How loading went, and what NetLog told meanwhile."""

    seen: list[Event] = field(default_factory=list)


def visit(chromium: Chromium, request: VisitRequest) -> tuple[dict[str, Any], Extension]:
    """Visit a page: (HAR ``log`` object, ``log._originset``). One visit at a time in one browser.

    A page that fails is a result. So is a browser that is lost on the way: the capture then holds what was seen, with
    error ``hang`` if it had to be killed, ``memory`` if that was because it took too much, ``oversized`` if it said too
    much at once, and ``crash`` if it went by itself; ``chromium`` cannot be used again. A page that no longer answers
    is ``partial`` with error ``hang``, one that makes more requests than are recorded with error ``oversized``; they
    harm no other.
    """
    outcome = _ChromiumOutcome()
    page = PageLog("")
    started = time.time()
    chromium.take_events()  # what came between visits is nobody's
    chromium.netlog.take_loss()
    settings = chromium.settings
    memory = MemoryLimit(chromium.pids, settings.most_memory, chromium.kill)
    with chromium.deadline(settings.timeout_s + settings.grace_s) as deadline, memory:
        try:
            with visit_context(chromium) as context:
                page = _open_page(chromium, context)
                _load_page(chromium, page, request.url, outcome)
                # What ends from here on ends because we end it.
                chromium.devtools.on_event = None
            _read_to_end(chromium, page, outcome)
        except (DevToolsLost, DevToolsError) as error:
            killed, oversized = chromium.killed or deadline.passed, isinstance(error, DevToolsOversized)
            outcome.lose(memory, killed=killed, oversized=oversized, problem=str(error))
            chromium.kill()
        finally:
            chromium.devtools.on_event = None
    outcome.seen += chromium.take_events()
    return _make_capture(chromium, request, page, outcome, started)


class _AttachedToTarget(msgspec.Struct, rename="camel"):
    session_id: str
    waiting_for_debugger: bool = False


_attached_decoder = msgspec.json.Decoder(_AttachedToTarget)
_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}


def _open_page(chromium: Chromium, context: str) -> PageLog:
    """A blank page that tells everything from its first request on, and the log that listens."""
    devtools = chromium.devtools
    guise = BrowserIdentity(chromium.product, chromium.settings.device, chromium.settings.contact)
    devtools.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=context, eventsEnabled=True)
    target = devtools.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    session = devtools.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    page = PageLog(target)  # a page's first frame has the id of its target

    def on_event(_: str | None, method: str, params: msgspec.Raw) -> None:
        if method == "Target.attachedToTarget":
            # Frames of other processes and workers: armed before they may run, so that no request of theirs is missed.
            child = _attached_decoder.decode(params).session_id
            if child != session:
                _subscribe(devtools, child)
                guise.put_on(devtools, child)
                devtools.send("Runtime.runIfWaitingForDebugger", child)
        elif method == "Page.javascriptDialogOpening":
            devtools.send("Page.handleJavaScriptDialog", session, accept=False)
        else:
            page.add(method, params)

    devtools.on_event = on_event
    _subscribe(devtools, session)
    guise.put_on(devtools, session)
    guise.measure(devtools, session)
    devtools.send("Inspector.enable", session)
    devtools.call("Page.setLifecycleEventsEnabled", session, enabled=True)
    page.session = session
    return page


def _subscribe(devtools: DevTools, session: str) -> None:
    devtools.send("Network.enable", session, maxTotalBufferSize=0, maxResourceBufferSize=0)
    devtools.send("Page.enable", session)  # workers have none and say so: nobody waits for the answer
    devtools.send("Target.setAutoAttach", session, **_ATTACH)


def _load_page(chromium: Chromium, page: PageLog, url: str, outcome: VisitOutcome) -> None:
    """Navigate, wait for the load event and then for the network to go quiet; sets the outcome."""
    settings, devtools = chromium.settings, chromium.devtools
    deadline = time.monotonic() + settings.timeout_s
    # Not waited for: the answer comes when the document does. What it says, the events say too.
    devtools.send("Page.navigate", page.session, url=url)
    if not _wait_until_loaded(chromium, page, outcome, deadline):
        return
    _read_facts(devtools, page, outcome)
    if settings.consent == "accept" and outcome.facts is not None and outcome.facts.banner:
        _accept_consent(devtools, page, outcome)
        if outcome.accepted and not _wait_until_loaded(chromium, page, outcome, deadline):
            return
    _judge_load(page, outcome)


def _wait_until_loaded(chromium: Chromium, page: PageLog, outcome: VisitOutcome, deadline: float) -> bool:
    """Wait until the page has loaded and the network is quiet, or the deadline; False if it failed before."""
    settings, devtools = chromium.settings, chromium.devtools
    quiet_since: float | None = None
    while True:
        now = time.monotonic()
        if _has_failed(devtools, page, outcome):
            return False
        if now >= deadline or page.budget.exceeded:
            return True
        # Before its document is there, what has loaded is the blank page.
        if page.loaded is None or page.in_flight or not page.shows_document:
            quiet_since = None
        elif quiet_since is None:
            quiet_since = now
        elif now - quiet_since >= settings.quiet_s:
            return True
        remaining = deadline - now if quiet_since is None else min(deadline, quiet_since + settings.quiet_s) - now
        before = page.activity
        devtools.pump(min(remaining, 1.0))
        if page.activity != before:
            quiet_since = None


def _has_failed(devtools: DevTools, page: PageLog, outcome: VisitOutcome) -> bool:
    """Whether the page failed in a way that needs no more waiting; sets the outcome."""
    if page.crashed:
        outcome.fail("crash")
    elif page.download:
        outcome.fail("download", "net::ERR_ABORTED")
    elif (failure := main_failure(page)) is not None:
        outcome.fail(_aborted_kind(devtools, page) or error_kind(failure), failure)
    return outcome.status == "failed"


def _read_facts(devtools: DevTools, page: PageLog, outcome: VisitOutcome) -> None:
    """What the page shows when it has loaded, and whether it still answers."""
    try:
        outcome.facts = read_page_facts(devtools, page.session, page.main_frame)
    except DevToolsSilent:
        outcome.silent = True
    except DevToolsError:
        return  # on its way elsewhere: what it shows is not known


def _accept_consent(devtools: DevTools, page: PageLog, outcome: VisitOutcome) -> None:
    """Click what the page asks for, so that what it loads then is seen too."""
    try:
        outcome.accepted = accept_all(devtools, page.session, page.main_frame)
    except DevToolsSilent:
        outcome.silent = True
    except DevToolsError:
        return  # on its way elsewhere


def _judge_load(page: PageLog, outcome: VisitOutcome) -> None:
    """A page whose loading ended, or whose time did."""
    if page.crashed:
        outcome.fail("crash")
    else:
        outcome.judge(page, in_flight=page.in_flight > 0, timeout_code="net::ERR_TIMED_OUT")


def _aborted_kind(devtools: DevTools, page: PageLog) -> ErrorKind | None:
    """What an aborted document was: a download, or an answer without a page. None if it was something else."""
    if main_failure(page) != "net::ERR_ABORTED":
        return None
    response = page.main_exchanges()[-1].response
    if response is not None and response.status in {204, 205}:
        return "empty"
    patience = time.monotonic() + _DOWNLOAD_NEWS_S
    while not page.download and (rest := patience - time.monotonic()) > 0:
        devtools.pump(rest)
    return "download" if page.download else None


def _read_to_end(chromium: Chromium, page: PageLog, outcome: _ChromiumOutcome) -> None:
    """Read the NetLog to where the context ended, sockets included: they close a moment after it."""
    for _ in range(_SETTLE_ROUNDS):
        chromium.settle()
        outcome.seen += chromium.take_events()
        log = _read_visit_log(chromium, page, outcome)
        if all(socket.closed is not None or socket.established is None for socket in log.sockets.values()):
            return
        time.sleep(_SETTLE_PAUSE_S)


def _read_visit_log(chromium: Chromium, page: PageLog, outcome: _ChromiumOutcome) -> visit_log.VisitLog:
    urls = {exchange.sent.request.url.partition("#")[0] for exchange in page.main_exchanges()}
    named = {
        int(exchange.response.connection_id)
        for exchange in page.exchanges
        if exchange.response is not None and exchange.response.connection_id > 0
    }
    return visit_log.read_visit(outcome.seen, chromium.netlog.constants, urls, named)


def _make_capture(
    chromium: Chromium, request: VisitRequest, page: PageLog, outcome: _ChromiumOutcome, started: float
) -> tuple[dict[str, Any], Extension]:
    log = _read_visit_log(chromium, page, outcome)
    recorded = recorded_page(page, log, request.url)
    carried = {one.connection for one in recorded.requests if one.connection is not None}
    connections, certificates = netlog_records.connections(log, recorded.zero_ms, carried)
    extension = Extension(
        visit=visit_record(
            request,
            page,
            outcome,
            chromium.settings,
            recorded,
            started=started,
            browser="chromium" if chromium.settings.browser == "chromium" else "chromium-headless-shell",
            browser_version=chromium.version,
            ip_families=chromium.settings.family or netlog_records.ip_families(log),
            quality=_quality(recorded, log, cut=page.budget.exceeded or chromium.netlog.take_loss()),
        ),
        connections=connections,
        dns=netlog_records.dns_queries(log, recorded.zero_ms),
        certificates=certificates,
        links=links_to_follow(request, page, outcome.facts),
        features=chromium.netlog.constants.features,
    )
    return har_log(recorded, "Chromium", chromium.version), extension


def _quality(recorded: RecordedPage, log: visit_log.VisitLog, *, cut: bool) -> list[str]:
    """What limits the recording: Chromium drops its connections when the machine's addresses change.

    ``cut``: the page made it tell more than is taken in. A connection whose host is not known is one that a way of
    Chromium's led to which :mod:`originset.data.netlog.visit_log` does not know, such as a new feature's.
    """
    found = (
        any(one.error == "net::ERR_NETWORK_CHANGED" for one in recorded.requests),
        cut,
        any(socket.host is None for socket in log.sockets.values()),
        bool(log.unread),
    )
    return [name for name, applies in zip(QUALITIES, found, strict=True) if applies]
