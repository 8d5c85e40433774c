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


def asked(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per group of https and wss requests that one connection can carry, ordered by visit and first request.

    ``rows``: of :func:`modes_of`. Columns: ``group`` (the row's number), visit_id, host, port, protocol (h1, h2, h3;
    NULL: unknown), credentialed, third_party, top_site, at_home (the host is of that site), cross_site (the frame is
    not), cookies_blocked, browser, main_host (of the page's document), sockets (WebSockets among them), requests, first
    (its request_id), started_ms, ready_ms (its name is resolved), connected_ms (its connect phase ends), connection_id
    and server_ip (of its first request). NULL: the recorder does not tell and nothing decides it.
    """
    of_first = ("started_ms", "ready_ms", "connected_ms", "connection_id", "server_ip")
    return (
        rows.group_by(_ALIKE, maintain_order=True)
        .agg(
            pl.col("cookies_blocked", "browser", "main_host", "first", *of_first).first(),
            pl.col("requests").filter(pl.col("kind") == SOCKET).sum().alias("sockets"),
            pl.col("requests").sum(),
        )
        .with_row_index("group")
    )


def modes_of(tables: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """Requests over https and wss, those alike in host, connection, frame and what they are as one row.

    Beside the columns of :func:`asked`: kind, site and main_site (of the host and of the page's document), ended_ms
    (of the last), refused (one was answered 421). Ordered by visit and first request.

    Fetch Standard: navigations send credentials, fonts from elsewhere and preflights do not; what one connection
    carried has one mode.
    """
    secure = network_requests(tables).filter("secure", pl.col("host").is_not_null())
    begun = pl.col("started_ms") + pl.col("blocked_ms").fill_null(0.0)
    looked_up = begun + pl.col("dns_ms").fill_null(0.0)
    phases = [pl.col(name).fill_null(0.0) for name in ("connect_ms", "send_ms", "wait_ms", "receive_ms")]
    told = ("protocol", "kind", "credentials", "by_document")
    requests = (
        secure.join(_main_documents(secure), on="visit_id", how="left", maintain_order="left")
        .select(
            *("visit_id", "host", "port", "connection_id", "request_id", "server_ip", "started_ms", "main_host"),
            *("frame_site", "credentials"),
            pl.coalesce(_protocol(), pl.when(pl.col("scheme") == "wss").then(pl.lit("h1"))).alias("protocol"),
            _kind(),
            (pl.col("initiator_id") == pl.col("main")).alias("by_document"),
            looked_up.alias("ready_ms"),
            (looked_up + pl.col("connect_ms")).alias("connected_ms"),
            (looked_up + pl.sum_horizontal(phases)).alias("ended_ms"),
            (pl.col("status") == MISDIRECTED).fill_null(value=False).alias("refused"),
        )
        # What few values can say is one number to group by.
        .with_columns(_label().alias("label"))
        .collect()
    )
    if not requests["visit_id"].is_sorted() or not _in_order(requests):
        requests = requests.sort("visit_id", "request_id")
    rows = requests.group_by(
        "visit_id", "host", "port", "connection_id", "frame_site", "label", maintain_order=True
    ).agg(
        pl.len().alias("requests"),
        pl.col("ended_ms").max(),
        pl.col("refused").any(),
        pl.col("request_id").first().alias("first"),
        pl.col(*told, "main_host", "server_ip", "started_ms", "ready_ms", "connected_ms").first(),
    )
    return _modes(_frames(_of_pages(tables, _with_protocols(tables, rows.drop("label")))))


def _label() -> pl.Expr:
    few = (
        (pl.col("protocol").replace_strict({"h1": 1, "h2": 2, "h3": 3}, default=0, return_dtype=pl.Int16), 4),
        (pl.col("credentials").replace_strict({"include": 1, "omit": 2}, default=0, return_dtype=pl.Int16), 3),
        (pl.col("by_document").cast(pl.Int16).fill_null(2), 3),
        (pl.col("kind").cast(pl.Int16), OTHER + 1),
    )
    label = pl.lit(0, pl.Int16)
    for value, values in few:
        label = label * values + value
    return label


def _in_order(requests: pl.DataFrame) -> bool:
    """Whether numbers grow within each visit."""
    step = pl.col("request_id").cast(pl.Int64).diff() > 0
    return bool(requests.select((step | (pl.col("visit_id") != pl.col("visit_id").shift())).all()).item())


def _with_protocols(tables: Mapping[str, pl.LazyFrame], rows: pl.DataFrame) -> pl.DataFrame:
    """A request without an answer was still sent by the protocol of its connection."""
    unknown = rows.filter(pl.col("protocol").is_null(), pl.col("connection_id").is_not_null())
    if unknown.is_empty():
        return rows
    keys = ["visit_id", "connection_id"]
    of_connection = (
        tables["connections"]
        .join(unknown.lazy().select(keys).unique(), on=keys, how="semi")
        .select(*keys, _protocol().alias("of_connection"))
        .collect()
    )
    return (
        rows.join(of_connection, on=keys, how="left", maintain_order="left")
        .with_columns(pl.coalesce("protocol", "of_connection").alias("protocol"))
        .drop("of_connection")
    )


def _of_pages(tables: Mapping[str, pl.LazyFrame], rows: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with site, main_site, browser and cookies_blocked."""
    hosts = pl.concat([rows["host"], rows["main_host"]]).unique().to_frame("host")
    sites = (
        tables["hosts"]
        .join(hosts.lazy(), on="host", how="semi")
        .select("host", pl.coalesce("registrable_domain", "host").alias("site"))
        .collect()
    )
    visits = tables["visits"].select(
        "visit_id", "browser", (pl.col("third_party_cookies") == "blocked").alias("cookies_blocked")
    )
    return (
        rows.join(sites, on="host", how="left", maintain_order="left")
        .join(
            sites.rename({"host": "main_host", "site": "main_site"}), on="main_host", how="left", maintain_order="left"
        )
        .with_columns(pl.coalesce("site", "host").alias("site"), pl.coalesce("main_site", "main_host"))
        .join(visits.collect(), on="visit_id", how="left", maintain_order="left")
    )


def _main_documents(secure: pl.LazyFrame) -> pl.LazyFrame:
    """The request of each page's document (``main``) and its host: the first that is no redirect."""
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
        .when(pl.col("protocol").is_in(["http/1.1", "http/1.0"]))
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
        rows.join(strangers, on="visit_id", how="left", maintain_order="left")
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
    keys = ["visit_id", "connection_id"]
    return rows.join(carried, on=keys, how="left", maintain_order="left").with_columns(
        pl.coalesce("credentialed", "of_connection").alias("credentialed")
    )
