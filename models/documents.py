"""The document of each visit: the response that made the page, its server and that server's certificate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from originset.models.uses import Pages


def documents(tables: Mapping[str, pl.LazyFrame], pages: Pages, uses: pl.DataFrame) -> pl.DataFrame:
    """One row per visit that did not fail and whose document came over the network.

    ``uses``: those of ``pages`` with their keys. Columns: page, visit_id, site, vantage, server (host of the document),
    secure, asn, key, connection_id (the document's), certificate_id (the leaf shown on that connection, NULL where not
    recorded).

    The document is the first response that is no redirect and has the visit's final URL; where the recorder gives no
    such URL, the first of type ``document``; where it gives no types either, the first.
    """
    rows, page = pages.requests, pages.requests["page"]
    visits = pages.numbers.join(
        tables["visits"].select("visit_id", "site", "vantage", "final_url", "status").collect(),
        on="visit_id",
        how="left",
        maintain_order="left",
    )
    final = rows.select(
        redirect=pl.col("status").is_between(300, 399).fill_null(value=False),
        final=(pl.col("url") == visits["final_url"].gather(page)).fill_null(value=False),
        typed=(pl.col("resource_type") == "document").fill_null(value=False),
    )
    redirect, is_final, typed = (final[name].to_numpy() for name in ("redirect", "final", "typed"))
    preference = np.where(redirect, 3, np.where(is_final, 0, np.where(typed, 1, 2)))
    # One number that is least for the document: preference, then the number of the request, then its row.
    starts = np.flatnonzero(np.diff(page.to_numpy(), prepend=-1))
    order = preference * 2**32 + rows["request_id"].to_numpy()
    least = np.minimum.reduceat(order, starts) if starts.size else order
    chosen = np.flatnonzero(order == least[page.to_numpy()])
    first = chosen[np.diff(page.to_numpy()[chosen], prepend=-1) > 0]
    certificates = tables["connections"].select("visit_id", "connection_id", "certificate_id").collect()
    return (
        uses[pages.use[first]]
        .select("page", pl.col("host").alias("server"), "secure", "asn", "key", "connection_id")
        .with_columns(visits.select("visit_id", "site", "vantage", "status"))
        .filter(pl.col("status").ne_missing("failed"))
        .drop("status")
        .join(certificates, on=["visit_id", "connection_id"], how="left", maintain_order="left")
    )
