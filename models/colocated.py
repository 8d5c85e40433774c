"""The hosts that a site's pages asked for and that are where the page's document is."""

from __future__ import annotations

import polars as pl

_DOCUMENT = ("page", "key", "visit_id", "site", "server", pl.col("connection_id").alias("document_connection"))


def colocated_hosts(uses: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """One row per visit and host that shares its document's key, over https and wss; the document's host included.

    ``uses``: of :class:`originset.models.uses.Pages`, with keys. ``documents``: rows of
    :func:`originset.models.documents.documents`. Columns: site, server, visit_id, host, port (of most requests),
    requests, connections (opened for this host, other than the document's; NULL where the recorder gives no connection
    ids). A connection counts for the host of its first request alone, so that the sum over hosts is what the paper's
    ideal saves.
    """
    located = documents.filter("secure", pl.col("key").is_not_null()).select(_DOCUMENT)
    here = uses.lazy().filter("secure").join(located.lazy(), on=["page", "key"])
    by_port = (
        here.group_by("page", "host", "port")
        .agg(
            pl.col("requests").sum(),
            pl.col("connection_id").is_not_null().any().alias("has_ids"),
            pl.col("site", "server", "visit_id").first(),
        )
        .sort("requests", "port", descending=[True, False])
    )
    opened = (
        here.filter(pl.col("connection_id").is_not_null())
        .sort("request_id")
        .group_by("page", "connection_id")
        .agg(pl.col("host", "document_connection").first())
        .filter(pl.col("connection_id").ne_missing(pl.col("document_connection")))
        .group_by("page", "host")
        .agg(pl.len().cast(pl.Int64).alias("opened"))
    )
    return (
        by_port.group_by("page", "host")
        .agg(pl.col("site", "server", "visit_id", "port").first(), pl.col("requests").sum(), pl.col("has_ids").any())
        .join(opened, on=["page", "host"], how="left")
        .select(
            "site",
            "server",
            "visit_id",
            "host",
            "port",
            "requests",
            pl.when("has_ids").then(pl.col("opened").fill_null(0)).alias("connections"),
        )
        .collect()
    )
