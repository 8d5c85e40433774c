"""A plan and the pages of its site, made ready for a testbed in which the plan is deployed."""

from __future__ import annotations

import json

import polars as pl

from originset.data.errors import InputError, UsageError
from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.database import open_database
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.origins import MAX_PAYLOAD_BYTES, NotAnOriginError, check_host, parse, payload_bytes
from originset.models.plans.origin_plan import Plan
from originset.models.plans.plan_verification import against_study
from originset.models.plans.planned_connections import PLANNED, Deployment, deployments, planned_connections
from originset.models.runner.runner import batch_rows

_PAGES = """
    SELECT v.* FROM visits AS v
    JOIN page_basis AS c ON c.visit_id = v.visit_id AND c.question = 'causes'
    JOIN page_basis AS s ON s.visit_id = v.visit_id AND s.question = 'servers'
    WHERE v.site = ? AND c.reason IS DISTINCT FROM 'failed'
    QUALIFY row_number() OVER (
        PARTITION BY coalesce(v.final_url, v.url)
        ORDER BY s.counted DESC, v.started_at DESC, v.visit_id) = 1
    ORDER BY v.page_kind IS NOT DISTINCT FROM 'internal', v.visit_id"""

#: The tables of which a page has rows of its own.
PER_VISIT = ("requests", "connections", "dns_queries")


def deployment_of(plan: Plan, source: str) -> Deployment:
    """The plan's deployment, if all that it names may be in a testbed; ``source`` names the plan's file.

    Raises:
        InputError: it announces nothing, or announces or adds what is no name of a host, or more than fits a frame.
    """
    deployed = deployments(plan)[PLANNED]
    if deployed is None or not deployed.origins:
        raise InputError(source, "nothing-planned", "announces nothing, so there is nothing to deploy")
    for server, origins in deployed.origins.items():
        try:
            hosts = {parse(origin)[0] for origin in origins}
            for name in (server, *deployed.names):
                check_host(name)
        except NotAnOriginError as error:
            raise InputError(source, "not-an-origin", f"names what cannot be announced: {error.reason}") from error
        if server not in hosts:
            raise InputError(source, "not-itself", f"has a set of {server} without its own origin")
        if payload_bytes(origins) > MAX_PAYLOAD_BYTES:
            raise InputError(source, "too-large", f"has a set of {server} that is too large for a frame")
    return deployed


def site_pages(study: Study, plan: Plan) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, pl.LazyFrame]]:
    """The pages of the plan's site: visits, a row for each page; where plan and study differ, as VERIFIED; tables.

    The tables have these visits alone, and answers that were obtained live in the place of those that they lack.

    Raises:
        StudyError: there is no study, or no database yet.
        UsageError: it has no visit of the plan's site.
    """
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
    return visits, against_study(plan, origin_sets, additions), _of_visits(every, visits)


def _of_visits(every: dict[str, pl.LazyFrame], visits: pl.DataFrame) -> dict[str, pl.LazyFrame]:
    chosen = every | {
        name: every[name].join(visits.lazy().select("visit_id"), on="visit_id", how="semi").collect().lazy()
        for name in ("visits", *PER_VISIT)
    }
    rows = batch_rows(chosen, ("known_connections", "known_lookups"))
    connections = rows["known_connections"].drop("certificate_is_live")
    return chosen | {"connections": connections.lazy(), "dns_queries": rows["known_lookups"].lazy()}


def tables_of_scenarios(tables: dict[str, pl.LazyFrame], requests: dict[str, list[int]]) -> dict[str, pl.LazyFrame]:
    """The tables with the requests that the pages' scenarios have, so that predictions are of the same.

    ``requests``: request ids by visit.
    """
    kept = pl.DataFrame(
        [(visit, number) for visit, numbers in requests.items() for number in numbers],
        schema={"visit_id": pl.String, "request_id": TABLES["requests"].polars_schema["request_id"]},
        orient="row",
    )
    visits = kept.select("visit_id").unique().lazy()
    return tables | {
        "requests": tables["requests"].join(kept.lazy(), on=["visit_id", "request_id"], how="semi"),
        "visits": tables["visits"].join(visits, on="visit_id", how="semi"),
    }


def predicted_hosts(tables: dict[str, pl.LazyFrame], plan: Plan) -> tuple[pl.DataFrame, str | None]:
    """By browser, which connection is to serve each host; and a remark on HTTP/3, if pages used it.

    Firefox speaks HTTP/2 in the testbed, as it accepts no private CA over QUIC.
    """
    found = planned_connections(tables, plan).hosts.filter(model=PLANNED)
    if tables["requests"].filter(protocol="h3").head(1).collect().is_empty():
        return found, None
    spoken = pl.col("protocol").replace("h3", "h2")
    over_http2 = tables | {name: tables[name].with_columns(spoken) for name in ("requests", "connections")}
    firefox = planned_connections(over_http2, plan).hosts.filter(model=PLANNED, browser="firefox")
    remark = "Firefox uses HTTP/2 where pages used HTTP/3: it accepts no private CA over QUIC; predictions are for that"
    return pl.concat([found.filter(pl.col("browser") != "firefox"), firefox]), remark
