"""The document of each visit: the response that made the page, its server and that server's certificate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from originset.models.compiled.uses import least_of_pages
from originset.models.uses import Ints, Pages, gathered, plain


def documents(
    tables: Mapping[str, pl.LazyFrame], pages: Pages, uses: pl.DataFrame, connections: pl.DataFrame
) -> pl.DataFrame:
    """One row per visit that did not fail and whose document came over the network.

    ``uses``: those of ``pages`` with their keys. ``connections``: of
    :func:`originset.models.uses.known_connections`. Columns: page, visit_id, site, vantage, server (host of the
    document), secure, asn, key, connection_id (the document's), certificate_id (the leaf shown on that connection, NULL
    where not recorded). Sites and servers are categories.

    The document is the first response that is no redirect and has the visit's final URL; where the recorder gives no
    such URL, the first of type ``document``; where it gives no types either, the first.
    """
    visits = pages.numbers.join(
        tables["visits"].select("visit_id", "site", "vantage", "final_url", "status").collect(),
        on="visit_id",
        how="left",
        maintain_order="left",
    )
    first = _documents(pages, visits["final_url"])
    certificate_id = gathered(connections["certificate_id"], pages.connection[first])
    return (
        uses[pages.use[first]]
        .select("page", pl.col("host").alias("server"), "secure", "asn", "key", "connection_id")
        .with_columns(
            visits.select("visit_id", pl.col("site").cast(pl.Categorical), "vantage", "status").get_columns(),
            certificate_id=certificate_id,
        )
        .filter(pl.col("status").ne_missing("failed"))
        .drop("status")
    )


def _documents(pages: Pages, final_url: pl.Series) -> Ints:
    """The row of each page's document."""
    page, rows = pages.requests["page"].to_numpy(), pages.requests
    status, _ = plain(rows["status"])
    redirect = (status >= 300) & (status <= 399)
    request_id = rows["request_id"].to_numpy()
    # Mostly it is the first that is no redirect; only where it is not, other rows are looked at.
    first = least_of_pages(page, redirect.view(np.uint8), request_id, pages.visits.len())
    is_final = (rows["url"].gather(first) == final_url).fill_null(value=False).to_numpy() & ~redirect[first]
    open_ = np.flatnonzero(~is_final)
    if open_.size:
        chosen = np.flatnonzero(~is_final[page])
        of_page, some = page[chosen], rows.select("url", "resource_type")[chosen]
        final = (some["url"] == final_url.gather(of_page)).fill_null(value=False).to_numpy()
        typed = (some["resource_type"] == "document").fill_null(value=False).to_numpy()
        preference = np.where(redirect[chosen], 3, np.where(final, 0, np.where(typed, 1, 2))).astype(np.uint8)
        first[open_] = chosen[least_of_pages(of_page, preference, request_id[chosen], first.size)[open_]]
    return first
