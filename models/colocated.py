"""The hosts that a site's pages asked for and that are where the page's document is."""

from __future__ import annotations

import numpy as np
import polars as pl

_DOCUMENT = (
    *("page", "visit_id", "site", "server"),
    pl.col("asn").alias("of_site"),
    pl.col("connection_id").alias("document_connection"),
)


def at_documents(uses: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """The uses over https and wss that share the key of their page's document.

    ``uses``: of :class:`originset.models.uses.Pages`, with keys. ``documents``: rows of
    :func:`originset.models.documents.documents`, whose visit_id, site, server, asn (as ``of_site``) and connection_id
    (as ``document_connection``) are added.
    """
    located = documents.filter("secure", pl.col("key").is_not_null())
    page = uses["page"].to_numpy()
    own = np.full(int(page.max(initial=-1)) + 1, -1)
    own[located["page"].to_numpy()] = located["key"].to_physical().to_numpy()
    key = uses["key"].to_physical().cast(pl.Int64).fill_null(-2).to_numpy()
    here = uses.filter((key == own[page]) & uses["secure"].to_numpy())
    return here.join(located.select(_DOCUMENT), on="page", how="left", maintain_order="left")


def colocated_hosts(here: pl.DataFrame) -> pl.DataFrame:
    """One row per visit and host that shares its document's key, over https and wss; the document's host included.

    ``here``: rows of :func:`at_documents`. Columns: site, server, visit_id, host, port (of most requests), requests,
    connections (opened for this host, other than the document's; NULL where the recorder gives no connection ids). A
    connection counts for the host of its first request alone, so that the sum over hosts is what the paper's ideal
    saves.
    """
    by_port = here.group_by("page", "host", "port").agg(
        pl.col("requests").sum(),
        pl.col("connection_id").is_not_null().any().alias("has_ids"),
        pl.col("site", "server", "visit_id").first(),
    )
    by_host = (
        by_port.sort("requests", "port", descending=[True, False])
        .group_by("page", "host")
        .agg(pl.col("site", "server", "visit_id", "port").first(), pl.col("requests").sum(), pl.col("has_ids").any())
    )
    opened = (
        here.filter(pl.col("connection_id").is_not_null())
        .sort("request_id")
        .unique(["page", "connection_id"], keep="first", maintain_order=True)
        .filter(pl.col("connection_id").ne_missing(pl.col("document_connection")))
        .group_by("page", "host")
        .agg(pl.len().cast(pl.Int64).alias("opened"))
    )
    return by_host.join(opened, on=["page", "host"], how="left").select(
        "site",
        "server",
        "visit_id",
        pl.col("host").cast(pl.String),
        "port",
        "requests",
        pl.when("has_ids").then(pl.col("opened").fill_null(0)).alias("connections"),
    )
