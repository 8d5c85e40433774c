"""What each browser needs for a site's pages after a plan that somebody has: its sets announced, its names added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from originset.data.reference.browser_rules import browser_rules
from originset.models.browsers.batch import INPUTS, read
from originset.models.browsers.batch_facts import BatchFacts
from originset.models.browsers.candidate_pairs import pairs
from originset.models.browsers.predictions import connections, of_pages, without_tls
from originset.models.browsers.replay import replayed, ways
from originset.models.browsers.request_groups import modes_of
from originset.models.browsers.sharing_rules import YES
from originset.models.browsers.tables import TODAY, groups_of
from originset.models.plans.certificate_costs import name_bytes
from originset.models.plans.origin_plan import Plan
from originset.models.runner.runner import batch_rows

ANNOUNCED, PLANNED = "announced", "planned"

_PER_VISIT = ("visits", "requests", "connections", "dns_queries")


@dataclass(frozen=True, slots=True)
class Deployment:
    """The ORIGIN set that each host sends, and the names that their certificates get; of the plan's servers."""

    origins: Mapping[str, list[str]]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedConnections:
    """Connections and lookups by browser and ``model``, for the pages as they were recorded.

    ``pages``: visit_id, browser, model, tls_low, tls_high, dns, handshake_bytes, round_trips, as in
    ``browser_predictions``. ``hosts``: visit_id, browser, model, host, port, tls_low and tls_high (connections opened
    for the host itself), looked_up (NULL: not known), http1 (it speaks HTTP/1.1 alone) and served_by (for which hosts
    the connections were opened that carry what it is asked for, itself among them if one is its own; NULL: not
    certain).

    ``model``: today (servers as they are), announced (the servers send the sets that the plan announces now), planned
    (besides, the certificate has the names that the site's owner can add, and they are announced).
    """

    pages: pl.DataFrame
    hosts: pl.DataFrame


def deployments(plan: Plan) -> dict[str, Deployment | None]:
    """What is deployed under each model of :class:`PlannedConnections`; None: nothing.

    A name to add is announced where the server's certificate lacked it and nothing else is against it. Hosts of the
    same server send its set, unless they have one of their own.
    """
    servers = [server for server in plan.servers if server.announce]
    names = tuple(sorted({addition.name for addition in plan.additions if addition.same_owner}))
    now = {server.server: server.origins for server in servers}
    later = {
        server.server: sorted(
            {
                *server.origins,
                *(
                    _origin(left.host, left.port)
                    for left in server.left_out
                    if left.reason == "not_covered" and left.host in names
                ),
            }
        )
        for server in servers
    }
    # Of two servers at one address the more visited one, which comes first.
    also = {host: server.server for server in reversed(servers) for host in server.same_server}
    now, later = ({host: sets[server] for host, server in also.items()} | sets for sets in (now, later))
    return {TODAY: None, ANNOUNCED: Deployment(now), PLANNED: Deployment(later, names)}


def planned_connections(tables: Mapping[str, pl.LazyFrame], plan: Plan) -> PlannedConnections:
    """What the rules say of the pages of ``plan.site`` in ``tables`` that did not fail, before and after the plan.

    A set is taken to be sent with SETTINGS, over HTTP/2 and HTTP/3, in place of what the server sends today; a browser
    that heeds it keeps hosts off that it lacks. The added names are in every certificate that the plan's servers
    showed. What the recorder left out is a range, as in
    :func:`originset.models.browsers.tables.browser_tables`.
    """
    tables = _of_site(tables, plan.site)
    part = read(batch_rows(tables, INPUTS))
    groups = groups_of(part, modes_of(part))
    others = without_tls(part, groups)
    pages, hosts = [], []
    for model, deployed in deployments(plan).items():
        names, served = (None, groups) if deployed is None else _deployed_names(tables, part.facts, groups, deployed)
        found = pairs(part.facts, served, names)
        for browser, rules in browser_rules().items():
            opens = connections(replayed(served, ways(found, rules)), rules)
            named = (pl.lit(browser).alias("browser"), pl.lit(model).alias("model"))
            pages.append(of_pages(part, opens, others, rules).with_columns(named))
            hosts.append(_by_host(opens.with_columns(pl.col("host").cast(pl.String))).with_columns(named))
    key, ids = ["visit_id", "browser", "model"], part.visits["visit_id"]
    of_pages_, of_hosts = (
        rows.with_columns(ids.gather(rows["visit_id"])) for rows in (pl.concat(pages), pl.concat(hosts))
    )
    return PlannedConnections(of_pages_.sort(key), of_hosts.sort(*key, "host", "port"))


def _origin(host: str, port: int | None) -> str:
    return f"https://{host}" if port in (None, 443) else f"https://{host}:{port}"


def _of_site(tables: Mapping[str, pl.LazyFrame], site: str) -> dict[str, pl.LazyFrame]:
    of_site = (pl.col("site") == site) & pl.col("status").ne_missing("failed")
    visits = tables["visits"].filter(of_site).collect().lazy()
    own = {
        name: tables[name].join(visits.select("visit_id"), on="visit_id", how="semi").collect().lazy()
        for name in _PER_VISIT[1:]
    }
    return {**tables, "visits": visits, **own}


def _deployed_names(
    tables: Mapping[str, pl.LazyFrame], facts: BatchFacts, groups: pl.DataFrame, deployed: Deployment
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The names that certificates get (host, certificate_id), and groups whose servers send the sets."""
    sets = pl.DataFrame(
        {"host": list(deployed.origins), "announced": list(deployed.origins.values())},
        schema={"host": pl.String, "announced": pl.List(pl.String)},
    ).with_columns(pl.col("host").cast(facts.hosts, strict=False))
    served = groups.join(sets, on="host", how="left", maintain_order="left")
    server = pl.col("announced").is_not_null()
    shown = served.filter(server).select(pl.col("certificate_id").drop_nulls().unique().cast(pl.String))
    named = tables["certificate_names"].join(shown.lazy(), on="certificate_id", how="semi").collect()
    sizes = [(name, name_bytes(name)) for name in deployed.names]
    lacking = (
        shown.join(pl.DataFrame(sizes, schema={"name": pl.String, "bytes": pl.Int64}, orient="row"), how="cross")
        .join(named, on=["certificate_id", "name"], how="anti")
        .select(
            # A name that no page asks for makes chains longer and nothing else.
            pl.col("name").cast(facts.hosts, strict=False).alias("host"),
            pl.col("certificate_id").cast(facts.certificates),
            "bytes",
        )
    )
    grown = lacking.group_by("certificate_id").agg(pl.col("bytes").sum())
    changed = served.join(grown, on="certificate_id", how="left", maintain_order="left").with_columns(
        pl.coalesce("announced", "origins").alias("origins"),
        # With SETTINGS: whoever waits for the connection has the set.
        pl.when(~server).then("origins_ms").alias("origins_ms"),
        (pl.col("chain_bytes") + pl.col("bytes").fill_null(0)).alias("chain_bytes"),
    )
    return lacking.drop("bytes").drop_nulls("host"), changed.drop("announced", "bytes")


def _by_host(opens: pl.DataFrame) -> pl.DataFrame:
    by_host = (
        opens.with_columns(_servers(opens))
        .group_by("visit_id", "host", "port")
        .agg(
            pl.col("low").sum().alias("tls_low"),
            pl.col("high").sum().alias("tls_high"),
            pl.col("looked_up").any(ignore_nulls=False),
            (pl.col("protocol") == "h1").fill_null(value=False).all().alias("http1"),
            pl.col("server").unique().sort().alias("served_by"),
        )
    )
    certain = ~pl.col("served_by").list.contains(None, nulls_equal=True)
    return by_host.with_columns(pl.when(certain).then("served_by").alias("served_by"))


def _servers(opens: pl.DataFrame) -> pl.Series:
    """``server``: the host whose connection certainly carries each group; a connection joined is that of an earlier."""
    found: dict[int, str | None] = {}
    for group, host, outcome, joined in opens.select("group", "host", "opens", "joins").iter_rows():
        found[group] = host if outcome == YES else found[joined] if joined is not None else None
    return pl.Series("server", list(found.values()), pl.String)
