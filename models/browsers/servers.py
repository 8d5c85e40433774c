"""What is known of the connection that each group of requests would open for itself, and of its name's answers."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.network import is_address

_ADDRESSES = ("A", "AAAA")


def with_servers(tables: Mapping[str, pl.LazyFrame], groups: pl.DataFrame) -> pl.DataFrame:
    """``groups`` (:func:`originset.models.browsers.asked.asked`) with what a connection of their own would be.

    Adds peer (the address that it leads to), answers (all addresses of the name; NULL: unknown), certificate_id,
    names_known, origins (of ORIGIN frames; NULL: no frame, or none that a recorder could see), origins_ms (when they
    came), tls_version, ech, connected_ms and ready_ms (corrected by what the connections and lookups say), misdirected
    (servers said so of the host), h2_denied (by its HTTPS records).

    A connection that was opened for another host tells nothing of these; the address of a group without any connection
    id is taken for its own.
    """
    own = _own_connections(tables["connections"], groups)
    answers = answers_of(tables["dns_queries"]).join(
        groups.select("visit_id", "host").unique(), on=["visit_id", "host"], how="semi"
    )
    known = (
        tables["certificates"]
        .filter(pl.col("san_count").is_not_null())
        .select("certificate_id", pl.lit(value=True).alias("names_known"))
        .unique()
        .join(own.lazy().select("certificate_id").drop_nulls().unique(), on="certificate_id", how="semi")
        .collect()
    )
    keys = ["visit_id", "host", "port"]
    carried = tables["connections"].select("visit_id", "connection_id", "first_host").collect()
    return (
        groups.join(carried, on=["visit_id", "connection_id"], how="left", maintain_order="left")
        .with_columns((pl.col("first_host").is_null() | (pl.col("first_host") == pl.col("host"))).alias("own"))
        .join(own, on=keys, how="left", maintain_order="left")
        .join(answers, on=["visit_id", "host"], how="left", maintain_order="left")
        .with_columns(literals())
        .join(_protocols(tables["dns_queries"]), on=["visit_id", "host"], how="left", maintain_order="left")
        .join(known, on="certificate_id", how="left", maintain_order="left")
        .with_columns(
            pl.when("own")
            .then(pl.coalesce("server_ip", "own_ip"))
            .otherwise(pl.coalesce("own_ip", _only("answers")))
            .alias("peer"),
            pl.coalesce(pl.max_horizontal("started_ms", "answered_ms"), "ready_ms").alias("ready_ms"),
            # What was carried by another's connection found it established.
            pl.when("own")
            .then(pl.coalesce("own_ms", "connected_ms"))
            .otherwise(pl.coalesce("own_ms", "ready_ms"))
            .alias("connected_ms"),
            pl.col("names_known").fill_null(value=False),
            pl.col("misdirected", "h2_denied").fill_null(value=False),
        )
        .select(pl.exclude("own_ip", "own_ms", "answered_ms", "first_host"))
    )


def _only(name: str) -> pl.Expr:
    return pl.when(pl.col(name).list.len() == 1).then(pl.col(name).list.first())


def _own_connections(connections: pl.LazyFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """The earliest connection opened for each host of each page; its certificate is the first known of any."""
    wanted = groups.lazy().select("visit_id", "host", "port").unique()
    refused = (
        connections.select("visit_id", pl.col("misdirected").alias("host"))
        .explode("host")
        .drop_nulls("host")
        .unique()
        .with_columns(pl.lit(value=True).alias("misdirected"))
    )
    time = pl.coalesce("established_ms", pl.lit(float("inf")))
    first = time.arg_min()
    return (
        connections.filter(pl.col("first_host").is_not_null(), pl.col("tls").ne_missing(other=False))
        .with_columns(pl.col("port").fill_null(443))
        .group_by("visit_id", pl.col("first_host").alias("host"), "port")
        .agg(
            pl.col("server_ip").get(first).alias("own_ip"),
            pl.col("established_ms").get(first).alias("own_ms"),
            pl.col("certificate_id").drop_nulls().first(),
            pl.col("origin_set").drop_nulls().first().list.eval(_normal()).alias("origins"),
            pl.col("origin_ms").drop_nulls().first().alias("origins_ms"),
            pl.col("tls_version").get(first),
            pl.col("ech").get(first),
        )
        .join(wanted, on=["visit_id", "host", "port"], how="right")
        .join(refused, on=["visit_id", "host"], how="left")
        .collect()
    )


def _normal() -> pl.Expr:
    """An entry of an ORIGIN frame as RFC 6454 section 6.2 writes it: browsers take it with case, port and path."""
    return pl.element().str.to_lowercase().str.replace(r"^(https://[^/]*?)(?::443)?(?:/.*)?$", "${1}")


def literals() -> pl.Expr:
    """``answers``: those of a host that is an address are the address."""
    return pl.when(is_address(pl.col("host"))).then(pl.concat_list("host")).otherwise("answers").alias("answers")


def answers_of(queries: pl.LazyFrame) -> pl.DataFrame:
    """All addresses that each host of each page had in its answers, and when they were there."""
    return (
        queries.filter(pl.col("rtype").is_in(_ADDRESSES), pl.col("answers").list.len() > 0)
        .group_by("visit_id", "host")
        .agg(
            pl.col("answers").explode(),
            (pl.col("asked_ms") + pl.col("took_ms")).min().alias("answered_ms"),
        )
        .with_columns(pl.col("answers").list.unique())
        .collect()
    )


def _protocols(queries: pl.LazyFrame) -> pl.DataFrame:
    """``h2_denied``: all HTTPS records (RFC 9460) of the name that list protocols leave out h2."""
    alpn = pl.element().str.extract(r"alpn=(\S+)").drop_nulls()
    return (
        queries.filter(pl.col("rtype") == "HTTPS", pl.col("answers").list.len() > 0)
        .group_by("visit_id", "host")
        .agg(pl.col("answers").explode())
        .with_columns(pl.col("answers").list.eval(alpn))
        .filter(pl.col("answers").list.len() > 0)
        .select(
            "visit_id",
            "host",
            (~pl.col("answers").list.eval(pl.element().str.split(",").list.contains("h2")).list.any()).alias(
                "h2_denied"
            ),
        )
        .collect()
    )
