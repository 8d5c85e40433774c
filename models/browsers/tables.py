"""Everything that the browsers' rules say of some pages: counts, predictions, names exposed, causes."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.columns import Table
from originset.data.reference.browser_rules import browser_rules
from originset.data.schema import BROWSER_COUNTS, BROWSER_PREDICTIONS
from originset.data.schema import polars_type as kind_of
from originset.models.browsers.asked import asked, modes_of
from originset.models.browsers.candidates import YES, pairs, planned_pairs
from originset.models.browsers.causes import redundant_connections
from originset.models.browsers.exposures import page_names
from originset.models.browsers.http1 import with_at_once
from originset.models.browsers.predictions import connections, handshakes, of_pages, with_chains
from originset.models.browsers.replay import replayed
from originset.models.browsers.savings import saved_connections
from originset.models.browsers.servers import with_servers
from originset.models.network import network_requests

TODAY, PLANNED = "today", "planned"


def browser_tables(
    tables: Mapping[str, pl.LazyFrame], colocated: pl.DataFrame | None = None
) -> dict[str, pl.DataFrame]:
    """What the rules say of the pages of ``tables``, by name.

    ``browser_counts`` has one row per visit and BROWSER_COUNTS, columns of ``page_counts``: ``_low`` and ``_high`` hold
    for whatever the recorder left out; ``_tls`` is NULL unless they are one. A page that sent nothing over TLS needs 0.
    ``_dns`` counts names, those of requests over http and of names that do not exist included. An ORIGIN frame that no
    recorder saw is taken not to have been sent. The others are tables: ``browser_predictions``, ``page_names`` and
    ``redundant_connections``. With ``colocated`` (:func:`originset.models.colocated.colocated_hosts`) there is also
    ``saved_connections`` (:func:`originset.models.browsers.savings.saved_connections`).

    Takes memory for all requests of ``tables``: give it parts of a large study (:func:`originset.models.parts.parts`).
    """
    visits = tables["visits"].select(pl.col("visit_id").sort()).with_row_index("number").collect()
    tables = _numbered(tables, visits)
    rows = modes_of(tables)
    groups = with_chains(tables, with_at_once(tables, with_servers(tables, asked(rows))))
    found = pairs(tables, groups)
    ways = {TODAY: found, PLANNED: planned_pairs(tables, groups, found)}
    covered = found.filter(pl.col("covers") == YES).select("group", "group_held")
    others = without_tls(tables, groups)
    pages = tables["visits"].select("visit_id").collect()
    predictions, replays = [], {}
    for browser, rules in browser_rules().items():
        for model, possible in ways.items():
            opens = connections(replayed(groups, possible, rules), rules)
            replays[browser if model == TODAY else f"{PLANNED}_{browser}"] = opens
            named = possible.filter("planned").join(covered, on=["group", "group_held"], how="anti")
            predictions.append(
                of_pages(pages, opens, others, handshakes(opens, named), rules).with_columns(
                    pl.lit(browser).alias("browser"), pl.lit(model).alias("model")
                )
            )
    predicted = pl.concat(predictions).select(_columns(BROWSER_PREDICTIONS))
    found_of_pages = {
        "browser_counts": _counts(pages, predicted),
        "browser_predictions": predicted.sort("visit_id", "browser", "model"),
        "page_names": page_names(tables, replays),
        "redundant_connections": redundant_connections(tables, rows),
    }
    named_pages = {name: _named(frame, visits) for name, frame in found_of_pages.items()}
    if colocated is None:
        return named_pages
    today = {browser: replays[browser] for browser in browser_rules()}
    beside = (
        colocated.select("site", "server", "visit_id", "host", "port")
        .cast({"server": pl.String, "host": pl.String})
        .join(visits, on="visit_id")
        .drop("visit_id")
        .rename({"number": "visit_id"})
    )
    return named_pages | {"saved_connections": saved_connections(groups, found, today, beside)}


# What is read of each request.
_READ = (
    *("visit_id", "request_id", "scheme", "host", "port", "protocol", "status", "resource_type", "initiator_id"),
    *("frame_site", "credentials", "from_cache", "connection_id", "server_ip", "started_ms", "blocked_ms", "dns_ms"),
    *("connect_ms", "send_ms", "wait_ms", "receive_ms"),
)


def _numbered(tables: Mapping[str, pl.LazyFrame], visits: pl.DataFrame) -> dict[str, pl.LazyFrame]:
    """The tables with a visit's number as its id, which is less to compare; what belongs to visits is in memory."""
    ids = visits.lazy()
    numbered = {
        name: (tables[name].select(_READ) if name == "requests" else tables[name])
        .join(ids, on="visit_id", maintain_order="left")
        .drop("visit_id")
        .rename({"number": "visit_id"})
        .collect()
        .lazy()
        for name in ("visits", "requests", "connections", "dns_queries")
    }
    return {**tables, **numbered}


def _named(rows: pl.DataFrame, visits: pl.DataFrame) -> pl.DataFrame:
    """Rows with the visits' ids again."""
    ids = visits["visit_id"].gather(rows["visit_id"])
    return rows.with_columns(ids)


def _columns(table: Table) -> list[pl.Expr]:
    """A table's columns with their types, visits as they are."""
    return [
        pl.col(name) if name == "visit_id" else pl.col(name).cast(kind) for name, kind in table.polars_schema.items()
    ]


def _counts(visits: pl.DataFrame, predicted: pl.DataFrame) -> pl.DataFrame:
    for browser in browser_rules():
        one = predicted.filter(pl.col("browser") == browser, pl.col("model") == TODAY)
        visits = visits.join(
            one.select(
                "visit_id",
                pl.when(pl.col("tls_low") == pl.col("tls_high")).then("tls_low").alias(f"{browser}_tls"),
                pl.col("tls_low").alias(f"{browser}_tls_low"),
                pl.col("tls_high").alias(f"{browser}_tls_high"),
                pl.col("dns").alias(f"{browser}_dns"),
            ),
            on="visit_id",
        )
    return visits.select(
        "visit_id", *(pl.col(column.name).cast(kind_of(column.type)) for column in BROWSER_COUNTS)
    ).sort("visit_id")


def without_tls(tables: Mapping[str, pl.LazyFrame], groups: pl.DataFrame) -> pl.DataFrame:
    """Other names that pages asked for: over http, or in vain."""
    plain = network_requests(tables).filter(~pl.col("secure"), pl.col("host").is_not_null()).select("visit_id", "host")
    queries = tables["dns_queries"].filter(pl.col("source") == "browser").select("visit_id", "host")
    return (
        pl.concat([plain, queries])
        .unique()
        .collect()
        .join(groups.select("visit_id", "host").unique(), on=["visit_id", "host"], how="anti")
        .with_columns(pl.lit(1, pl.Int64).alias("lookups"))
    )
