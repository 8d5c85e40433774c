"""A study's tables a part at a time, each of whole visits, so that no model needs memory for all requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from originset.models.network import network_requests
from originset.models.parameters import Colocation

ROWS = 1_000_000

# Tables whose rows each belong to one visit, and what the models read of them.
_PER_VISIT = {
    "requests": (
        *("visit_id", "request_id", "url", "scheme", "host", "port", "protocol", "status", "resource_type"),
        *("initiator_id", "frame_site", "credentials", "from_cache", "connection_id", "connection_source", "server_ip"),
        *("started_ms", "blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms"),
    ),
    "connections": (
        *("visit_id", "connection_id", "hosts", "server_ip", "port", "protocol", "tls", "certificate_id"),
        *("opened_ms", "used", "misdirected", "source"),
    ),
    "dns_queries": ("visit_id", "lookup_id", "host", "rtype", "attempts", "source"),
}


def parts(
    tables: Mapping[str, pl.LazyFrame], colocation: Colocation, rows: int = ROWS
) -> Iterator[dict[str, pl.LazyFrame]]:
    """``tables`` restricted to some whole visits after another, each with about ``rows`` requests (or one large visit).

    Together they have every visit once. Requests are reduced to those that reached the network and lie in memory, with
    what :func:`originset.models.network.network_requests` adds under the name ``network``. Rows may be in any order;
    little is read twice where a visit's rows lie together and in one order in all tables, as import and analyze write
    them.
    """
    tables = {**tables, "addresses": tables["addresses"].collect().lazy()}
    spans = {name: _spans(tables[name]) for name in _PER_VISIT}
    visits = tables["visits"].select("visit_id").collect(engine="streaming")
    # Visits in the order of their requests; those without any come last, and count as one so that they end too.
    plan = (
        visits.join(spans["requests"], on="visit_id", how="left")
        .sort("first", "visit_id", nulls_last=True)
        .with_columns((pl.col("rows").fill_null(1).cum_sum() // rows).alias("part"))
    )
    for part in plan.partition_by("part", maintain_order=True) or [plan]:
        chosen = part.select("visit_id")
        own = dict(tables)
        own["visits"] = tables["visits"].join(chosen.lazy(), on="visit_id", how="semi").collect().lazy()
        for name, columns in _PER_VISIT.items():
            own[name] = _slice(tables[name].select(columns), spans[name], chosen).lazy()
        own["network"] = network_requests(own, colocation).collect().lazy()
        own["requests"] = own["network"]
        yield own


def _spans(table: pl.LazyFrame) -> pl.DataFrame:
    """Of each visit, where its rows begin and end and how many they are."""
    place = pl.col("place").cast(pl.Int64)
    return (
        table.select("visit_id")
        .with_row_index("place")
        .group_by("visit_id")
        .agg(place.min().alias("first"), place.max().alias("last"), pl.len().cast(pl.Int64).alias("rows"))
        .collect(engine="streaming")
    )


def _slice(table: pl.LazyFrame, spans: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    spans = spans.join(chosen, on="visit_id", how="semi")
    if spans.is_empty():
        return table.head(0).collect()
    first, last, rows = spans.select(pl.col("first").min(), pl.col("last").max(), pl.col("rows").sum()).row(0)
    found = table.slice(first, last - first + 1)
    if rows <= last - first:
        # Other visits' rows lie between.
        found = found.join(chosen.lazy(), on="visit_id", how="semi", maintain_order="left")
    return found.collect(engine="streaming")
