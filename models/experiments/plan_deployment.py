"""A plan's deployment and the pages of its site, for a testbed in which the plan is verified."""

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

#: The tables with rows that belong to one visit.
PER_VISIT = ("requests", "connections", "dns_queries")


def deployment_of(plan: Plan, source: str) -> Deployment:
    """The plan's deployment, if the testbed can have all its names; ``source`` names the plan's file.

    Raises:
        InputError: the plan announces nothing, has a name that is not a host name, or an ORIGIN set that is too large
            for a frame.
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
            raise InputError(source, "not-an-origin", f"has a name that cannot be announced: {error.reason}") from error
        if server not in hosts:
            raise InputError(source, "not-itself", f"has a set of {server} without its own origin")
        if payload_bytes(origins) > MAX_PAYLOAD_BYTES:
            raise InputError(source, "too-large", f"has a set of {server} that is too large for a frame")
    return deployed


def site_pages(study: Study, plan: Plan) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, pl.LazyFrame]]:
    """The pages of the plan's site: a visit for each page, the differences of plan and study as VERIFIED, and tables.

    The tables have only these visits; what the recordings lack is completed by live answers.

    Raises:
        StudyError: there is no study, or no database yet.
        UsageError: the study has no visit of the plan's site.
    """
    tables = {name: scan(study, name) for name, table in TABLES.items() if table.stage in (Stage.ROWS, Stage.RESOLVED)}
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
    return visits, against_study(plan, origin_sets, additions), _tables_of_visits(tables, visits)


def _tables_of_visits(tables: dict[str, pl.LazyFrame], visits: pl.DataFrame) -> dict[str, pl.LazyFrame]:
    tables_of_visits = tables | {
        name: tables[name].join(visits.lazy().select("visit_id"), on="visit_id", how="semi").collect().lazy()
        for name in ("visits", *PER_VISIT)
    }
    rows = batch_rows(tables_of_visits, ("known_connections", "known_lookups"))
    connections = rows["known_connections"].drop("certificate_is_live")
    return tables_of_visits | {"connections": connections.lazy(), "dns_queries": rows["known_lookups"].lazy()}


def tables_of_scenarios(tables: dict[str, pl.LazyFrame], requests: dict[str, list[int]]) -> dict[str, pl.LazyFrame]:
    """The tables with only those requests that the pages' scenarios have, for predictions of the same requests.

    ``requests``: request ids by visit.
    """
    scenario_requests = pl.DataFrame(
        [(visit, number) for visit, numbers in requests.items() for number in numbers],
        schema={"visit_id": pl.String, "request_id": TABLES["requests"].polars_schema["request_id"]},
        orient="row",
    )
    visits = scenario_requests.select("visit_id").unique().lazy()
    return tables | {
        "requests": tables["requests"].join(scenario_requests.lazy(), on=["visit_id", "request_id"], how="semi"),
        "visits": tables["visits"].join(visits, on="visit_id", how="semi"),
    }


def predicted_hosts(tables: dict[str, pl.LazyFrame], plan: Plan) -> tuple[pl.DataFrame, str | None]:
    """The connection that should serve each host, by browser; and a remark on HTTP/3, if pages used it.

    Firefox uses HTTP/2 in the testbed, because it accepts no private CA over QUIC.
    """
    hosts = planned_connections(tables, plan).hosts.filter(model=PLANNED)
    if tables["requests"].filter(protocol="h3").head(1).collect().is_empty():
        return hosts, None
    protocol = pl.col("protocol").replace("h3", "h2")
    over_http2 = tables | {name: tables[name].with_columns(protocol) for name in ("requests", "connections")}
    firefox = planned_connections(over_http2, plan).hosts.filter(model=PLANNED, browser="firefox")
    remark = "Firefox uses HTTP/2 where pages used HTTP/3: it accepts no private CA over QUIC; predictions are for that"
    return pl.concat([hosts.filter(pl.col("browser") != "firefox"), firefox]), remark
