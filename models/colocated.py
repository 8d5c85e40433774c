"""The hosts that a site's pages asked for and that are where the page's document is."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.network import network_requests
from originset.models.parameters import Colocation


def colocated_hosts(
    tables: Mapping[str, pl.LazyFrame], documents: pl.LazyFrame, colocation: Colocation
) -> pl.DataFrame:
    """One row per visit and host that shares its document's key, over https and wss; the document's host included.

    ``documents``: rows of :func:`originset.models.documents.documents`. Columns: site, server, visit_id, host, port
    (of most requests), requests, connections (opened for this host, other than the document's; NULL where the
    recorder gives no connection ids). A connection counts for the host of its first request alone, so that the sum
    over hosts is what the paper's ideal saves.
    """
    here = (
        network_requests(tables, colocation)
        .filter("secure")
        .join(
            documents.filter("secure", pl.col("key").is_not_null()).select(
                "visit_id", "site", "server", "key", pl.col("connection_id").alias("document_connection")
            ),
            on=["visit_id", "key"],
        )
    )
    ports = here.group_by("visit_id", "host", "port").agg(pl.len().alias("of_port"))
    port = ports.group_by("visit_id", "host").agg(
        pl.col("port").sort_by(pl.struct(-pl.col("of_port").cast(pl.Int64), "port")).first()
    )
    opened = (
        here.filter(pl.col("connection_id").is_not_null())
        .group_by("visit_id", "connection_id")
        .agg(pl.col("host").sort_by("request_id").first(), pl.col("document_connection").first())
        .filter(pl.col("connection_id").ne_missing(pl.col("document_connection")))
        .group_by("visit_id", "host")
        .agg(pl.len().cast(pl.Int64).alias("opened"))
    )
    return (
        here.group_by("site", "server", "visit_id", "host")
        .agg(
            pl.len().cast(pl.Int64).alias("requests"),
            pl.col("connection_id").is_not_null().any().alias("has_ids"),
        )
        .join(port, on=["visit_id", "host"])
        .join(opened, on=["visit_id", "host"], how="left")
        .select(
            "site",
            "server",
            "visit_id",
            "host",
            "port",
            "requests",
            pl.when("has_ids").then(pl.col("opened").fill_null(0)).alias("connections"),
        )
        .collect(engine="streaming")
    )
