"""The TLS connections that each page used, with what decides whether another could have been used instead."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.browsers.servers import literals

_KEY = ["visit_id", "connection_id"]


def used_connections(tables: Mapping[str, pl.LazyFrame], rows: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """One row per connection that carried https or wss requests, ordered by visit and time of opening.

    Columns: ``number`` (the row's), visit_id, connection_id, host, port, protocol, kind (of its first request),
    credentialed, third_party, top_site, cross_site, cookies_blocked, browser, privacy_mode, peer, asn, site (of the
    host), main_site (of the page), edge, opened_ms, ready_ms, established_ms, last_ms (when its last answer ended),
    closed_ms, lasting (NULL: when it closed is not known; else whether it outlived the page), certificate_id,
    names_known, origins, misdirected (hosts answered 421), answers.

    ``rows``: of :func:`originset.models.browsers.asked.modes_of`, ``answers``: of
    :func:`originset.models.browsers.servers.answers_of`.
    """
    carried = (
        rows.filter(pl.col("connection_id").is_not_null())
        .group_by(_KEY, maintain_order=True)
        .agg(
            pl.col(
                *(
                    "host",
                    "port",
                    "protocol",
                    "kind",
                    "credentialed",
                    "third_party",
                    "top_site",
                    "cross_site",
                    "at_home",
                ),
                *("server_ip", "started_ms", "ready_ms", "connected_ms", "site", "main_site", "cookies_blocked"),
                *("browser", "first"),
            ).first(),
            pl.col("ended_ms").max().alias("last_ms"),
        )
    )
    told = tables["connections"].select(
        *_KEY,
        *("first_host", "certificate_id", "opened_ms", "established_ms", "closed_ms", "privacy_mode", "misdirected"),
        pl.col("server_ip").alias("own_ip"),
        pl.col("origin_set").alias("origins"),
        (pl.col("source") == "netlog").alias("watched"),
    )
    known = (
        tables["certificates"]
        .filter(pl.col("san_count").is_not_null())
        .select("certificate_id", pl.lit(value=True).alias("names_known"))
        .unique()
    )
    places = tables["addresses"].select(pl.col("ip").alias("peer"), "asn")
    edges = tables["hosts"].select("host", "edge")
    refused = (
        rows.filter("refused", pl.col("connection_id").is_not_null())
        .group_by(_KEY)
        .agg(pl.col("host").unique().alias("refused"))
    )
    several = pl.concat_list(pl.col("refused").fill_null([]), pl.col("misdirected").fill_null([])).list.unique()
    none = pl.col("refused").is_null() & (pl.col("misdirected").list.len().fill_null(0) == 0)
    return (
        carried.lazy()
        .join(refused.lazy(), on=_KEY, how="left")
        .join(told, on=_KEY, how="left")
        .with_columns(
            pl.coalesce("own_ip", "server_ip").alias("peer"),
            pl.coalesce("opened_ms", "started_ms").alias("opened_ms"),
            pl.coalesce("established_ms", "connected_ms").alias("established_ms"),
            pl.when("watched").then(pl.col("closed_ms").is_null()).alias("lasting"),
            pl.when(~none).then(several).alias("misdirected"),
        )
        .join(known, on="certificate_id", how="left")
        .join(places, on="peer", how="left")
        .join(edges, on="host", how="left")
        .join(answers.lazy(), on=["visit_id", "host"], how="left")
        .with_columns(literals())
        .with_columns(
            pl.col("names_known").fill_null(value=False),
            pl.coalesce(pl.max_horizontal("started_ms", "answered_ms"), "ready_ms").alias("ready_ms"),
        )
        .sort("visit_id", "opened_ms", "first", "connection_id")
        .collect()
        .with_row_index("number")
        .select(
            *("number", "visit_id", "connection_id", "host", "port", "protocol", "kind", "credentialed", "third_party"),
            *(
                "top_site",
                "at_home",
                "cross_site",
                "cookies_blocked",
                "browser",
                "privacy_mode",
                "peer",
                "asn",
                "site",
                "edge",
            ),
            *("main_site", "opened_ms", "ready_ms", "established_ms", "last_ms", "closed_ms", "lasting", "origins"),
            *("certificate_id", "names_known", "misdirected", "answers"),
        )
    )
