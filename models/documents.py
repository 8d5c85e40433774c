"""The document of each visit: the response that made the page, its server and that server's certificate."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.network import network_requests
from originset.models.parameters import Colocation


def documents(tables: Mapping[str, pl.LazyFrame], colocation: Colocation) -> pl.LazyFrame:
    """One row per visit that did not fail and whose document came over the network.

    Columns: visit_id, site, vantage, server (host of the document), secure, asn, key, connection_id (the document's),
    certificate_id (the leaf shown on that connection, NULL where not recorded).

    The document is the first response that is no redirect and has the visit's final URL; where the recorder gives no
    such URL, the first of type ``document``; where it gives no types either, the first.
    """
    redirect = pl.col("status").is_between(300, 399).fill_null(value=False)
    preference = (
        pl.when(redirect)
        .then(3)
        .when(pl.col("url") == pl.col("final_url"))
        .then(0)
        .when(pl.col("resource_type") == "document")
        .then(1)
        .otherwise(2)
        .cast(pl.Int8)
    )
    visits = (
        tables["visits"]
        .filter(pl.col("status").ne_missing("failed"))
        .select("visit_id", "site", "vantage", "final_url")
    )
    certificates = tables["connections"].select("visit_id", "connection_id", "certificate_id")
    chosen = pl.struct(preference, "request_id")
    return (
        network_requests(tables, colocation)
        .join(visits, on="visit_id")
        .group_by("visit_id")
        .agg(
            pl.col("site", "vantage").first(),
            *(pl.col(name).sort_by(chosen).first() for name in ("host", "secure", "asn", "key", "connection_id")),
        )
        .rename({"host": "server"})
        .join(certificates, on=["visit_id", "connection_id"], how="left")
    )
