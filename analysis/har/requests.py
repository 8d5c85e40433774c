"""Gathered entries to rows of ``requests``: every rule on whole columns, over many files at once."""

from __future__ import annotations

import polars as pl

from originset.analysis.har.gather import Gathered
from originset.analysis.har.protocols import normalise_protocols
from originset.analysis.har.times import parse_timestamps
from originset.analysis.har.urls import map_distinct, resolve_reference, url_columns
from originset.data.host_names import canonical_ip

_PHASES = ("blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms")
_FRAGMENT = r"(?s)#.*"
_SECURE = pl.col("scheme").is_in(["https", "wss"])


def request_rows(gathered: Gathered, *, keep_secrets: bool = False) -> pl.DataFrame:
    """One row per entry, ordered by visit and start, with ``request_id`` from 0 in each visit.

    Beside the columns of ``requests`` (without credentials and frame_site) there are ``visit`` (position in
    ``gathered.visits``), ``started`` (UTC) and ``zero`` (start of the visit's clock), ``security`` and ``tls_version``.
    """
    frame = gathered.frame()
    frame = frame.with_columns(
        parse_timestamps(frame["started"]).alias("started"),
        *url_columns(frame["given_url"], keep_secrets=keep_secrets),
        canonical_addresses(frame),
        *_protocols(frame),
        *_visit_facts(gathered, frame["visit"]),
    )
    frame = _ordered(frame)
    frame = _phases(frame)
    frame = _connection_ids(frame)
    frame = _initiators(frame)
    return frame.with_columns(
        ((pl.col("started") - pl.col("zero")).dt.total_microseconds() / 1000).alias("started_ms"),
        # 0, -1, -2, -999: recorders' ways of saying that no response came.
        pl.when(pl.col("status").is_between(100, 999)).then(pl.col("status").cast(pl.Int32)).alias("status"),
        pl.when(~_made_up()).then(pl.col("protocol")).alias("protocol"),
        _error_code(),
        map_distinct(frame["mime"], mime_type).alias("mime_type"),
        pl.col("resource_type").str.strip_chars().str.to_lowercase().replace("", None).alias("resource_type"),
        pl.col("method").str.strip_chars().str.to_uppercase().replace("", None).alias("method"),
        _from_cache().alias("from_cache"),
        _bytes().alias("bytes"),
    )


def canonical_addresses(frame: pl.DataFrame) -> pl.Series:
    """``server_ip``: what the recorder calls the server's address, WebPageTest's field after HAR's."""
    first = map_distinct(frame["ip"], canonical_ip)
    second = map_distinct(frame["ip_addr"], canonical_ip)
    return first.zip_with(first.is_not_null(), second).alias("server_ip")


def _protocols(frame: pl.DataFrame) -> list[pl.Series]:
    """``protocol`` and ``protocol_raw``: the first of three places with a spelling that means something decides."""
    places = ("told_protocol", "response_protocol", "request_protocol")
    known = frame.select(normalise_protocols(frame[place]).alias(place) for place in places)
    raw = [pl.when(known[place].is_not_null()).then(pl.col(place)) for place in places]
    spelt = [pl.col(place).replace("", None) for place in places]
    return [
        known.select(pl.coalesce(places).alias("protocol")).to_series(),
        frame.select(pl.coalesce(*raw, *spelt).alias("protocol_raw")).to_series(),
    ]


def _visit_facts(gathered: Gathered, visit: pl.Series) -> list[pl.Series]:
    """What is the same for all entries of a visit, spread over them."""
    visits = gathered.visits
    facts = pl.DataFrame(
        {
            "visit_id": [facts.visit_id for facts in visits],
            "zero": [None if facts.zero is None else facts.zero.replace(tzinfo=None) for facts in visits],
            "ssl_outside": [facts.recorder.ssl_outside for facts in visits],
            "zero_is_none": [facts.recorder.zero_is_none for facts in visits],
            "protocol_made_up": [facts.recorder.protocol_made_up for facts in visits],
            "by_devtools": [facts.recorder.name == "chrome-devtools" for facts in visits],
            "connection_source": [
                "netlog"
                if facts.recorder.name == "originset"
                else "inferred"
                if facts.recorder.connections_inferred
                else "har"
                for facts in visits
            ],
        },
        schema_overrides={"zero": pl.Datetime("us"), "visit_id": pl.String, "connection_source": pl.String},
    )
    return facts[visit].get_columns() if len(visit) else facts.clear().get_columns()


def _ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Sorted by start within the visit; an entry without a time stays behind the one before it in the file."""
    visit = pl.col("visit")
    return (
        frame.with_columns(
            pl.col("zero").fill_null(pl.col("started").min().over("visit")),
            pl.col("started").forward_fill().over("visit").alias("order"),
        )
        .sort("visit", "order", "place", nulls_last=False)
        .with_columns((pl.int_range(pl.len()).over(visit)).cast(pl.Int32).alias("request_id"))
    )


def _phases(frame: pl.DataFrame) -> pl.DataFrame:
    """Phases that happened, in ms, TLS within connect; NULL where there was none."""
    lowest = pl.when(pl.col("zero_is_none")).then(1e-9).otherwise(0.0)
    connection = {"dns_ms", "connect_ms", "ssl_ms"}
    frame = frame.with_columns(
        pl.when(pl.col(name) >= (lowest if name in connection else 0.0)).then(pl.col(name)).alias(name)
        for name in _PHASES
    )
    ssl = pl.when(_SECURE).then(pl.col("ssl_ms"))
    connect = pl.col("connect_ms")
    # A TLS phase longer than the connect phase that should contain it follows it, whatever the recorder's rule.
    outside = pl.col("ssl_outside") | (ssl > connect + 0.5)
    return frame.with_columns(
        ssl.alias("ssl_ms"),
        pl.when(ssl.is_not_null() & (outside | connect.is_null()))
        .then(connect.fill_null(0.0) + ssl)
        .otherwise(connect)
        .alias("connect_ms"),
    )


def _connection_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Ids as integers: the recorder's own where all of a visit's are, else counted from 1."""
    number = pl.col("connection").str.strip_chars().cast(pl.Int64, strict=False)
    frame = frame.with_columns(
        # An answer from the cache used no connection, whatever the recorder copied there.
        pl.when(_from_cache().fill_null(value=False)).then(None).otherwise(pl.col("connection")).alias("connection")
    ).with_columns((number.is_null() & pl.col("connection").is_not_null()).any().over("visit").alias("named"))
    counted = pl.col("connection").rank("dense").over("visit").cast(pl.Int64)
    return frame.with_columns(
        pl.when(pl.col("named")).then(counted).otherwise(number).alias("connection_id")
    ).with_columns(
        pl.when(pl.col("connection_id").is_not_null()).then(pl.col("connection_source")).alias("connection_source")
    )


def _initiators(frame: pl.DataFrame) -> pl.DataFrame:
    """``initiator_id``: what caused an entry.

    The entry that the recorder points at; else the latest earlier one with the address that it names; else the latest
    earlier one that redirected here.
    """
    columns = ("visit", "place", "bare", "initiator_place", "initiator_url", "redirect")
    found: list[int | None] = []
    current = None
    seen: dict[str | None, int] = {}
    aimed_at: dict[str | None, int] = {}
    numbers: dict[int, int] = {}
    number = 0
    # One walk over the rows, which are in order: joins over visit and address take several times as long.
    for visit, place, bare, pointed, named, redirect in zip(*(frame[name].to_list() for name in columns), strict=True):
        if visit != current:
            current, number = visit, 0
            seen, aimed_at, numbers = {}, {}, {}
        cause = numbers.get(pointed) if pointed is not None else None
        if cause is None and named is not None:
            cause = seen.get(named if "#" not in named else named.partition("#")[0])
        if cause is None and aimed_at:
            cause = aimed_at.get(bare)
        found.append(cause)
        numbers[place] = number
        if bare is not None:
            seen[bare] = number
            if redirect is not None and (target := resolve_reference(bare, redirect)) is not None:
                aimed_at[target] = number
        number += 1
    return frame.with_columns(pl.Series("initiator_id", found, dtype=pl.Int32))


def _made_up() -> pl.Expr:
    answered = pl.col("status").is_between(100, 999).fill_null(value=False)
    return pl.col("protocol_made_up") & (~answered | pl.col("cached").fill_null(value=False))


def _from_cache() -> pl.Expr:
    # DevTools before 2018 did not mark them, but gave 0 bytes transferred and no address.
    silent = (
        pl.col("by_devtools")
        & (pl.col("response_transferred") == 0)
        & pl.col("server_ip").is_null()
        & pl.col("connection").is_null()
        & (pl.col("status") >= 200)
    )
    return pl.coalesce("cached", pl.when(silent.fill_null(value=False)).then(pl.lit(value=True)))


def _error_code() -> pl.Expr:
    """The code of a failure; free text, which may quote addresses and secrets, becomes ``other``."""
    text = pl.coalesce("error", "response_error").str.strip_chars().replace("", None)
    code = text.str.extract(r"^([A-Za-z][A-Za-z0-9_:.-]{0,79})$")
    return pl.coalesce(
        code, text.str.extract(r"(net::ERR_\w+|NS_\w+)"), pl.when(text.is_not_null()).then(pl.lit("other"))
    ).alias("error")


def mime_type(content_type: str) -> str | None:
    """The type without parameters, lower-case; None where it is none (``x-unknown``)."""
    bare = content_type.partition(";")[0].partition(",")[0].strip().lower()
    return bare if "/" in bare and " " not in bare else None


def _bytes() -> pl.Expr:
    whole = pl.coalesce(
        *(pl.when(pl.col(name) >= 0).then(pl.col(name)) for name in ("transferred", "response_transferred"))
    )
    sizes = pl.col("headers_size"), pl.col("body_size")
    parts = pl.when((sizes[0] >= 0) & (sizes[1] >= 0)).then(sizes[0] + sizes[1])
    return pl.coalesce(whole, parts).cast(pl.Int64, strict=False)
