"""The document of each visit: the response that made the page, its server and that server's certificate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from originset.models.uses import Ints, Pages


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
    number = pl.Series(pages.connection[first]).replace(-1, None)
    return (
        uses[pages.use[first]]
        .select("page", pl.col("host").alias("server"), "secure", "asn", "key", "connection_id")
        .with_columns(
            visits.select("visit_id", pl.col("site").cast(pl.Categorical), "vantage", "status").get_columns(),
            certificate_id=connections["certificate_id"].gather(number),
        )
        .filter(pl.col("status").ne_missing("failed"))
        .drop("status")
    )


def _documents(pages: Pages, final_url: pl.Series) -> Ints:
    """The row of each page's document."""
    page, rows = pages.requests["page"].to_numpy(), pages.requests
    redirect = rows["status"].is_between(300, 399).fill_null(value=False).to_numpy()
    request_id = rows["request_id"].to_numpy().astype(np.int64)
    # Mostly it is the first that is no redirect; only where it is not, other rows are looked at.
    first = _least(page, np.where(redirect, 2**32, 0) + request_id)
    is_final = (rows["url"].gather(first) == final_url).fill_null(value=False).to_numpy() & ~redirect[first]
    open_ = np.flatnonzero(~is_final)
    if open_.size:
        unsettled = np.zeros(is_final.size, np.bool_)
        unsettled[open_] = True
        chosen = np.flatnonzero(unsettled[page])
        of_page, some = page[chosen], rows.select("url", "resource_type")[chosen]
        final = (some["url"] == final_url.gather(of_page)).fill_null(value=False).to_numpy()
        typed = (some["resource_type"] == "document").fill_null(value=False).to_numpy()
        preference = np.where(redirect[chosen], 3, np.where(final, 0, np.where(typed, 1, 2)))
        first[open_] = chosen[_least(of_page, preference * 2**32 + request_id[chosen])]
    return first


def _least(page: Ints, order: Ints) -> Ints:
    """Of each page the first row with the least ``order``; ``page`` ascends."""
    starts = np.flatnonzero(np.diff(page, prepend=-1))
    if not starts.size:
        return starts
    least = np.minimum.reduceat(order, starts)
    chosen = np.flatnonzero(order == np.repeat(least, np.diff(np.append(starts, page.size))))
    return chosen[np.diff(page[chosen], prepend=-1) > 0]
