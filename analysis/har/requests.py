"""Entries of HARs to rows of ``requests``: every rule on whole columns, over many files at once."""

from __future__ import annotations

import re

import polars as pl

from originset.analysis.har.entry_columns import EntryColumns
from originset.analysis.har.protocols import normalise_protocols
from originset.analysis.har.times import parse_timestamps
from originset.analysis.har.urls import map_distinct, resolve_reference, url_columns
from originset.data.host_names import canonical_ip

_PHASES = ("blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms")
# Columns that others are computed from; the rows do not have them.
_READ = ("given_url", "ip", "ip_addr", "entry_protocol", "response_protocol", "request_protocol")
_FRAGMENT = r"(?s)#.*"
_ABSOLUTE = r"^[A-Za-z][A-Za-z0-9+.-]*://"
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]{0,79}")
_CODE_WITHIN = re.compile(r"net::ERR_\w+|NS_\w+")
_SECURE = pl.col("scheme").is_in(["https", "wss"])


def request_rows(entry_columns: EntryColumns, *, keep_secrets: bool = False) -> pl.DataFrame:
    """One row per entry, ordered by visit and start, with ``request_id`` from 0 in each visit.

    Beside the columns of ``requests`` (without credentials and frame_site) there are ``visit`` (position in
    ``entry_columns.visits``), ``started`` (UTC), ``zero`` (start of the visit's clock), ``security``, ``tls_version``;
    ``opened_ms`` and ``established_ms`` of its connection, where the recorder gives them as moments.
    """
    frame = entry_columns.frame()
    frame = frame.with_columns(
        parse_timestamps(frame["started"]).alias("started"),
        *url_columns(frame["given_url"], keep_secrets=keep_secrets),
        canonical_addresses(frame),
        *_protocols(frame),
        *_visit_facts(entry_columns, frame["visit"]),
    )
    frame = _phases(frame.drop(_READ))
    frame = _in_order_of_start(_from_start(frame))
    frame = _connection_ids(frame)
    frame = _connection_protocols(frame)
    frame = _initiators(frame)
    return frame.with_columns(
        _since_zero("started").alias("started_ms"),
        (_since_zero("sent") + pl.col("opened_after")).alias("opened_ms"),
        (_since_zero("sent") + pl.col("established_after")).alias("established_ms"),
        # 0, -1, -2, -999: recorders' ways of saying that no response came.
        pl.when(pl.col("status").is_between(100, 999)).then(pl.col("status").cast(pl.Int32)).alias("status"),
        pl.when(~_made_up()).then(pl.col("protocol")).alias("protocol"),
        map_distinct(frame["error"], error_code),
        map_distinct(frame["mime"], mime_type).alias("mime_type"),
        pl.col("resource_type").str.strip_chars().str.to_lowercase().replace("", None).alias("resource_type"),
        pl.col("method").str.strip_chars().str.to_uppercase().replace("", None).alias("method"),
        _from_cache().alias("from_cache"),
        _bytes().alias("bytes"),
    )


def _since_zero(moment: str) -> pl.Expr:
    return (pl.col(moment) - pl.col("zero")).dt.total_microseconds() / 1000


def canonical_addresses(frame: pl.DataFrame) -> pl.Series:
    """``server_ip`` in canonical text: from HAR's field, else from WebPageTest's."""
    first = map_distinct(frame["ip"], canonical_ip)
    second = map_distinct(frame["ip_addr"], canonical_ip)
    return first.zip_with(first.is_not_null(), second).alias("server_ip")


def _protocols(frame: pl.DataFrame) -> list[pl.Series]:
    """``protocol`` and ``protocol_raw``: from the first of three fields with a known spelling."""
    places = ("entry_protocol", "response_protocol", "request_protocol")
    protocols = frame.select(normalise_protocols(frame[place]).alias(place) for place in places)
    raw = [pl.when(protocols[place].is_not_null()).then(pl.col(place)) for place in places]
    spelt = [pl.col(place).replace("", None) for place in places]
    return [
        protocols.select(pl.coalesce(places).alias("protocol")).to_series(),
        frame.select(pl.coalesce(*raw, *spelt).alias("protocol_raw")).to_series(),
    ]


def _visit_facts(entry_columns: EntryColumns, visit: pl.Series) -> list[pl.Series]:
    """A fact of each entry's visit, as a column over the entries."""
    visits = entry_columns.visits
    facts = pl.DataFrame(
        {
            "visit_id": [facts.visit_id for facts in visits],
            "zero": [None if facts.zero is None else facts.zero.replace(tzinfo=None) for facts in visits],
            "ssl_outside": [facts.recorder.ssl_outside for facts in visits],
            "zero_is_none": [facts.recorder.zero_is_none for facts in visits],
            "protocol_made_up": [facts.recorder.protocol_made_up for facts in visits],
            "started_when_sent": [facts.recorder.started_when_sent for facts in visits],
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
        schema_overrides={
            "visit_id": pl.String,
            "zero": pl.Datetime("us"),
            **dict.fromkeys(
                ("ssl_outside", "zero_is_none", "protocol_made_up", "started_when_sent", "by_devtools"), pl.Boolean
            ),
            "connection_source": pl.String,
        },
    )
    return facts[visit].get_columns() if len(visit) else facts.clear().get_columns()


def _from_start(frame: pl.DataFrame) -> pl.DataFrame:
    """``started`` before the phases of a request, for recorders that give the moment behind its connect phase.

    ``sent``: that moment.
    """
    before = pl.sum_horizontal("blocked_ms", "dns_ms", "connect_ms")
    moved = pl.col("started") - pl.duration(microseconds=(before * 1000).round().cast(pl.Int64))
    return frame.with_columns(
        pl.when("started_when_sent").then(moved).otherwise("started").alias("started"),
        pl.when("started_when_sent").then("started").alias("sent"),
    )


def _in_order_of_start(frame: pl.DataFrame) -> pl.DataFrame:
    """Sorted by start within the visit; an entry without a time stays after the previous one of the file."""
    visit = pl.col("visit")
    frame = frame.with_columns(
        pl.col("zero").fill_null(pl.col("started").min().over(visit)),
        pl.col("started").forward_fill().over(visit).alias("order"),
    )
    number = pl.int_range(pl.len()).over(visit).cast(pl.Int32).alias("request_id")
    return frame.sort("visit", "order", "place", nulls_last=False).with_columns(number)


def _phases(frame: pl.DataFrame) -> pl.DataFrame:
    """The phases in ms, TLS as part of connect; NULL for a phase that the entry does not have."""
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
    """Connection ids as integers: the recorder's own if all of a visit's are integers, else counted from 1."""
    number = pl.col("connection").str.strip_chars().cast(pl.Int64, strict=False)
    frame = frame.with_columns(
        # An answer from the cache used no connection, whatever the recorder copied there.
        pl.when(_from_cache().fill_null(value=False)).then(None).otherwise(pl.col("connection")).alias("connection")
    ).with_columns((number.is_null() & pl.col("connection").is_not_null()).any().over("visit").alias("named"))
    ids = number
    if frame["named"].any():
        ranks = pl.col("connection").rank("dense").over("visit").cast(pl.Int64)
        ids = pl.when(pl.col("named")).then(ranks).otherwise(number)
    return frame.with_columns(ids.alias("connection_id")).with_columns(
        pl.when(pl.col("connection_id").is_not_null()).then(pl.col("connection_source")).alias("connection_source")
    )


def _connection_protocols(frame: pl.DataFrame) -> pl.DataFrame:
    """``protocol`` of requests without a known one: the one that all other requests on their connection have.

    ALPN chooses one protocol for a connection (RFC 7301).
    """
    of_connection = pl.col("protocol").drop_nulls().unique().over("visit", "connection_id", mapping_strategy="join")
    untold = pl.col("protocol").is_null() & pl.col("protocol_raw").is_not_null() & pl.col("connection_id").is_not_null()
    return frame.with_columns(
        pl.when(untold & (of_connection.list.len() == 1)).then(of_connection.list.first()).otherwise("protocol")
    )


def _initiators(frame: pl.DataFrame) -> pl.DataFrame:
    """``initiator_id``: the request that caused an entry.

    The entry that the recorder points at; else the latest earlier one with the address that it names; else the latest
    earlier one that redirected here.
    """
    columns = ("visit", "place", "request_id", "bare", "initiator_place", "initiator_url", "redirect")
    rows = frame.select(columns).with_row_index("row")
    bare, initiator_url = pl.col("bare"), pl.col("initiator_url")
    addressed = rows.select("row", "request_id", _within_visit(bare)).filter(pl.col("address").is_not_null())
    naming = rows.filter(initiator_url.is_not_null()).select(
        "row", _within_visit(initiator_url.str.replace(_FRAGMENT, ""))
    )
    by_name = rows.select("row").join(_latest_earlier(naming, addressed, "named"), on="row", how="left")
    redirecting = rows.filter(bare.is_not_null() & pl.col("redirect").is_not_null())
    if len(redirecting):
        aiming = _with_targets(redirecting).select("row", "request_id", _within_visit(pl.col("target")))
        aimed_at = addressed.select("row", "address").join(aiming, on="address", how="semi", maintain_order="left")
        by_name = by_name.join(_latest_earlier(aimed_at, aiming, "redirected"), on="row", how="left")
    pointing = rows.filter(pl.col("initiator_place").is_not_null()).select("row", "visit", "initiator_place")
    if len(pointing):
        pointed_at = rows.select("visit", "place", "request_id", pl.col("row").alias("of"))
        pointed = pointing.join(pointed_at, left_on=["visit", "initiator_place"], right_on=["visit", "place"])
        earlier = pointed.filter(pl.col("of") < pl.col("row")).select("row", pl.col("request_id").alias("pointed"))
        by_name = by_name.join(earlier, on="row", how="left")
    by_trust = [name for name in ("pointed", "named", "redirected") if name in by_name.columns]
    return frame.with_columns(by_name.sort("row").select(pl.coalesce(by_trust).alias("initiator_id")).to_series())


def _with_targets(redirecting: pl.DataFrame) -> pl.DataFrame:
    """The redirects with ``target``, the URL that they redirect to; those without one are left out."""
    redirect = pl.col("redirect")
    absolute = redirect.str.contains(_ABSOLUTE)
    relative = redirecting.filter(~absolute).select("row", "bare", "redirect")
    targets = [resolve_reference(base, reference) for _, base, reference in relative.iter_rows()]
    resolved = relative.select("row", pl.Series("target", targets, dtype=pl.String))
    return pl.concat(
        [
            redirecting.filter(absolute).with_columns(redirect.str.replace(_FRAGMENT, "").alias("target")),
            redirecting.join(resolved.drop_nulls(), on="row"),
        ]
    ).sort("row")


def _within_visit(address: pl.Expr) -> pl.Expr:
    """A number for a URL of a visit: joins over the two columns themselves take several times as long."""
    number = address.hash() ^ (pl.col("visit").cast(pl.UInt64) * 0x9E3779B97F4A7C15)
    return pl.when(address.is_not_null()).then(number).alias("address")


def _latest_earlier(asking: pl.DataFrame, known: pl.DataFrame, name: str) -> pl.DataFrame:
    """For each row the ``request_id`` of the latest earlier row with the same URL, if there is one."""
    joined = asking.join_asof(known, on="row", by="address", allow_exact_matches=False, check_sortedness=False)
    return joined.select("row", pl.col("request_id").alias(name))


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


def error_code(text: str) -> str | None:
    """The code of a failure; free text becomes ``other``, because it can quote URLs and secrets."""
    text = text.strip()
    if _CODE.fullmatch(text):
        return text
    match = _CODE_WITHIN.search(text)
    return match[0] if match else "other" if text else None


def mime_type(content_type: str) -> str | None:
    """The type without parameters, lower-case; None if it is not a type (``x-unknown``)."""
    bare = content_type.partition(";")[0].partition(",")[0].strip().lower()
    return bare if "/" in bare and " " not in bare else None


def _bytes() -> pl.Expr:
    total = pl.coalesce(
        *(pl.when(pl.col(name) >= 0).then(pl.col(name)) for name in ("transferred", "response_transferred"))
    )
    sizes = pl.col("headers_size"), pl.col("body_size")
    parts = pl.when((sizes[0] >= 0) & (sizes[1] >= 0)).then(sizes[0] + sizes[1])
    return pl.coalesce(total, parts).cast(pl.Int64, strict=False)
