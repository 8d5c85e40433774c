"""Load rules in one browser, inside a testbed that has them all, and read what its servers saw."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.observations import Browser, Cell, Cookies
from originset.crawler.testbed.rules.rule_drivers import ChromiumDriver, FirefoxDriver, RuleDriver
from originset.crawler.testbed.rules.rule_outcome import LoadRecords, cell_of_loads
from originset.crawler.testbed.testbed import Testbed


def observe_rules(
    testbed: Testbed,
    rules: Sequence[str],
    browser: Browser,
    cookies: Cookies,
    *,
    loads: int = 5,
    captures: Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> tuple[str, tuple[Cell, ...]]:
    """The browser's version and a cell for each rule; the testbed's scenario is their ``combined_scenario``.

    The rules take turns, so that the loads of one see the browser at different ages. ``captures``: a folder for
    Chromium's captures, one a load, vantage ``cookies``. Raises ``BrowserError`` where the browser is lost.
    """
    driver = (ChromiumDriver if browser == "chromium" else FirefoxDriver)(testbed, cookies, captures)
    return observe_with(driver, testbed, rules, browser, cookies, loads=loads, progress=progress)


def observe_with(
    driver: RuleDriver,
    testbed: Testbed,
    rules: Sequence[str],
    browser: Browser,
    cookies: Cookies,
    *,
    loads: int,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> tuple[str, tuple[Cell, ...]]:
    """As :func:`observe_rules`, by a driver that is not started yet: ``browser`` and ``cookies`` say what it is."""
    turns = [(rule, number) for number in range(loads) for rule in rules]
    started: list[float] = []
    with driver:
        for done, (rule, number) in enumerate(turns, start=1):
            site = rule_catalogue.scenario(rule).sites[0]
            started.append(time.time())
            driver.load(rule_catalogue.page(rule), testbed.scenario.url_of(site), number)
            progress(done, len(turns))
        version = driver.version
    seen = _by_load(testbed, turns, started)
    return version, tuple(
        cell_of_loads(
            rule, rule_catalogue.page(rule), browser, cookies, [seen[rule, number] for number in range(loads)]
        )
        for rule in rules
    )


def _by_load(
    testbed: Testbed, turns: Sequence[tuple[str, int]], started: Sequence[float]
) -> defaultdict[tuple[str, int], LoadRecords]:
    """The logs cut at the starts of the loads. What came late counts for its rule, whose names nobody else has."""
    rule_of = {name: rule for rule in dict(turns) for name in rule_catalogue.scenario(rule).names}
    starts: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for (rule, number), time_s in zip(turns, started, strict=True):
        starts[rule].append((time_s, number))
    seen: defaultdict[tuple[str, int], LoadRecords] = defaultdict(LoadRecords)

    def load_of(name: str | None, time_s: float) -> LoadRecords:
        rule = rule_of.get(name or "", "")
        place = bisect_right(starts[rule], (time_s, len(turns))) - 1
        return seen[rule, starts[rule][place][1] if place >= 0 else -1]

    for handshake in testbed.handshakes():
        load_of(handshake.server_name, handshake.time).handshakes.append(handshake)
    for request in testbed.requests():
        load_of(request.host, request.time).requests.append(request)
    for query in testbed.dns_queries():
        load_of(query.name, query.time).queries.append(query)
    return seen
