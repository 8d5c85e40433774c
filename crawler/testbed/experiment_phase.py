"""One phase of an experiment in the testbed: pages visited one after the other, and what the servers logged of them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.scenario import Scenario
from originset.crawler.testbed.server_logs import LoggedRequest, TlsHandshake
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.errors import BrowserError
from originset.data.studies.identity import crawl_visit_id

# A page has everything by its load event; what is late would still be in the servers' logs.
_QUIET_S = 0.2


class ExperimentLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A page load: connections that were opened for the shared host and carried a request of the page to it."""

    site: str
    status: str
    new_connections: int
    load_ms: float | None


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A request as a server logs it: seconds since 1970, the site whose page asked, its connection, the host asked."""

    time: float
    site: str
    connection: int
    host: str


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """What a phase gave; it lasted from ``began`` to ``ended``, seconds since 1970."""

    began: float
    ended: float
    browser_version: str
    loads: list[ExperimentLoad]
    lines: list[LogLine]


def run_phase(
    scenario: Scenario,
    shared: str,
    browser: Literal["chromium", "firefox"],
    folder: Path,
    progress: Callable[[], None] = lambda: None,
) -> Phase:
    """Visit every site of a scenario once, in its order, third-party cookies allowed, each without a past.

    Paths on the host ``shared`` begin with the name of the site whose page asks for them, which is what a Referer tells
    elsewhere. ``folder`` becomes the testbed's; it has round trips as on cable.

    Raises:
        BrowserError: the browser was lost.
    """
    results: dict[str, tuple[str, float | None]] = {}
    with Testbed(scenario, folder, "cable") as testbed:
        settings = VisitSettings(
            browser=browser, quiet_s=_QUIET_S, environment=testbed.environment, extra_flags=testbed.browser_flags
        )
        with browser_for(settings) as running:
            version = running.version
            began = time.time()
            for site in scenario.sites:
                identity = crawl_visit_id(site, "experiment", 1, "", 1)
                _, extension = visit(running, VisitRequest(identity, site, scenario.url_of(site)))
                if running.killed:
                    raise BrowserError(browser, f"was lost while it loaded {site}")
                results[site] = extension.visit.status, extension.visit.load_ms
                progress()
        ended = time.time()
        handshakes, requests = testbed.handshakes(), testbed.requests()
    opened = new_connections(handshakes, requests, shared)
    return Phase(
        began=began,
        ended=ended,
        browser_version=version,
        loads=[
            ExperimentLoad(site=site, status=status, new_connections=len(opened[site]), load_ms=load_ms)
            for site, (status, load_ms) in results.items()
        ],
        lines=[
            LogLine(time=one.time, site=_asking(one, shared), connection=one.connection, host=one.host)
            for one in requests
        ],
    )


def new_connections(
    handshakes: Sequence[TlsHandshake], requests: Sequence[LoggedRequest], shared: str
) -> defaultdict[str, set[int]]:
    """By site, the connections that were opened for the shared host and carried a request of its page to it."""
    opened_for = {one.connection: one.server_name for one in handshakes}
    found: defaultdict[str, set[int]] = defaultdict(set)
    for one in requests:
        if one.host == shared and opened_for.get(one.connection) == shared:
            found[_asking(one, shared)].add(one.connection)
    return found


def _asking(request: LoggedRequest, shared: str) -> str:
    return request.path.split("/")[1] if request.host == shared else request.host
