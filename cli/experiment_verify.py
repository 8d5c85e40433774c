"""A plan deployed in the testbed, page by page, and what both browsers make of it against what was predicted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from originset.cli.files import write_text
from originset.cli.output import note, progress
from originset.cli.plan_source import read_plan
from originset.crawler.settings import BrowserName, ThirdPartyCookies, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.latency import ROUND_TRIP_MS, LatencyProfile
from originset.crawler.testbed.page_load import PageLoad, load_page
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import browser_for
from originset.data.errors import InputError, UsageError
from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.database import open_database
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.experiments.site_scenario import SiteScenario, site_scenario
from originset.models.origins import MAX_PAYLOAD_BYTES, NotAnOriginError, check_host, parse, payload_bytes
from originset.models.plans.origin_plan import Plan, counted
from originset.models.plans.plan_verification import VERIFIED, against_study, verified
from originset.models.plans.planned_connections import PLANNED, Deployment, deployments, planned_connections
from originset.models.runner.runner import batch_rows
from originset.queries.csv_text import csv_text

BROWSERS: tuple[BrowserName, ...] = ("chromium", "firefox")

# A load may come out otherwise by a race: what differs is loaded twice more, and what most loads did counts.
_AGAIN = 2
_QUIET_S = 0.5
_LATEST_S = 60.0
_ROUND_TRIPS_TO_CONNECT = 2

_PAGES = """
    SELECT v.* FROM visits AS v
    JOIN page_basis AS c ON c.visit_id = v.visit_id AND c.question = 'causes'
    JOIN page_basis AS s ON s.visit_id = v.visit_id AND s.question = 'servers'
    WHERE v.site = ? AND c.reason IS DISTINCT FROM 'failed'
    QUALIFY row_number() OVER (
        PARTITION BY coalesce(v.final_url, v.url)
        ORDER BY s.counted DESC, v.started_at DESC, v.visit_id) = 1
    ORDER BY v.page_kind IS NOT DISTINCT FROM 'internal', v.visit_id"""

_PER_VISIT = ("requests", "connections", "dns_queries")


@dataclass
class _Page:
    """A page of the plan's site, rebuilt: the visit that it is rebuilt from and its scenario."""

    visit: dict[str, Any]
    scenario: SiteScenario
    latency: LatencyProfile

    @property
    def url(self) -> str:
        return str(self.visit["final_url"] or self.visit["url"])


def verify_plan(study: Study, path: Path, out: Path) -> pl.DataFrame:
    """Predicted and observed connections of each page of the plan's site, as VERIFIED.

    Called inside a namespace of the testbed. Writes each page's scenario, with the plan deployed, into ``out``.

    Raises:
        InputError: the file is no plan, or announces or adds what is no name of a host.
        StudyError: there is no study.
        UsageError: the study has no page of the plan's site that can be rebuilt, or ``out`` cannot be written.
        BrowserError: a browser was lost.
    """
    plan = read_plan(path)
    deployed = _deployed(plan, path)
    every = {name: scan(study, name) for name, table in TABLES.items() if table.stage in (Stage.ROWS, Stage.RESOLVED)}
    with open_database(study) as connection:
        visits, origin_sets, additions = (
            pl.DataFrame(connection.sql(statement, params=[plan.site]).to_arrow_table())
            for statement in (
                _PAGES,
                "SELECT * FROM origin_sets WHERE site = ?",
                "SELECT * FROM certificate_additions WHERE site = ?",
            )
        )
    if visits.is_empty():
        raise UsageError(f"study {study.root} has no visit of {json.dumps(plan.site)} that did not fail")
    tables = _of_visits(every, visits)
    pages = [page for visit in visits.iter_rows(named=True) if (page := _rebuilt(visit, tables, deployed)) is not None]
    if not pages:
        raise UsageError("no page of the plan's site can be rebuilt, so nothing can be verified")
    hosts = _predicted(_of_pages(tables, pages), plan)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be made ({error.strerror})", "name another folder with --out") from error
    rows = [against_study(plan, origin_sets, additions)]
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
    """Bring up a page's scenario and load it in each browser: VERIFIED rows of each."""
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


def _deployed(plan: Plan, path: Path) -> Deployment:
    """The plan's deployment, if all that it names may be in a testbed."""
    deployed = deployments(plan)[PLANNED]
    if deployed is None or not deployed.origins:
        raise InputError(str(path), "nothing-planned", "announces nothing, so there is nothing to deploy")
    for server, origins in deployed.origins.items():
        try:
            hosts = {parse(origin)[0] for origin in origins}
            for name in (server, *deployed.names):
                check_host(name)
        except NotAnOriginError as error:
            raise InputError(str(path), "not-an-origin", f"names what cannot be announced: {error.reason}") from error
        if server not in hosts:
            raise InputError(str(path), "not-itself", f"has a set of {server} without its own origin")
        if payload_bytes(origins) > MAX_PAYLOAD_BYTES:
            raise InputError(str(path), "too-large", f"has a set of {server} that is too large for a frame")
    return deployed


def _of_visits(every: dict[str, pl.LazyFrame], visits: pl.DataFrame) -> dict[str, pl.LazyFrame]:
    """The study's tables with these visits alone, and what was asked for live in the place of what they lack."""
    chosen = every | {
        name: every[name].join(visits.lazy().select("visit_id"), on="visit_id", how="semi").collect().lazy()
        for name in ("visits", *_PER_VISIT)
    }
    rows = batch_rows(chosen, ("known_connections", "known_lookups"))
    connections = rows["known_connections"].drop("certificate_is_live")
    return chosen | {"connections": connections.lazy(), "dns_queries": rows["known_lookups"].lazy()}


def _of_pages(tables: dict[str, pl.LazyFrame], pages: list[_Page]) -> dict[str, pl.LazyFrame]:
    """The tables with the requests that the scenarios have, so that predictions are of the same."""
    kept = pl.DataFrame(
        [(page.visit["visit_id"], number) for page in pages for number in page.scenario.requests],
        schema={"visit_id": pl.String, "request_id": TABLES["requests"].polars_schema["request_id"]},
        orient="row",
    )
    visits = kept.select("visit_id").unique().lazy()
    return tables | {
        "requests": tables["requests"].join(kept.lazy(), on=["visit_id", "request_id"], how="semi"),
        "visits": tables["visits"].join(visits, on="visit_id", how="semi"),
    }


def _predicted(tables: dict[str, pl.LazyFrame], plan: Plan) -> pl.DataFrame:
    """By browser, what is predicted of the protocols that it speaks in the testbed."""
    found = planned_connections(tables, plan).hosts.filter(model=PLANNED)
    if tables["requests"].filter(protocol="h3").head(1).collect().is_empty():
        return found
    note("HTTP/3 is HTTP/2 to Firefox here: it takes a private authority for no QUIC; predictions are of that")
    spoken = pl.col("protocol").replace("h3", "h2")
    over_http2 = tables | {name: tables[name].with_columns(spoken) for name in ("requests", "connections")}
    firefox = planned_connections(over_http2, plan).hosts.filter(model=PLANNED, browser="firefox")
    return pl.concat([found.filter(pl.col("browser") != "firefox"), firefox])


def _rebuilt(visit: dict[str, Any], tables: dict[str, pl.LazyFrame], deployed: Deployment) -> _Page | None:
    """A page's scenario; what of it cannot be in the testbed is said, or that nothing can."""
    own = {name: tables[name].filter(visit_id=visit["visit_id"]).collect() for name in _PER_VISIT}
    used = own["connections"].select("certificate_id").unique().lazy()
    own["certificate_names"] = tables["certificate_names"].join(used, on="certificate_id", how="semi").collect()
    own["addresses"] = tables["addresses"].collect()
    latency = _latency(own["connections"])
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


def _latency(connections: pl.DataFrame) -> LatencyProfile:
    """The access network that is nearest to the round trips which the page's connections took."""
    took = connections.select((pl.col("established_ms") - pl.col("opened_ms")).median()).item()
    round_trip = 0.0 if took is None else took / _ROUND_TRIPS_TO_CONNECT
    return min(ROUND_TRIP_MS, key=lambda profile: abs(ROUND_TRIP_MS[profile] - round_trip))


def summary(found: pl.DataFrame) -> str:
    """In a sentence, how many agree."""
    differ = found.filter(~pl.col("agrees")).height
    return f"{counted(differ, 'difference')} in {counted(found.height, 'row')}" if differ else "all as predicted"
