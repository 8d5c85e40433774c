"""Connections and lookups of each page: as measured, without same-host duplicates, and at the paper's best."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.merging import merged_counts
from originset.models.parameters import Coverage
from originset.models.uses import Pages

_ORIGIN = ("scheme", "host", "port")
_COUNTED = pl.col("secure") & pl.col("connection_id").is_not_null()
_ADDRESSED = pl.col("server_ip").is_not_null()


def page_counts(
    tables: Mapping[str, pl.LazyFrame], pages: Pages, uses: pl.DataFrame, origins: pl.DataFrame
) -> pl.DataFrame:
    """Of every row of ``visits`` what ``page_counts`` says without evidence, and ``page`` (NULL where it sent nothing).

    ``uses``: those of ``pages`` with keys. ``origins``: rows of :func:`first_connections`.

    What a recorder cannot know is NULL: ``measured_tls`` where https requests were made but none has a connection id,
    the ideals where no request has an address, the paired ideals where a counted connection has none, lookups where the
    page shows no DNS phase at all, ``wire_dns`` and ``opened_tls`` outside captures. A page that sent nothing needs 0
    connections.
    """
    counted = (
        pages.numbers.lazy()
        .join(_use_counts(uses.lazy()), on="page", how="left")
        .join(_origin_counts(origins.lazy()), on="page", how="left")
        .join(_lookups_seen(pages.requests.lazy()), on="page", how="left")
    )
    per_page = (
        tables["visits"]
        .select("visit_id", (pl.col("source") == "crawl").fill_null(value=False).alias("crawled"))
        .join(counted, on="visit_id", how="left")
        .join(_lookups(tables["dns_queries"]), on="visit_id", how="left")
        .join(_handshakes(tables["connections"]), on="visit_id", how="left")
    )
    return (
        per_page.with_columns(
            pl.col(name).fill_null(0)
            for name in (
                *("requests", "hosts", "without_asn", "without_key", "left_out", "dns_phases", "secure_requests"),
                *("tls", "addressed_tls", "ip", "origin", "first", "paired_ip", "paired_origin"),
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
        .select(
            *(
                "visit_id",
                "page",
                "hosts",
                "requests",
                "without_asn",
                "without_key",
                "left_out",
                "addresses_known",
                "paired_known",
            ),
            pl.when("tls_known").then("tls").alias("measured_tls"),
            pl.when("tls_known").then("first").alias("without_duplicates"),
            pl.when("addresses_known").then("ip").alias("ideal_ip"),
            pl.when("addresses_known").then("origin").alias("ideal_origin"),
            pl.when("paired_known").then("paired_ip").alias("paired_ideal_ip"),
            pl.when("paired_known").then("paired_origin").alias("paired_ideal_origin"),
            pl.when("netlog").then(pl.col("handshakes").fill_null(0)).alias("opened_tls"),
            pl.when("netlog").then(pl.col("attempts").fill_null(0)).alias("wire_dns"),
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
        .collect()
    )


def with_merges(
    counts: pl.DataFrame, located: pl.DataFrame, origins: pl.DataFrame, levels: pl.DataFrame, coverage: Coverage
) -> pl.DataFrame:
    """All that ``page_counts`` says but what browsers would need.

    ``counts``: rows of :func:`page_counts`; ``located``: uses with an address; ``origins``: rows of
    :func:`first_connections`; all with ``visit`` in place of ``page``. ``levels``: of pairs of hosts, as
    :func:`originset.models.evidence.pair_levels` gives them.
    """
    of_host = pl.col("host").to_physical().cast(pl.Int64).alias("unit")
    ideal = merged_counts(located.select("visit", "key", "host", of_host), levels, coverage)
    addressed = origins.filter(pl.col("key").is_not_null())
    # Evidence about a host that a connection only refused says nothing of that connection.
    told = pl.when(~pl.col("refused")).then("host").alias("host")
    paired = merged_counts(addressed.select("visit", "key", told, pl.col("first").alias("unit")), levels, coverage)
    known = {
        "addresses_known": ("ideal_edge", "ideal_deployable"),
        "paired_known": ("paired_ideal_edge", "paired_ideal_deployable"),
    }
    return (
        counts.join(ideal.select("visit", ideal_edge="edge", ideal_deployable="deployable"), "visit", "left")
        .join(paired.select("visit", paired_ideal_edge="edge", paired_ideal_deployable="deployable"), "visit", "left")
        .with_columns(
            pl.when(condition).then(pl.col(name).fill_null(0)).alias(name)
            for condition, names in known.items()
            for name in names
        )
        .drop("visit", "page", "addresses_known", "paired_known")
    )


def first_connections(tables: Mapping[str, pl.LazyFrame], pages: Pages, uses: pl.DataFrame) -> pl.DataFrame:
    """One row per page and origin of its https and wss requests with a known connection.

    Columns: page, host, ``first`` (a number for the connection that was opened first of those that served the origin,
    that is, did not only answer it with 421), ``refused`` (none served it), ``server_ip`` and ``key`` (of that
    connection's first request with an address). All other connections are duplicates: every origin that they served
    already had one.
    """
    opened = tables["connections"].select("visit_id", "connection_id", "opened_ms")
    opened = opened.join(pages.numbers.lazy(), on="visit_id")
    counted = uses.lazy().filter(_COUNTED)
    located = counted.filter(_ADDRESSED).unique(["page", "connection_id"], keep="first", maintain_order=True)
    located = located.select("page", "connection_id", "server_ip", "key")
    connections = (
        counted.join(opened, on=["page", "connection_id"], how="left", maintain_order="left")
        .group_by("page", "connection_id")
        .agg(
            pl.coalesce(pl.col("opened_ms").min(), pl.col("started_ms").min()).alias("opened"),
            pl.col("request_id").min(),
        )
        .join(located, on=["page", "connection_id"], how="left")
        # One request has one connection, so its number decides between connections opened at one time.
        .sort("page", "opened", "request_id", "connection_id")
        .with_columns(pl.int_range(pl.len()).alias("first"))
        .collect()
        .lazy()  # used twice
    )
    refused = (pl.col("refused") == pl.col("requests")).cast(pl.Int64) * 2**40
    return (
        counted.select("page", "connection_id", *_ORIGIN, refused.alias("refused"))
        .join(connections.select("page", "connection_id", "first"), on=["page", "connection_id"])
        .group_by("page", *_ORIGIN)
        .agg((pl.col("first") + pl.col("refused")).min())
        .with_columns(pl.col("first") % 2**40, (pl.col("first") >= 2**40).alias("refused"))
        .join(connections.select("first", "server_ip", "key"), on="first")
        .select("page", "host", "first", "refused", "server_ip", "key")
        .collect()
    )


def _use_counts(uses: pl.LazyFrame) -> pl.LazyFrame:
    return uses.group_by("page").agg(
        pl.col("requests").sum(),
        pl.col("requests").filter(~_ADDRESSED).sum().alias("left_out"),
        pl.col("host").filter(_ADDRESSED).n_unique().alias("hosts"),
        pl.col("requests").filter("secure").sum().alias("secure_requests"),
        pl.col("connection_id").filter(_COUNTED).n_unique().alias("tls"),
        pl.col("connection_id").filter(_COUNTED & _ADDRESSED).n_unique().alias("addressed_tls"),
        pl.col("server_ip").filter(_ADDRESSED).n_unique().alias("ip"),
        pl.col("key").filter(_ADDRESSED).n_unique().alias("origin"),
        pl.col("server_ip").filter(_ADDRESSED & pl.col("asn").is_null()).n_unique().alias("without_asn"),
        pl.col("server_ip").filter("keyless").n_unique().alias("without_key"),
    )


def _origin_counts(origins: pl.LazyFrame) -> pl.LazyFrame:
    return origins.group_by("page").agg(
        pl.col("first").n_unique(),
        pl.col("server_ip").n_unique().alias("paired_ip"),
        pl.col("key").n_unique().alias("paired_origin"),
    )


def _lookups_seen(requests: pl.LazyFrame) -> pl.LazyFrame:
    # A phase that took no time was no lookup: recorders that do not know "none" write 0 for it.
    return requests.group_by("page").agg((pl.col("dns_ms") > 0).sum().alias("dns_phases"))


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
