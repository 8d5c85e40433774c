"""What is known of the connection that each group of requests would open for itself, and of its name's answers."""

from __future__ import annotations

import polars as pl

from originset.models.browsers.batch import Part, matched

_ADDRESSES = ("A", "AAAA")
_NAME = ["visit_id", "host"]
_ORIGIN = [*_NAME, "port"]
_OF_OWN = ("server_ip", "established_ms", "tls_version", "ech", "certificate_id", "origin_set", "origin_ms")


def with_servers(part: Part, groups: pl.DataFrame) -> pl.DataFrame:
    """``groups`` (:func:`originset.models.browsers.request_groups.asked`) with what a connection of their own would be.

    Adds literal (the host is an address), peer (the address that it leads to), answers (all addresses of the name;
    NULL: unknown), sent_to (one of them, that its requests were sent to; NULL: not known), certificate_id, names_known,
    origins (of ORIGIN frames; NULL: no frame, or none that a recorder could see), origins_ms (when they came),
    tls_version, ech, connected_ms and ready_ms (corrected by what the connections and lookups say), misdirected
    (servers said so of the host), h2_denied (by its HTTPS records), opened (the recording has a connection opened for
    its first request), untrusted (every handshake with its own server failed after the server's certificate),
    over_h3 (the recording has a connection over HTTP/3 opened for it).

    A connection that was opened for another host tells nothing of these; the address of a group without any connection
    id is taken for its own.
    """
    carried = matched(groups, part.connections, ["visit_id", "connection_id"], "first_host", "established_ms")
    opened_for_host = carried["first_host"] == groups["host"]
    told = groups.select("host", "server_ip", "started_ms", "ready_ms", "connected_ms", "protocol", "browser").hstack(
        [
            *matched(groups, _own_connections(part.connections), _ORIGIN),
            *matched(groups, answers_of(part), _NAME),
            *matched(groups, _misdirected_hosts(part.connections), _NAME),
            *matched(groups, _protocols(part.queries), _NAME),
            *matched(groups, _handshakes(part.connections), _ORIGIN),
            (carried["first_host"].is_null() | opened_for_host).alias("own"),
            carried["established_ms"].set(~opened_for_host.fill_null(value=False), None).alias("carried_ms"),
            part.facts.is_ip_literal(groups["host"]).alias("literal"),
            _opened_connection(groups),
        ]
    )
    told = told.with_columns(literals(part)).with_columns(
        pl.when("own")
        .then(pl.coalesce("server_ip", "own_ip"))
        .otherwise(pl.coalesce("own_ip", _only_item("answers")))
        .alias("peer"),
        name_ready().alias("ready_ms"),
        # Those of each mode have a connection of their own. What was carried by another's found it established.
        pl.when("own")
        .then(pl.coalesce("carried_ms", "own_ms", "connected_ms"))
        .otherwise(pl.coalesce("own_ms", "ready_ms"))
        .alias("connected_ms"),
        part.facts.names_known(told["certificate_id"]).alias("names_known"),
        pl.col("misdirected", "h2_denied", "untrusted", "over_h3").fill_null(value=False),
    )
    return groups.drop("ready_ms", "connected_ms").hstack(told.select(
        *("literal", "peer", "answers", pl.coalesce("peer", _shared_address()).alias("sent_to")),
        *("certificate_id", "names_known", "origins", "origins_ms", "tls_version", "ech"),
        *("ready_ms", "connected_ms", "misdirected", "h2_denied", "opened", "untrusted", "over_h3"),
    ))  # fmt: skip


def _opened_connection(groups: pl.DataFrame) -> pl.Series:
    # What was preconnected has no connect phase: nobody knows what stood when it was.
    alone = pl.struct("visit_id", "connection_id").is_first_distinct() & pl.col("connection_id").is_not_null()
    waited = (pl.col("connected_ms") > pl.col("ready_ms")).fill_null(value=False)
    return groups.select((alone & waited).alias("opened"))["opened"]


def _shared_address() -> pl.Expr:
    """The address of another host's connection that carried the request, where only addresses can have led there."""
    # Chromium takes ORIGIN frames over HTTP/3, Firefox over HTTP/2.
    return pl.when(pl.col("protocol").ne_missing("h3"), pl.col("browser").ne_missing("firefox")).then("server_ip")


def _only_item(name: str) -> pl.Expr:
    return pl.when(pl.col(name).list.len() == 1).then(pl.col(name).list.first())


def _own_connections(connections: pl.DataFrame) -> pl.DataFrame:
    """The earliest connection opened for each host of each page; its certificate is the first known of any."""
    earliest = pl.col("established_ms").arg_min().fill_null(0)
    return (
        connections.select("visit_id", pl.col("first_host").alias("host"), "port", "tls", *_OF_OWN)
        .filter(pl.col("host").is_not_null(), pl.col("tls").ne_missing(other=False))
        .with_columns(pl.col("port").fill_null(443))
        .group_by(_ORIGIN)
        .agg(
            pl.col("server_ip").get(earliest).alias("own_ip"),
            pl.col("established_ms").get(earliest).alias("own_ms"),
            pl.col("tls_version", "ech").get(earliest),
            pl.col("certificate_id").drop_nulls().first(),
            pl.col("origin_set").drop_nulls().first().alias("origins"),
            pl.col("origin_ms").drop_nulls().first().alias("origins_ms"),
        )
        .with_columns(normal_origins("origins"))
    )


def normal_origins(name: str) -> pl.Expr:
    """Entries of ORIGIN frames as RFC 6454 section 6.2 writes them: browsers take them with case, port and path."""
    entry = pl.element().str.to_lowercase().str.replace(r"^(https://[^/]*?)(?::443)?(?:/.*)?$", "${1}")
    # Where no frame is known at all, polars may have lost the type.
    return pl.col(name).cast(pl.List(pl.String)).list.eval(entry)


def _misdirected_hosts(connections: pl.DataFrame) -> pl.DataFrame:
    """``misdirected``: some server of the page said so of the host."""
    return (
        connections.filter(pl.col("misdirected").is_not_null())
        .select("visit_id", pl.col("misdirected").alias("host"))
        .explode("host")
        .drop_nulls("host")
        .unique()
        .with_columns(pl.lit(value=True).alias("misdirected"))
    )


def _handshakes(connections: pl.DataFrame) -> pl.DataFrame:
    """``untrusted``: every handshake with the server failed after its certificate; ``over_h3``: one was of HTTP/3."""
    failed = ~pl.col("tls") & pl.col("certificate_id").is_not_null()
    return (
        connections.filter(pl.col("first_host").is_not_null())
        .group_by("visit_id", pl.col("first_host").alias("host"), pl.col("port").fill_null(443))
        .agg(
            failed.fill_null(value=False).all().alias("untrusted"),
            (pl.col("protocol") == "h3").fill_null(value=False).any().alias("over_h3"),
        )
    )


def literals(part: Part) -> pl.Expr:
    """``answers``: those of a host that is an address are the address."""
    own = pl.concat_list(pl.col("host").cast(pl.String).cast(part.facts.addresses, strict=False))
    return pl.when("literal").then(own).otherwise("answers").alias("answers")


def name_ready() -> pl.Expr:
    """When the name's addresses were there: by the lookup, or else, where none was recorded, by the request's phases.

    Columns: ``started_ms``, ``answered_ms`` (of :func:`answers_of`), ``ready_ms`` (of the request's own phases).
    """
    # A lookup of earlier answers at once. max_horizontal passes over NULL: alone it would take the start for an answer.
    by_lookup = pl.max_horizontal("started_ms", "answered_ms")
    return pl.when(pl.col("answered_ms").is_not_null()).then(by_lookup).otherwise("ready_ms")


def answers_of(part: Part) -> pl.DataFrame:
    """All addresses that each host of each page had in its answers, and when they were there."""
    return (
        part.queries.lazy()
        .filter(pl.col("rtype").is_in(_ADDRESSES), pl.col("answers").list.len() > 0)
        .group_by(_NAME)
        .agg(
            pl.col("answers").explode(),
            (pl.col("asked_ms") + pl.col("took_ms")).min().alias("answered_ms"),
        )
        .with_columns(pl.col("answers").list.unique().cast(pl.List(part.facts.addresses)))
        .collect()
    )


def _protocols(queries: pl.DataFrame) -> pl.DataFrame:
    """``h2_denied``: all HTTPS records (RFC 9460) of the name that list protocols leave out h2."""
    alpn = pl.element().str.extract(r"alpn=(\S+)").drop_nulls()
    h2 = pl.col("answers").list.eval(pl.element().str.split(",").list.contains("h2")).list.any()
    return (
        queries.lazy()
        .filter(pl.col("rtype") == "HTTPS", pl.col("answers").list.len() > 0)
        .group_by(_NAME)
        .agg(pl.col("answers").explode())
        .with_columns(pl.col("answers").list.eval(alpn))
        .filter(pl.col("answers").list.len() > 0)
        .select(*_NAME, (~h2).alias("h2_denied"))
        .collect()
    )
