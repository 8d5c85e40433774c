"""Pages as their owners' changes would leave them: the same requests, to servers that are set up as advised."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from originset.models.browsers.batch import PROTOCOLS, Part
from originset.models.browsers.sharing_rules import origin_of

#: What is asked of a change, a row for each connection that it is advised for: ``change`` is its number within the
#: visit; the other columns are those of the table redundant_connections.
ADVISED_CHANGES = pl.Schema(
    {
        "visit_id": pl.String,
        "change": pl.Int64,
        "connection_id": pl.Int64,
        "reusable_connection_id": pl.Int64,
        "host": pl.String,
        "reusable_host": pl.String,
        "cause": pl.String,
    }
)

_CONNECTION = ["visit_id", "connection_id"]
_NAME = ["visit_id", "host"]

# What is asked of the earlier host instead, over its port.
_CAUSES_OF_MOVES = ("IP", "RACE", "PORT_SCHEME")
_BY_SCRIPT = ("fetch", "xhr", "other", "beacon", "ping", "eventsource")
_CAUSES_OF_NAMES = ("CERT", "CERT+IP")
_CAUSES_OF_FRAMES = ("CERT+IP", "ORIGIN_EXCLUDED")


def changed_part(part: Part, changes: pl.DataFrame) -> tuple[Part, pl.DataFrame]:
    """``part`` after ``changes``, and the names that certificates get (host, certificate_id).

    ``changes``: rows of ADVISED_CHANGES whose visit_id is a row of ``part.visits``. Of several ways to make a change it
    is the first that the advice names, and servers answer for what they name or announce. An ORIGIN frame that is
    changed, or new, lists besides what its connection carries.
    """
    rows = _with_connections(part, changes)
    requests = _asked_in_one_way(part.requests, rows)
    requests = _over_other_protocols(requests, rows)
    requests = _moved_requests(part, requests, rows)
    refused = rows.filter(cause="MISDIRECTED").select("visit_id", "host").unique()
    requests = requests.join(refused.with_columns(answered=True), on=_NAME, how="left", maintain_order="left")
    requests = requests.with_columns(
        pl.when(pl.col("answered") & (pl.col("status") == 421)).then(200).otherwise("status").alias("status")
    ).drop("answered")
    connections = _with_origin_sets(_without_421(part.connections, refused), rows, part.requests)
    lasting = rows.filter(cause="LIFETIME").select("visit_id", first_host="reusable_host", lasts=True).unique()
    connections = connections.join(lasting, on=["visit_id", "first_host"], how="left", maintain_order="left")
    connections = connections.with_columns(closed_ms=pl.when(pl.col("lasts").is_null()).then("closed_ms")).drop("lasts")
    named = rows.filter(pl.col("cause").is_in(_CAUSES_OF_NAMES)).select("host", certificate_id="certificate_id_held")
    return replace(part, requests=requests, connections=connections), named.drop_nulls().unique()


def _with_connections(part: Part, changes: pl.DataFrame) -> pl.DataFrame:
    """``changes`` with port, protocol and certificate_id of the earlier connection (``_held``)."""
    held = part.connections.select(
        "visit_id",
        pl.col("connection_id").alias("reusable_connection_id"),
        *(pl.col(name).alias(f"{name}_held") for name in ("port", "protocol", "certificate_id", "first_host")),
    ).unique(["visit_id", "reusable_connection_id"], keep="first", maintain_order=True)
    return changes.with_columns(pl.col("host", "reusable_host").cast(part.facts.hosts)).join(
        held, on=["visit_id", "reusable_connection_id"], how="left", maintain_order="left"
    )


def _asked_in_one_way(requests: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """All that is asked of a host with credentials; without, if fonts are, since these never are with them.

    What is asked of another host instead is asked there as that host is.
    """
    moved = rows.filter(pl.col("cause").is_in(_CAUSES_OF_MOVES)).select(_NAME)
    wanted = rows.filter(cause="CRED").select(_NAME).unique().join(moved, on=_NAME, how="anti")
    fonts = (pl.col("resource_type") == "font").fill_null(value=False).any().over("visit_id", "host")
    mode = pl.when(fonts).then(pl.lit("omit")).otherwise(pl.lit("include"))
    return (
        requests.with_columns(mode=mode)
        .join(wanted.with_columns(one_way=True), on=_NAME, how="left", maintain_order="left")
        .with_columns(pl.when("one_way").then("mode").otherwise("credentials").alias("credentials"))
        .drop("mode", "one_way")
    )


def _over_other_protocols(requests: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    both = pl.concat([rows.select("cause", *_NAME), rows.select("cause", "visit_id", host="reusable_host")])
    plain = both.filter(cause="H1").select(*_NAME, http2=True).unique()
    late = both.filter(cause="PROTO_MIX").select(*_NAME, http3=True).unique()
    joined = requests.join(plain, on=_NAME, how="left", maintain_order="left")
    joined = joined.join(late, on=_NAME, how="left", maintain_order="left")
    protocol = (
        pl.when(pl.col("http2") & (pl.col("protocol") == "h1") & ~pl.col("socket"))
        .then(pl.lit("h2", PROTOCOLS))
        .when(pl.col("http3") & (pl.col("protocol") == "h2"))
        .then(pl.lit("h3", PROTOCOLS))
        .otherwise("protocol")
    )
    return joined.with_columns(protocol.alias("protocol")).drop("http2", "http3")


def _moved_requests(part: Part, requests: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """``requests`` of the hosts that they are moved to.

    What the page asks its own host for with crossorigin is of the same origin then, and sent with credentials (Fetch,
    section 4.6); of what a script fetches nobody knows whether the script forbids it.
    """
    moved = (
        rows.filter(
            pl.col("cause").is_in(_CAUSES_OF_MOVES),
            (pl.col("cause") == "PORT_SCHEME") | (pl.col("host") != pl.col("reusable_host")),
        )
        .select(*_NAME, host_held="reusable_host", port_held="port_held")
        .unique(_NAME, keep="first", maintain_order=True)
    )
    joined = requests.join(moved, on=_NAME, how="left", maintain_order="left")
    documents = part.visits["document_host"].gather(joined["visit_id"])
    own_frame = pl.col("frame_site").is_null() | (pl.col("frame_site") == part.facts.sites(documents))
    home = (pl.col("host_held") == documents) & own_frame
    by_script = pl.col("resource_type").is_in(_BY_SCRIPT)
    then = pl.when(by_script).then(pl.lit("unknown")).otherwise(pl.lit("include"))
    became = pl.when(home & (pl.col("credentials") == "omit")).then(then).otherwise("credentials")
    return joined.with_columns(
        became.alias("credentials"),
        pl.coalesce("host_held", "host").alias("host"),
        pl.coalesce("port_held", "port").alias("port"),
    ).drop("host_held", "port_held")


def _without_421(connections: pl.DataFrame, refused: pl.DataFrame) -> pl.DataFrame:
    hosts = refused.group_by("visit_id").agg(pl.col("host").alias("answered"))
    left = pl.col("misdirected").list.set_difference(pl.col("answered"))
    return (
        connections.join(hosts, on="visit_id", how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("answered").is_null()).then("misdirected").otherwise(left).alias("misdirected"))
        .drop("answered")
    )


def _with_origin_sets(connections: pl.DataFrame, rows: pl.DataFrame, requests: pl.DataFrame) -> pl.DataFrame:
    """The connections of servers that announce more hosts, with all that they carry; the frame comes with SETTINGS."""
    added = rows.filter(pl.col("cause").is_in(_CAUSES_OF_FRAMES)).select(
        "visit_id", "host", first_host="first_host_held", port="port_held"
    )
    servers = added.select("visit_id", "first_host").unique()
    carried = (
        requests.join(connections.select(*_CONNECTION, "first_host"), on=_CONNECTION)
        .join(servers, on=["visit_id", "first_host"], how="semi")
        .select(added.columns)
    )
    sets = (
        pl.concat([added, carried])
        .with_columns(origin_of().alias("origin"))
        .group_by("visit_id", "first_host")
        .agg(pl.col("origin").unique())
    )
    joined = connections.join(sets, on=["visit_id", "first_host"], how="left", maintain_order="left")
    union = pl.col("origin_set").fill_null([]).list.set_union(pl.col("origin"))
    return joined.with_columns(
        pl.when(pl.col("origin").is_null()).then("origin_set").otherwise(union).alias("origin_set"),
        pl.when(pl.col("origin").is_null()).then("origin_ms").alias("origin_ms"),
    ).drop("origin")
