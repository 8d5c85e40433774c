"""A page loaded in a testbed, as its servers saw it: for whom the connections were opened that carried each host."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from originset.crawler.testbed.scenario import Scenario
from originset.crawler.testbed.server_logs import Handshake, Request
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import Browser, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.errors import BrowserError
from originset.data.studies.identity import crawl_visit_id

_MISDIRECTED = 421


class PageLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One load. ``served``: of each host that was asked, how many connections carried it, by whom they were opened for.

    ``error`` says what failed; None: nothing.
    """

    error: str | None
    served: dict[str, dict[str, int]]


def load_page(testbed: Testbed, browser: Browser, site: str, number: int = 1) -> PageLoad:
    """Visit a site of the testbed's scenario without a past.

    Raises:
        BrowserError: the browser was lost.
    """
    shaken, asked = len(testbed.handshakes()), len(testbed.requests())
    url = testbed.scenario.url_of(site)
    _, extension = visit(browser, VisitRequest(crawl_visit_id(site, "testbed", number, "", 1), site, url))
    if browser.killed:
        raise BrowserError(browser.settings.browser, f"was lost while it loaded {site}")
    seen = extension.visit
    return PageLoad(
        error=None if seen.status == "ok" else f"{seen.status}: {seen.error_code or seen.error or 'not complete'}",
        served=served(testbed.scenario, testbed.handshakes()[shaken:], testbed.requests()[asked:]),
    )


def served(
    scenario: Scenario, handshakes: Sequence[Handshake], requests: Sequence[Request]
) -> dict[str, dict[str, int]]:
    """By host, how many connections carried requests of the scenario's pages for it, by the name that each opened with.

    What a server sent elsewhere (421) it did not carry, and what no page asks for, such as an icon, is not counted.
    """
    opened_for = {(one.server, one.connection): one.server_name for one in handshakes}
    carried: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for one in requests:
        if one.scheme in ("https", "wss") and one.status != _MISDIRECTED and _is_of_pages(scenario, one):
            carried[one.host].add((one.server, one.connection))
    return {
        host: dict(Counter(opened_for.get(one) or "no name" for one in connections))
        for host, connections in carried.items()
    }


def _is_of_pages(scenario: Scenario, request: Request) -> bool:
    host = scenario.hosts.get(request.host)
    return (request.host, request.path) in scenario.served or (host is not None and host.redirect is not None)
