"""What was asked for after a recording, put in the place of what the recording lacks, and kept apart from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

_HOST = ["visit_id", "host"]


@dataclass(frozen=True, slots=True)
class Live:
    """What is not the recording's: ``connections`` (visit_id, connection_id) by certificate, ``names`` by answers."""

    connections: pl.DataFrame
    names: pl.DataFrame


def with_live(tables: Mapping[str, pl.LazyFrame]) -> tuple[dict[str, pl.LazyFrame], Live]:
    """``tables`` as the models are to see them, and what in them is live.

    A connection without a certificate, or with one whose names are not known, has the one that its host showed at its
    address since. Live answers stand for a name that the recording has none of, without the times that they came at:
    these are not the page's. Where nothing was asked for, the tables are what they were.
    """
    shown = (
        tables["live_handshakes"]
        .filter(pl.col("recorded"), pl.col("certificate_id").is_not_null())
        .group_by("visit_id", pl.col("host").alias("first_host"), "server_ip", "port")
        .agg(pl.col("certificate_id").sort_by("asked_at").last().alias("live_id"))
        .collect()
    )
    told = tables["dns_queries"].filter(pl.col("source") == "live").select(_HOST).unique().collect()
    nothing = Live(shown.select("visit_id", pl.lit(0, pl.Int64).alias("connection_id")).clear(), told)
    if shown.is_empty() and told.is_empty():
        return dict(tables), nothing
    connections, filled = _connections(tables, shown)
    queries, names = _queries(tables["dns_queries"], told)
    return {**tables, "connections": connections, "dns_queries": queries}, Live(filled, names)


def _connections(tables: Mapping[str, pl.LazyFrame], shown: pl.DataFrame) -> tuple[pl.LazyFrame, pl.DataFrame]:
    named = (
        tables["certificates"]
        .filter(pl.col("san_count").is_not_null())
        .select("certificate_id", pl.lit(value=True).alias("named"))
        .unique()
    )
    rows = (
        tables["connections"]
        .with_columns(pl.col("port").fill_null(443).alias("at_port"))
        .join(named, on="certificate_id", how="left", maintain_order="left")
        .join(
            shown.lazy(),
            left_on=["visit_id", "first_host", "server_ip", "at_port"],
            right_on=["visit_id", "first_host", "server_ip", "port"],
            how="left",
            maintain_order="left",
        )
        .with_columns((pl.col("named").is_null() & pl.col("live_id").is_not_null()).alias("live"))
        .with_columns(pl.when("live").then("live_id").otherwise("certificate_id").alias("certificate_id"))
        .collect()
    )
    return rows.drop("at_port", "named", "live_id", "live").lazy(), rows.filter("live").select(
        "visit_id", "connection_id"
    )


def _queries(queries: pl.LazyFrame, told: pl.DataFrame) -> tuple[pl.LazyFrame, pl.DataFrame]:
    live = pl.col("source") == "live"
    recorded = queries.filter(~live, pl.col("rtype").is_in(["A", "AAAA"])).select(_HOST).unique().collect()
    names = told.join(recorded, on=_HOST, how="anti")
    kept = pl.concat(
        [
            queries.filter(~live),
            queries.filter(live)
            .join(names.lazy(), on=_HOST, how="semi")
            .with_columns(pl.lit(None, pl.Float64).alias("asked_ms"), pl.lit(None, pl.Float64).alias("took_ms")),
        ]
    )
    return kept.collect().lazy(), names


def marked(redundant: pl.DataFrame, live: Live) -> pl.DataFrame:
    """Rows of ``redundant_connections`` with ``based_on_live``: between two hosts, what is live was weighed."""
    if live.connections.is_empty() and live.names.is_empty():
        return redundant
    redundant = redundant.cast({"visit_id": pl.String, "host": pl.String})
    mark = pl.lit(value=True)
    certificates = live.connections.select(
        "visit_id", pl.col("connection_id").alias("reusable_connection_id"), mark.alias("by_certificate")
    )
    return (
        redundant.drop("based_on_live")
        .join(certificates, on=["visit_id", "reusable_connection_id"], how="left", maintain_order="left")
        .join(live.names.with_columns(mark.alias("by_answers")), on=_HOST, how="left", maintain_order="left")
        .with_columns(
            (~pl.col("same_host") & (pl.col("by_certificate").is_not_null() | pl.col("by_answers").is_not_null()))
            .alias("based_on_live")
        )
        .select(redundant.columns)
    )  # fmt: skip
