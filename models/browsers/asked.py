"""What each page asked for, in the order it did: requests alike in all that decides about sharing, as one group."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.network import network_requests

_DOCUMENT = pl.col("resource_type").is_in(["document", "iframe", "subdocument", "sub_frame"]).fill_null(value=False)
_UNTYPED = pl.col("resource_type").is_null()
MISDIRECTED = 421
_REDIRECT = pl.col("status").is_between(300, 399).fill_null(value=False)

NAVIGATION, SUBDOCUMENT, FONT, PREFLIGHT, FETCH, SOCKET, OTHER = range(7)

_ORIGIN = ["visit_id", "host", "port", "protocol"]
_ALIKE = [*_ORIGIN, "credentialed", "third_party", "top_site", "cross_site", "at_home"]


def asked(tables: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """One row per group of https and wss requests that one connection can carry, ordered by visit and first request.

    Columns: ``group`` (the row's number), visit_id, host, port, protocol (h1, h2, h3; NULL: unknown), credentialed,
    third_party, top_site, at_home (the host is of that site), cross_site (the frame is not), cookies_blocked, browser, main_host
    (of the page's document), sockets (WebSockets among them), requests, first (its request_id), started_ms, ready_ms (its name is resolved), connected_ms
    (its connect phase ends), connection_id and server_ip (of its first request). NULL: the recorder does not tell and
    nothing decides it.
    """
    first = pl.col("first").arg_min()
    return (
        modes_of(tables)
        .group_by(_ALIKE)
        .agg(
            pl.col("cookies_blocked", "browser", "main_host").first(),
            pl.col("requests").filter(pl.col("kind") == SOCKET).sum().alias("sockets"),
            pl.col("requests").sum(),
            pl.col("first").min(),
            *(
                pl.col(name).get(first)
                for name in ("started_ms", "ready_ms", "connected_ms", "connection_id", "server_ip")
            ),
        )
        .sort("visit_id", "first")
        .with_row_index("group")
    )


def modes_of(tables: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """https and wss requests, those alike in host, connection, frame and what they are as one row.

    Beside the columns of :func:`asked`: kind, site and main_site (of the host and of the page's document), ended_ms
    (of the last), refused (one was answered 421).

    Fetch Standard: navigations send credentials, fonts from elsewhere and preflights do not; what one connection
    carried has one mode.
    """
    sites = tables["hosts"].select("host", pl.coalesce("registrable_domain", "host").alias("site"))
    secure = network_requests(tables).filter("secure", pl.col("host").is_not_null())
    begun = pl.col("started_ms") + pl.col("blocked_ms").fill_null(0.0)
    looked_up = begun + pl.col("dns_ms").fill_null(0.0)
    phases = [pl.col(name).fill_null(0.0) for name in ("connect_ms", "send_ms", "wait_ms", "receive_ms")]
    first = pl.col("request_id").arg_min()
    # A request without an answer was still sent by the protocol of its connection.
    connections = tables["connections"].select("visit_id", "connection_id", pl.col("protocol").alias("of_connection"))
    secure = secure.join(connections, on=["visit_id", "connection_id"], how="left", maintain_order="left").with_columns(
        pl.coalesce("protocol", "of_connection").alias("protocol")
    )
    rows = (
        secure.join(_main_documents(secure), on="visit_id", how="left", maintain_order="left")
        .select(
            *_ORIGIN[:3],
            _protocol(),
            _kind(),
            *("credentials", "frame_site", "connection_id", "request_id", "server_ip", "started_ms", "main_host"),
            (pl.col("initiator_id") == pl.col("main")).alias("by_document"),
            looked_up.alias("ready_ms"),
            (looked_up + pl.col("connect_ms")).alias("connected_ms"),
            (looked_up + pl.sum_horizontal(phases)).alias("ended_ms"),
            (pl.col("status") == MISDIRECTED).fill_null(value=False).alias("refused"),
        )
        .group_by(*_ORIGIN, "kind", "credentials", "frame_site", "by_document", "connection_id")
        .agg(
            pl.col("main_host").first(),
            pl.len().alias("requests"),
            pl.col("request_id").min().alias("first"),
            pl.col("ended_ms").max(),
            pl.col("refused").any(),
            *(pl.col(name).get(first) for name in ("server_ip", "started_ms", "ready_ms", "connected_ms")),
        )
        .join(sites, on="host", how="left")
        .join(sites.rename({"host": "main_host", "site": "main_site"}), on="main_host", how="left")
        .with_columns(pl.coalesce("site", "host").alias("site"), pl.coalesce("main_site", "main_host"))
        .collect(engine="streaming")
    )
    visits = tables["visits"].select(
        "visit_id", "browser", (pl.col("third_party_cookies") == "blocked").alias("cookies_blocked")
    )
    return _modes(_frames(rows)).join(visits.collect(), on="visit_id", how="left")


def _main_documents(secure: pl.LazyFrame) -> pl.LazyFrame:
    """The request of each page's document (``main``) and its host: the first that is no redirect and has no other type."""
    return (
        secure.filter((pl.col("resource_type") == "document").fill_null(value=True) | (pl.col("request_id") == 0))
        .group_by("visit_id")
        .agg(
            pl.col("request_id").sort_by(_REDIRECT, "request_id").first().alias("main"),
            pl.col("host").sort_by(_REDIRECT, "request_id").first().alias("main_host"),
        )
    )


def _kind() -> pl.Expr:
    document, kind = _DOCUMENT | _UNTYPED, pl.col("resource_type")
    return (
        pl.when(document & (pl.col("request_id") <= pl.col("main")))
        .then(NAVIGATION)
        .when(_DOCUMENT)
        .then(SUBDOCUMENT)
        .when(pl.col("scheme") == "wss")
        .then(SOCKET)
        .when(kind == "font")
        .then(FONT)
        .when(kind == "preflight")
        .then(PREFLIGHT)
        .when(_UNTYPED | kind.is_in(["fetch", "xhr", "eventsource", "other", "beacon", "ping"]))
        .then(FETCH)
        .otherwise(OTHER)
        .cast(pl.Int8)
        .alias("kind")
    )


def _protocol() -> pl.Expr:
    return (
        pl.when(pl.col("protocol").is_in(["h2", "h3"]))
        .then(pl.col("protocol"))
        .when(pl.col("protocol").is_in(["http/1.1", "http/1.0"]) | (pl.col("scheme") == "wss"))
        .then(pl.lit("h1"))
        .alias("protocol")
    )


def _frames(rows: pl.DataFrame) -> pl.DataFrame:
    """``top_site``, ``cross_site`` and ``third_party`` of each row."""
    kind = pl.col("kind")
    strangers = (
        rows.filter(kind == SUBDOCUMENT, pl.col("site") != pl.col("main_site"))
        .select(pl.col("visit_id").unique())
        .with_columns(pl.lit(value=True).alias("strange_frames"))
    )
    return (
        rows.join(strangers, on="visit_id", how="left")
        .with_columns(
            # A document of the page's own is its own top-level site, at every hop of a redirect.
            pl.when(kind == NAVIGATION).then("site").otherwise("main_site").alias("top_site"),
            pl.when(kind == NAVIGATION)
            .then(pl.lit(value=False))
            .when(kind == SUBDOCUMENT)
            .then(pl.col("site") != pl.col("main_site"))
            .when(pl.col("frame_site").is_not_null())
            .then(pl.col("frame_site") != pl.col("main_site"))
            .when(pl.col("strange_frames").is_null() | pl.col("by_document").fill_null(value=False))
            .then(pl.lit(value=False))
            .alias("cross_site"),
        )
        # A frame of another site is a third party even to the top-level site itself.
        .with_columns((pl.col("site") == pl.col("top_site")).alias("at_home"))
        .with_columns((pl.col("cross_site") | ~pl.col("at_home")).alias("third_party"))
    )


def _modes(rows: pl.DataFrame) -> pl.DataFrame:
    """``credentialed`` of each row."""
    kind = pl.col("kind")
    at_home = (pl.col("host") == pl.col("main_host")) & ~pl.col("cross_site")
    said = (
        pl.when(pl.col("credentials") == "include")
        .then(pl.lit(value=True))
        .when(pl.col("credentials") == "omit")
        .then(pl.lit(value=False))
        .when(kind.is_in([NAVIGATION, SUBDOCUMENT, SOCKET]))
        .then(pl.lit(value=True))
        .when(kind == PREFLIGHT)
        .then(pl.lit(value=False))
        .when((kind == FONT) | ((kind == OTHER) & at_home))
        .then(at_home)
    )
    rows = rows.with_columns(said.alias("credentialed"))
    carried = (
        rows.filter(pl.col("connection_id").is_not_null(), pl.col("credentialed").is_not_null())
        .group_by("visit_id", "connection_id")
        .agg(pl.col("credentialed").min().alias("least"), pl.col("credentialed").max().alias("most"))
        .filter(pl.col("least") == pl.col("most"))
        .select("visit_id", "connection_id", pl.col("least").alias("of_connection"))
    )
    return rows.join(carried, on=["visit_id", "connection_id"], how="left").with_columns(
        pl.coalesce("credentialed", "of_connection").alias("credentialed")
    )
