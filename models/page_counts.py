"""Connections and lookups of each page: as measured, without same-host duplicates, and at the paper's best."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from originset.models.compiled.uses import count_different, first_opened, sums_of_pages
from originset.models.merging import links, merged_counts
from originset.models.parameters import Coverage
from originset.models.parts import by_visits
from originset.models.uses import Flags, Ints, Pages, codes, first_of, rows_at

_COUNTED = pl.col("secure") & pl.col("connection_id").is_not_null()
_ADDRESSED = pl.col("server_ip").is_not_null()


def page_counts(
    tables: Mapping[str, pl.LazyFrame], pages: Pages, uses: pl.DataFrame, origins: pl.DataFrame, crowded: Ints
) -> pl.DataFrame:
    """Of every row of ``visits`` what ``page_counts`` says without evidence, and ``page`` (NULL where it sent nothing).

    ``uses``: those of ``pages`` with keys. ``origins``: rows of :func:`first_connections`. ``crowded``: pages of which
    nothing is known that rests on pairs (:func:`originset.models.crowded.crowded`).

    What a recorder cannot know is NULL: ``measured_tls`` where https requests were made but none has a connection id,
    the ideals where no request has an address, the paired ideals where a counted connection has none, lookups where the
    page shows no DNS phase at all, ``wire_dns`` and ``opened_tls`` outside captures. A page that sent nothing needs 0
    connections.
    """
    per_page = (
        tables["visits"]
        .select("visit_id", (pl.col("source") == "crawl").fill_null(value=False).alias("crawled"))
        .join(_counts(pages, uses, origins).lazy(), on="visit_id", how="left")
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
        .with_columns(
            (pl.col("tls_known") & (pl.col("addressed_tls") == pl.col("tls"))).alias("paired_known"),
            (~pl.col("page").is_in(crowded.tolist())).fill_null(value=True).alias("pairs_known"),
        )
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
                "pairs_known",
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
    counts: pl.DataFrame, uses: pl.DataFrame, origins: pl.DataFrame, levels: pl.DataFrame, coverage: Coverage
) -> pl.DataFrame:
    """All that ``page_counts`` says but what browsers would need.

    ``counts``: rows of :func:`page_counts`; ``uses``: those of all pages, with keys; ``origins``: rows of
    :func:`first_connections`; all with ``visit``, by which they are ordered, in place of ``page``. ``levels``: of pairs
    of hosts, as :func:`originset.models.evidence.pair_levels` gives them.
    """
    of_host = pl.col("host").to_physical().cast(pl.Int64).alias("unit")
    # Evidence about a host that a connection only refused says nothing of that connection.
    told = pl.when(~pl.col("refused")).then("host").alias("host")
    unit = pl.col("first").cast(pl.Int64).alias("unit")
    evidence = links(levels)

    def merged(rows: pl.DataFrame, known: str, *columns: pl.Expr) -> pl.DataFrame:
        return pl.concat(
            merged_counts(some.filter(pl.col(known).is_not_null()).select("visit", "key", *columns), evidence, coverage)
            for some in by_visits(rows)
        )

    ideal, paired = merged(uses, "server_ip", pl.col("host"), of_host), merged(origins, "key", told, unit)
    known = {
        "addresses_known": ("ideal_edge", "ideal_deployable"),
        "paired_known": ("paired_ideal_edge", "paired_ideal_deployable"),
    }
    return (
        counts.join(ideal.select("visit", ideal_edge="edge", ideal_deployable="deployable"), "visit", "left")
        .join(paired.select("visit", paired_ideal_edge="edge", paired_ideal_deployable="deployable"), "visit", "left")
        .with_columns(
            pl.when(pl.col(condition) & pl.col("pairs_known")).then(pl.col(name).fill_null(0)).alias(name)
            for condition, names in known.items()
            for name in names
        )
        .drop("visit", "page", "addresses_known", "paired_known", "pairs_known")
    )


def first_connections(pages: Pages, uses: pl.DataFrame, connections: pl.DataFrame) -> pl.DataFrame:
    """One row per page and origin of its https and wss requests with a known connection, by page.

    ``uses``: those of ``pages`` with keys. ``connections``: of :func:`originset.models.uses.known_connections`.
    Columns: page, host, ``first`` (a number for the connection that was opened first of those that served the origin,
    that is, did not only answer it with 421), ``refused`` (none served it), ``server_ip`` and ``key`` (of that
    connection's first request with an address). All other connections are duplicates: every origin that they served
    already had one.
    """
    counted = np.flatnonzero(uses.select(_COUNTED).to_series().to_numpy())
    some = uses[counted]
    connection = pages.connection[some["first"].to_numpy()]
    refused = (some["refused"] == some["requests"]).to_numpy()
    firsts = first_opened(
        *(pages.origin[counted], connection, refused.view(np.uint8), connections["opened_ms"].to_numpy()),
        *(some["started_ms"].to_numpy(), some["request_id"].to_numpy()),
    )
    addressed = np.flatnonzero(some["server_ip"].is_not_null().to_numpy())
    located = first_of(connection[addressed], connections.height)
    place = np.append(addressed, -1)[located][connection[firsts]]
    by_address = rows_at(some.select("server_ip", "key"), place)
    numbers = pl.Series("first", connection[firsts]), pl.Series("refused", refused[firsts])
    return rows_at(some.select("page", "host"), firsts).with_columns(*numbers, *by_address.iter_columns())


def _counts(pages: Pages, uses: pl.DataFrame, origins: pl.DataFrame) -> pl.DataFrame:
    """Of each page what its requests, their uses and their origins say, 0 where it has none of a kind."""
    size = pages.visits.len()
    page, requests = uses["page"].to_numpy(), uses["requests"].to_numpy()
    addressed, secure = uses["server_ip"].is_not_null().to_numpy(), uses["secure"].to_numpy()
    counted = uses.select(_COUNTED).to_series().to_numpy()
    connection = pages.connection[uses["first"].to_numpy()]
    page_of_head = pages.requests["page"].to_numpy()[pages.heads]

    def sums(of: Flags) -> Ints:
        return sums_of_pages(page, requests, of.view(np.uint8), size)

    def connections(of: Flags) -> Ints:
        carries = np.zeros(pages.heads.size, np.bool_)
        carries[connection[of]] = True
        return np.bincount(page_of_head[carries], minlength=size)

    def values(name: str, of: Flags) -> Ints:
        return count_different(page, codes(uses[name]), of.view(np.uint8), size)

    of_origins, every = origins["page"].to_numpy(), np.ones(origins.height, np.uint8)
    # A phase that took no time was no lookup: recorders that do not know "none" write 0 for it.
    looked_up = (pages.requests["dns_ms"] > 0).fill_null(value=False).to_numpy()
    return pages.numbers.with_columns(
        pl.Series(name, counts)
        for name, counts in {
            "requests": sums(np.ones(page.size, np.bool_)),
            "left_out": sums(~addressed),
            "secure_requests": sums(secure),
            "dns_phases": np.bincount(pages.requests["page"].to_numpy()[looked_up], minlength=size),
            "hosts": values("host", addressed),
            "tls": connections(counted),
            "addressed_tls": connections(counted & addressed),
            "ip": np.bincount(page[uses["new_address"].to_numpy()], minlength=size),
            "origin": np.bincount(page[uses["new_key"].to_numpy()], minlength=size),
            "without_asn": values("server_ip", addressed & uses["asn"].is_null().to_numpy()),
            "without_key": values("server_ip", uses["keyless"].to_numpy()),
            "first": count_different(of_origins, origins["first"].to_numpy(), every, size),
            "paired_ip": count_different(of_origins, codes(origins["server_ip"]), every, size),
            "paired_origin": count_different(of_origins, codes(origins["key"]), every, size),
        }.items()
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
