"""A page loaded in a testbed: which connections carried each host, by the host that each was opened for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from originset.crawler.testbed.scenario import Scenario
from originset.crawler.testbed.server_logs import LoggedRequest, TlsHandshake
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import Browser, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.errors import BrowserError
from originset.data.http_status import MISDIRECTED_REQUEST
from originset.data.studies.identity import crawl_visit_id


class PageLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One load. ``served``: for each host, how many connections carried its requests, by the host each was opened for.

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
        served=connections_by_host(testbed.scenario, testbed.handshakes()[shaken:], testbed.requests()[asked:]),
    )


def connections_by_host(
    scenario: Scenario, handshakes: Sequence[TlsHandshake], requests: Sequence[LoggedRequest]
) -> dict[str, dict[str, int]]:
    """For each host, how many connections carried its requests, by the host that each connection was opened for.

    A request that was answered 421 was not carried. Requests that no page makes, such as for an icon, do not count.
    """
    opened_for = {(one.server, one.connection): one.server_name for one in handshakes}
    carried: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for one in requests:
        if one.scheme in ("https", "wss") and one.status != MISDIRECTED_REQUEST and _is_of_pages(scenario, one):
            carried[one.host].add((one.server, one.connection))
    return {
        host: dict(Counter(opened_for.get(one) or "no name" for one in connections))
        for host, connections in carried.items()
    }


def _is_of_pages(scenario: Scenario, request: LoggedRequest) -> bool:
    host = scenario.hosts.get(request.host)
    return (request.host, request.path) in scenario.served or (host is not None and host.redirect is not None)
