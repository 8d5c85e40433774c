"""Connections and lookups of each page: as measured, without same-host duplicates, and at the paper's best."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.schema import PAGE_COUNTS
from originset.models.merging import merged_counts
from originset.models.network import network_requests
from originset.models.parameters import Parameters

_ORIGIN = ("scheme", "host", "port")


def page_counts(tables: Mapping[str, pl.LazyFrame], levels: pl.LazyFrame, parameters: Parameters) -> pl.DataFrame:
    """Rows of ``page_counts``, one for every row of ``visits``, ordered by ``visit_id``.

    What a recorder cannot know is NULL: ``measured_tls`` where https requests were made but none has a connection id,
    the ideals where no request has an address, the paired ideals where a counted connection has none, lookups where
    the page shows no DNS phase at all, ``wire_dns`` and ``opened_tls`` outside captures. A page that sent nothing needs
    0 connections. ``levels``: of pairs of hosts, as
    :func:`originset.models.evidence.pair_levels` gives them.
    """
    network = network_requests(tables, parameters.colocation)
    addressed = network.filter(pl.col("server_ip").is_not_null(), pl.col("host").is_not_null())
    counted = addressed.filter("secure", pl.col("connection_id").is_not_null())
    per_page = (
        tables["visits"]
        .select("visit_id", (pl.col("source") == "crawl").fill_null(value=False).alias("crawled"))
        .join(_request_counts(network), on="visit_id", how="left")
        .join(_without_duplicates(network, tables["connections"]), on="visit_id", how="left")
        .join(_lookups(tables["dns_queries"]), on="visit_id", how="left")
        .join(_handshakes(tables["connections"]), on="visit_id", how="left")
        .join(merged_counts(addressed, levels), on="visit_id", how="left")
        .join(
            merged_counts(counted, levels).rename({"edge": "paired_edge", "deployable": "paired_deployable"}),
            on="visit_id",
            how="left",
        )
    )
    return (
        per_page.with_columns(
            pl.col(name).fill_null(0)
            for name in (
                *("requests", "hosts", "without_asn", "left_out", "dns_phases", "secure_requests"),
                *("tls", "addressed_tls", "ip", "origin", "paired_ip", "paired_origin"),
                *("edge", "deployable", "paired_edge", "paired_deployable"),
            )
        )
        .with_columns(
            # Only a NetLog knows of lookups and of connections that carried nothing; its rows tell that there was one.
            (pl.col("crawled") & (pl.col("lookups").is_not_null() | pl.col("handshakes").is_not_null())).alias(
                "netlog"
            ),
            ((pl.col("secure_requests") == 0) | (pl.col("tls") > 0)).alias("tls_known"),
            (pl.col("requests") > pl.col("left_out")).or_(pl.col("requests") == 0).alias("addresses_known"),
        )
        .with_columns((pl.col("tls_known") & (pl.col("addressed_tls") == pl.col("tls"))).alias("paired_known"))
        .with_columns(
            _known(pl.col("tls_known"), pl.col("tls")).alias("measured_tls"),
            _known(pl.col("tls_known"), pl.col("origins_first").fill_null(0)).alias("without_duplicates"),
            _known(pl.col("addresses_known"), pl.col("ip")).alias("ideal_ip"),
            _known(pl.col("addresses_known"), pl.col("origin")).alias("ideal_origin"),
            _known(pl.col("addresses_known"), pl.col("edge")).alias("ideal_edge"),
            _known(pl.col("addresses_known"), pl.col("deployable")).alias("ideal_deployable"),
            _known(pl.col("paired_known"), pl.col("paired_ip")).alias("paired_ideal_ip"),
            _known(pl.col("paired_known"), pl.col("paired_origin")).alias("paired_ideal_origin"),
            # What one connection of the page carried, one can carry, whatever else is known of the hosts.
            _known(
                pl.col("paired_known"), pl.min_horizontal("paired_edge", pl.col("origins_first").fill_null(0))
            ).alias("paired_ideal_edge"),
            _known(
                pl.col("paired_known"), pl.min_horizontal("paired_deployable", pl.col("origins_first").fill_null(0))
            ).alias("paired_ideal_deployable"),
            _known(pl.col("netlog"), pl.col("handshakes").fill_null(0)).alias("opened_tls"),
            _known(pl.col("netlog"), pl.col("attempts").fill_null(0)).alias("wire_dns"),
            pl.when("netlog")
            .then(pl.col("lookups").fill_null(0))
            .when((pl.col("dns_phases") > 0) | (pl.col("requests") == 0))
            .then("dns_phases")
            .alias("measured_dns"),
            pl.when("netlog")
            .then(pl.lit("resolver_jobs"))
            .when(pl.col("dns_phases") > 0)
            .then(pl.lit("dns_phases"))
            .alias("dns_basis"),
        )
        .select(pl.col(name).cast(kind) for name, kind in PAGE_COUNTS.polars_schema.items())
        .sort("visit_id")
        .collect(engine="streaming")
    )


def _request_counts(network: pl.LazyFrame) -> pl.LazyFrame:
    addressed = pl.col("server_ip").is_not_null()
    counted = pl.col("secure") & pl.col("connection_id").is_not_null()
    return network.group_by("visit_id").agg(
        pl.len().alias("requests"),
        (~addressed).sum().alias("left_out"),
        pl.col("host").filter(addressed).n_unique().alias("hosts"),
        # A phase that took no time was no lookup: recorders that do not know "none" write 0 for it.
        (pl.col("dns_ms") > 0).sum().alias("dns_phases"),
        pl.col("secure").sum().alias("secure_requests"),
        pl.col("connection_id").filter(counted).n_unique().alias("tls"),
        pl.col("connection_id").filter(counted & addressed).n_unique().alias("addressed_tls"),
        pl.col("server_ip").filter(addressed).n_unique().alias("ip"),
        pl.col("key").filter(addressed).n_unique().alias("origin"),
        pl.col("server_ip").filter(counted & addressed).n_unique().alias("paired_ip"),
        pl.col("key").filter(counted & addressed).n_unique().alias("paired_origin"),
        pl.col("server_ip").filter(addressed & pl.col("asn").is_null()).n_unique().alias("without_asn"),
    )


def _without_duplicates(network: pl.LazyFrame, connections: pl.LazyFrame) -> pl.LazyFrame:
    """Connections that were the first, in order of opening, for at least one of the origins they carried.

    All others are duplicates: every origin they carried already had a connection.
    """
    used = (
        network.filter("secure", pl.col("connection_id").is_not_null())
        .group_by("visit_id", "connection_id", *_ORIGIN)
        .agg(pl.col("started_ms").min(), pl.col("request_id").min())
        .join(
            connections.select("visit_id", "connection_id", "opened_ms"),
            on=["visit_id", "connection_id"],
            how="left",
        )
    )
    opened = used.group_by("visit_id", "connection_id").agg(
        pl.coalesce(pl.col("opened_ms").min(), pl.col("started_ms").min()).alias("opened"),
        pl.col("request_id").min().alias("first_request"),
    )
    # One request has one connection, so its number decides between connections opened at one time.
    order = pl.struct("opened", "first_request", "connection_id")
    return (
        used.select("visit_id", "connection_id", *_ORIGIN)
        .join(opened, on=["visit_id", "connection_id"])
        .group_by("visit_id", *_ORIGIN)
        .agg(pl.col("connection_id").sort_by(order).first())
        .group_by("visit_id")
        .agg(pl.col("connection_id").n_unique().alias("origins_first"))
    )


def _lookups(dns_queries: pl.LazyFrame) -> pl.LazyFrame:
    return (
        dns_queries.filter(pl.col("source") == "browser")
        .group_by("visit_id")
        .agg(
            pl.col("lookup_id").n_unique().alias("lookups"),
            pl.col("attempts").cast(pl.Int64).sum().alias("attempts"),
        )
    )


def _handshakes(connections: pl.LazyFrame) -> pl.LazyFrame:
    return (
        connections.filter(pl.col("source") == "netlog")
        .group_by("visit_id")
        .agg(pl.col("tls").fill_null(value=False).sum().alias("handshakes"))
    )


def _known(known: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.when(known).then(value)
