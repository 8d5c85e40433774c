"""``originset experiment verify``: a plan deployed in the testbed, and what browsers make of it beside predictions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click
import polars as pl

from originset.cli.common.command_namespace import enter_namespace
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import FILE, make_folder, write_text
from originset.cli.common.output import format_option, note, progress, write_rows
from originset.cli.experiment.experiment_options import out_folder_option
from originset.crawler.settings import BrowserName, ThirdPartyCookies, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.latency import ROUND_TRIP_MS, LatencyProfile, nearest_profile
from originset.crawler.testbed.page_load import PageLoad, load_page
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import browser_for
from originset.data.errors import UsageError
from originset.data.quantity import quantity
from originset.data.studies.study import Study
from originset.models.experiments.plan_deployment import (
    PER_VISIT,
    deployment_of,
    predicted_hosts,
    site_pages,
    tables_of_scenarios,
)
from originset.models.experiments.site_scenario import SiteScenario, site_scenario
from originset.models.plans.plan_file import read_plan
from originset.models.plans.plan_verification import VERIFIED, verified
from originset.models.plans.planned_connections import Deployment
from originset.models.runner.runner import batch_rows
from originset.queries.csv_text import csv_text

BROWSERS: tuple[BrowserName, ...] = ("chromium", "firefox")

# A race can change a load: a page that differs is loaded twice more, and the majority counts.
_AGAIN = 2
_QUIET_S = 0.5
_LATEST_S = 60.0
_ROUND_TRIPS_TO_CONNECT = 2


@dataclass
class _Page:
    """A page of the plan's site, rebuilt: the visit that it is rebuilt from and its scenario."""

    visit: dict[str, Any]
    scenario: SiteScenario
    latency: LatencyProfile

    @property
    def url(self) -> str:
        return str(self.visit["final_url"] or self.visit["url"])


@click.command(cls=Command)
@click.argument("plan_path", metavar="PLAN", type=FILE)
@out_folder_option
@study_option
@format_option
@click.pass_obj
def command(study: Study, *, plan_path: Path, out: Path, output_format: str) -> None:
    """Deploy a site's plan in the testbed and load its pages.

    PLAN is a file that plan site --out wrote. The pages of its site, as the study has them, are rebuilt in the testbed:
    certificates with the names to add, ORIGIN sets as planned. They are loaded in Chromium and Firefox. What of a page
    cannot be rebuilt is listed on stderr.

    A row is a host, with the connection predicted to serve it and the one that did, or a difference between plan and
    study. Exit codes: 0 all as predicted, 1 there are differences.

    Example: originset --study S experiment verify plan.json
    """
    enter_namespace()
    rows = verify_plan(study, plan_path, out)
    write_rows(rows, output_format)
    differ = rows.filter(~pl.col("agrees")).height
    result = f"{quantity(differ, 'difference')} in {quantity(rows.height, 'row')}" if differ else "all as predicted"
    note(f"{result}; scenarios and connections.csv are in {out}")
    if differ:
        sys.exit(1)


def verify_plan(study: Study, path: Path, out: Path) -> pl.DataFrame:
    """Predicted and observed connections of each page of the plan's site, as VERIFIED.

    Called inside a namespace of the testbed. Writes each page's scenario, with the plan deployed, into ``out``.

    Raises:
        InputError: the file is not a plan, or has a name that is not a host name.
        StudyError: there is no study.
        UsageError: the study has no page of the plan's site that can be rebuilt, or ``out`` cannot be written.
        BrowserError: a browser was lost.
    """
    plan = read_plan(path)
    deployed = deployment_of(plan, str(path))
    visits, differences, tables = site_pages(study, plan)
    pages = [
        page for visit in visits.iter_rows(named=True) if (page := _rebuilt_page(visit, tables, deployed)) is not None
    ]
    if not pages:
        raise UsageError("no page of the plan's site can be rebuilt, so nothing can be verified")
    requests = {page.visit["visit_id"]: sorted(page.scenario.requests) for page in pages}
    hosts, remark = predicted_hosts(tables_of_scenarios(tables, requests), plan)
    if remark is not None:
        note(remark)
    make_folder(out)
    rows = [differences]
    with progress() as display:
        task = display.add_task("loads", total=len(pages) * len(BROWSERS))
        for number, page in enumerate(pages, 1):
            write_text(out / f"page-{number}.toml", page.scenario.text)
            for one in verified_page(page, hosts.filter(visit_id=page.visit["visit_id"]), out / "testbed"):
                rows.append(one)
                display.advance(task)
    found = pl.concat(rows)
    write_text(out / "connections.csv", csv_text(found))
    return found


def verified_page(page: _Page, hosts: pl.DataFrame, folder: Path) -> Iterator[pl.DataFrame]:
    """Start a page's scenario and load it in each browser; returns VERIFIED rows."""
    scenario = scenario_file.parse(page.scenario.text, page.url)
    with Testbed(scenario, folder, page.latency) as testbed:
        for browser in BROWSERS:
            predicted = hosts.filter(browser=browser)
            settings = VisitSettings(
                browser=browser,
                quiet_s=_QUIET_S + min(page.scenario.latest_ms / 1000, _LATEST_S),
                third_party_cookies=cast("ThirdPartyCookies", page.visit["third_party_cookies"] or "allowed"),
                environment=testbed.environment,
                extra_flags=testbed.browser_flags,
            )
            with browser_for(settings) as running:
                loads: list[PageLoad] = []
                found = VERIFIED.to_frame()
                for number in range(1 + _AGAIN):
                    loads.append(load_page(testbed, running, scenario.sites[0], number + 1))
                    found = verified(page.url, predicted, [one.served for one in loads])
                    if number == 0 and found["agrees"].all():
                        break
            for error in sorted({one.error for one in loads if one.error is not None}):
                note(f"{page.url} in {browser}: {error}")
            yield found


def _rebuilt_page(visit: dict[str, Any], tables: dict[str, pl.LazyFrame], deployed: Deployment) -> _Page | None:
    """A page's scenario; a remark says what of it cannot be in the testbed, or that nothing can."""
    own = {name: tables[name].filter(visit_id=visit["visit_id"]).collect() for name in PER_VISIT}
    used = own["connections"].select("certificate_id").unique().lazy()
    of_visit = tables | {name: rows.lazy() for name, rows in own.items()}
    of_visit["visits"] = tables["visits"].filter(visit_id=visit["visit_id"])
    own |= batch_rows(of_visit, ("network_requests", "documents"))
    own["certificate_names"] = tables["certificate_names"].join(used, on="certificate_id", how="semi").collect()
    own["addresses"] = tables["addresses"].collect()
    took = own["connections"].select((pl.col("established_ms") - pl.col("opened_ms")).median()).item()
    latency = nearest_profile(0.0 if took is None else took / _ROUND_TRIPS_TO_CONNECT)
    made = site_scenario(visit, own, deployed, ROUND_TRIP_MS[latency])
    page = visit["final_url"] or visit["url"]
    if made is None:
        note(f"{page}: not rebuilt: its document came over no https at a public address")
        return None
    for sentence in made.left_out:
        note(f"{page}: not rebuilt: {sentence}")
    if visit["third_party_cookies"] is None:
        note(f"{page}: the recorder does not say whether third-party cookies were blocked: loaded with them allowed")
    return _Page(visit, made, latency)
