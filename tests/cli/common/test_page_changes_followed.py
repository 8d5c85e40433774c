"""The advice followed: what ``explain`` tells a page's owner is done in the testbed, and the page recorded again.

Twenty pages that are drawn, and ten rebuilt from real HARs: five of which the HAR itself has advice for the owner, and
of the others, by name and one a site, the first five with five hosts or more of which the testbed's recording has it.
A single page would be no share to hold against a bar: what its owner's changes save is worked out by hand in
test_page_changes.py.

Each page with advice is loaded five times before and five times after. Of a host that the advice names the medians are
compared, and of any other host too if none of its loads after had as many connections as one before. Else chance
decided: over HTTP/1.1 a busy machine alone changes the number. What the totals of pages say is printed beside it.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest
from drawn_scenarios import drawn_entries
from followed_advice import followed, merged
from msgspec import structs
from rich.progress import Progress

from originset.analysis.captures.capture_import import read_captures
from originset.analysis.resolution.name_resolution import resolve_names
from originset.cli.common.study_report import report_contents
from originset.cli.modelling.rebuild import rebuild
from originset.cli.modelling.scratch_study import study_of
from originset.crawler.settings import BrowserName, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import write_capture
from originset.data.scenario.entries import ScenarioEntries
from originset.data.scenario.toml_text import toml_text
from originset.data.studies.identity import crawl_visit_id
from originset.data.studies.study import Study
from originset.models.experiments.study_scenario import study_scenario
from originset.models.parameters import Parameters
from originset.queries.report.report_contents import Page

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
pytestmark = [
    pytest.mark.testbed, pytest.mark.browser, pytest.mark.soak, pytest.mark.alone, pytest.mark.timeout(3600),
    pytest.mark.skipif(not FULL, reason="make soak: some twenty minutes"),
]  # fmt: skip
BROWSERS: tuple[BrowserName, ...] = ("chromium", "firefox")
SEED = 20261123
LAB = range(20)
REAL = (
    "CDP__chromehar__bing.com.san.har",
    "CDP__chromehar__www.google.ru.san.har",
    "CDP__chromehar__www.izettle.com.san.har",
    "CDP__chromehar__www.vercel.com.san.har",
    "CDP__lighthouse__fixtures_artifacts_cnn_devtoolslog.san.har",
    "CDP__lighthouse__fixtures_artifacts_intercom-widget_devtoolslog.san.har",
    "CDP__lighthouse__fixtures_artifacts_paul_devtoolslog.san.har",
    "micmro__PerfCascade__src__test-data__chrome_github.com_home.har",
    "sitespeedio__coach-core__test__har__files__cpuTime.har",
    "sitespeedio__pagexray__test__files__redirect__mytoys.de.har",
)
LOADS = 5
HOSTS = ("host", "reusable_host")  # that advice names


def recorded(
    scenario: ScenarioEntries, browser: BrowserName, folder: Path, loads: int
) -> dict[str, list[Counter[str]]]:
    """How many TLS connections carried requests in each load of each site, by its servers, for each first host.

    The captures of the first load are written into ``folder``.
    """
    found: dict[str, list[Counter[str]]] = {}
    with Testbed(scenario_file.parse(toml_text(scenario)), folder / "lab") as testbed:
        settings = VisitSettings(
            browser=browser, environment=testbed.environment, extra_flags=testbed.browser_flags, quiet_s=1.0
        )
        with browser_for(settings) as running:
            for number in range(loads):
                for site in testbed.scenario.sites:
                    before = len(testbed.requests())
                    request = VisitRequest(
                        crawl_visit_id(site, browser, 1, "", number + 1), site, testbed.scenario.url_of(site),
                        vantage=browser, repeat=number + 1,
                    )  # fmt: skip
                    har_log, extension = visit(running, request)
                    if number == 0:
                        write_capture(folder / "captures", har_log, extension)
                    carried: dict[tuple[str, int], str] = {}
                    for one in testbed.requests()[before:]:
                        if one.scheme in ("https", "wss") and one.path != "/favicon.ico":
                            carried.setdefault((one.server, one.connection), one.host)
                    found.setdefault(site, []).append(Counter(carried.values()))
    return found


def saved_connections(before: Sequence[Counter[str]], after: Sequence[Counter[str]], advised: Collection[str]) -> float:
    """How many connections went, by the medians of loads, without what chance decided at hosts that are not advised."""
    saved = 0.0
    for host in {host for load in (*before, *after) for host in load}:
        then, now = ([load[host] for load in loads] for loads in (before, after))
        if host in advised or max(now) < min(then) or min(now) > max(then):
            saved += median(then) - median(now)
    return saved


def explained(captures: Path, study: Study) -> dict[str, Page]:
    """What the report says of each site's visit."""
    study.create()
    shutil.copytree(captures, study.captures, dirs_exist_ok=True)
    with study.changing("analyze", {}), Progress(disable=True) as progress:
        read_captures(study, progress)
        resolve_names(study)
        rebuild(study, Parameters())
    return {page.facts["site"]: page for page in report_contents(study, "followed", pages=1000).pages}


def real_page(path: Path) -> ScenarioEntries:
    """The page of a HAR, rebuilt for the testbed."""
    with study_of([path]) as study:
        page = report_contents(study, "page", pages=1).pages[0]
        assert page.together is not None, path
        return msgspec.convert(tomllib.loads(study_scenario(study, page.facts["site"]).text), ScenarioEntries)


def in_testbeds(pages: Iterable[ScenarioEntries]) -> list[ScenarioEntries]:
    """The pages in as few scenarios as there are pages that have one host in common."""
    scenarios: list[ScenarioEntries] = []
    for page in pages:
        fitting = (number for number, other in enumerate(scenarios) if not other.host.keys() & page.host.keys())
        number = next(fitting, len(scenarios))
        scenarios[number : number + 1] = [merged([*scenarios[number : number + 1], page])]
    return scenarios


def outcomes_of(scenario: ScenarioEntries, folder: Path) -> list[tuple[Any, ...]]:
    """Of each page with advice and each browser whether as many connections went as was promised, and what was seen."""
    recorded(scenario, "chromium", folder / "explained", 1)
    pages = explained(folder / "explained" / "captures", Study(folder / "study"))
    promised = {site: page.together for site, page in pages.items() if page.together is not None}
    advice = [
        (site, row)
        for site in promised
        for row in pages[site].connections
        if row["fix"] is not None and row["fixable_by"] == "site"
    ]
    advised = structs.replace(scenario, site={site: scenario.site[site] for site in promised})
    changed = followed(advised, advice)
    outcomes = []
    for browser in BROWSERS:
        before = recorded(advised, browser, folder / browser / "before", LOADS)
        after = recorded(changed, browser, folder / browser / "after", LOADS)
        for site, together in promised.items():
            low, high = {"chromium": together.saved, **together.elsewhere}[browser]
            rows = [row for name, row in advice if name == site]
            saved = saved_connections(before[site], after[site], {row[of] for row in rows for of in HOSTS})
            totals = [[load.total() for load in loads[site]] for loads in (before, after)]
            causes = sorted({row["cause"] for row in rows})
            outcomes.append((low <= saved <= high, browser, site, causes, saved, (low, high), *totals))
    return outcomes


def test_as_many_connections_go_as_was_promised(shared: Path, tmp_path: Path) -> None:
    """What is told of Chromium's recording, for Chromium and for Firefox, whose recordings have no connections."""
    drawn = [drawn_entries(SEED, range(one, one + 1)) for one in LAB]
    real = [real_page(shared / "data/hars/real" / name) for name in REAL]
    outcomes = [
        one
        for number, scenario in enumerate(in_testbeds([*drawn, *real]))
        for one in outcomes_of(scenario, tmp_path / str(number))
    ]
    missed = [one for one in outcomes if not one[0]]
    widths = [high - low for *_, (low, high), _, _ in outcomes]
    by_totals = sum(low <= median(before) - median(after) <= high for *_, (low, high), before, after in outcomes)
    print(  # noqa: T201 - the result
        f"{len(outcomes) - len(missed)} of {len(outcomes)} in the range, {by_totals} by the pages' totals; "
        f"mean width {sum(widths) / len(widths):.2f}; missed:", *missed, "all:", *outcomes, sep="\n",
    )  # fmt: skip
    assert {browser for _, browser, *_ in outcomes} == set(BROWSERS)
    assert len(missed) <= 0.05 * len(outcomes), missed
