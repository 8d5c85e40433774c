"""How sure it is that one server can answer for two hosts: what the study itself saw for it, and against it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.schema import COLOCATION_EVIDENCE
from originset.models.coverage import covering_certificates
from originset.models.documents import documents
from originset.models.network import network_requests

MISDIRECTED = 421
SAME_EDGE, SAME_TENANT = 2, 3

_PAIR = ["host_a", "host_b"]
_ROW = [*_PAIR, "source", "observed_at"]


def colocation_evidence(tables: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """Rows of ``colocation_evidence``, ordered by their key.

    Only of hosts that one page asked for and that have an AS, an address in no AS, an organisation or an edge in
    common there: not of all hosts of the study with one another; for levels 0 and 1, which most hosts of most pages
    have, only with the host of the page's document. A pair has one row for each kind of evidence, with the least of
    several sources. Levels: 0 the same AS, 1 the same organisation, 2 the same edge or address, 3 a
    certificate that covers both or one owner at one edge or address, 5 asked for on one connection. Level 4, tested,
    comes from probes alone.

    A request answered with 421 (RFC 9110 section 15.5.20) speaks against its host and the others of its connection,
    and is no evidence for its address; a connection that was inferred is no evidence either. Nor is an address that is
    not public: it may be a proxy's.
    """
    seen = _seen(tables).collect(engine="streaming").lazy()  # used for nearly everything below
    groups = _groups(seen).collect(engine="streaming").lazy()
    lists = _lists(groups).collect(engine="streaming").lazy()
    servers = documents(tables, "asn").select("visit_id", "server")
    own = groups.join(servers, on="visit_id").filter(pl.col("host").list.contains(pl.col("server")))
    beside = _beside(own).collect(engine="streaming").lazy()
    last = seen.group_by("host").agg(pl.col("at").max())
    hosts = tables["hosts"].join(last, on="host")
    served = seen.filter("secure", "answered", pl.col("kind").ne_missing("private"), pl.col("kind").ne_missing("bogon"))
    # A host with several CDNs is on this edge at times, and nobody knows when.
    on_edge = hosts.filter(pl.col("multi_cdn").ne_missing(other=True))
    same_edge = _sharing(lists, on_edge.select("host", "at", pl.col("edge").alias("place")), "")
    shared_address = _sharing(lists, _places(served, "server_ip"), "address ")
    same_edge, shared_address = (
        frame.collect(engine="streaming").lazy()
        for frame in (same_edge, shared_address)  # used twice
    )
    certified = covering_certificates(tables, lists.select("host")).join(last, on="host")
    owners = _sharing(lists, hosts.select("host", "at", pl.col("registrable_domain").alias("place")), "")
    together = pl.concat([same_edge, shared_address]).select(_PAIR).unique()
    found = [
        (0, "same_as", _sharing(beside, _places(seen, "asn"), "AS")),
        (1, "same_organisation", _sharing(beside, _places(seen, "organisation"), "")),
        (2, "same_edge", same_edge),
        (2, "shared_address", shared_address),
        (3, "certificate", _sharing(lists, certified.rename({"certificate_id": "place"}), "certificate ")),
        (3, "owner_on_edge", owners.join(together, on=_PAIR, how="semi")),
        (5, "coalesced", _coalesced(seen)),
        (0, "misdirected", _misdirected(tables, seen)),
    ]
    rows = [
        frame.select(
            *_ROW,
            pl.lit(level).alias("level"),
            pl.lit(kind).alias("kind"),
            pl.lit(kind == "misdirected").alias("contradicts"),
        )
        for level, kind, frame in found
    ]
    return (
        pl.concat(rows)
        .select(pl.col(name).cast(kind) for name, kind in COLOCATION_EVIDENCE.polars_schema.items())
        .sort("host_a", "host_b", "level", "kind")
        .collect(engine="streaming")
    )


def pair_levels(evidence: pl.LazyFrame, least: int = 0) -> pl.LazyFrame:
    """``host_a``, ``host_b`` (each pair once), ``level`` (the highest), ``contradicts`` (something speaks against).

    Of pairs that have evidence of ``least`` or more, or something against them.
    """
    telling = evidence.filter((pl.col("level") >= least) | pl.col("contradicts"))
    return telling.group_by(_PAIR).agg(pl.col("level").max(), pl.col("contradicts").any())


def levels(tables: Mapping[str, pl.LazyFrame], evidence: pl.LazyFrame, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """``pairs`` (``server``, ``host``) without repetition, with ``level`` and ``same_owner``.

    ``level`` is that of the best evidence, 0 where there is none or something contradicts, 5 for a host and itself.
    ``same_owner``: both have one registrable domain; NULL where one of them has none.
    """
    owner = tables["hosts"].select("host", pl.col("registrable_domain").alias("owner"))
    known = pair_levels(evidence).select(
        *_PAIR, pl.when("contradicts").then(0).otherwise("level").cast(pl.Int32).alias("level")
    )
    return (
        pairs.select("server", "host")
        .unique()
        .join(owner.rename({"host": "server", "owner": "server_owner"}), on="server", how="left")
        .join(owner, on="host", how="left")
        .with_columns(
            pl.min_horizontal("server", "host").alias("host_a"), pl.max_horizontal("server", "host").alias("host_b")
        )
        .join(known, on=_PAIR, how="left")
        .select(
            "server",
            "host",
            pl.when(pl.col("server") == pl.col("host")).then(5).otherwise(pl.col("level").fill_null(0)).alias("level"),
            (pl.col("server_owner") == pl.col("owner")).alias("same_owner"),
        )
    )


def misdirected_hosts(tables: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    """Hosts for which some server of the study answered 421, once each: as responses show it, or connections do."""
    answered = tables["requests"].filter(pl.col("status") == MISDIRECTED).select("host")
    refused = tables["connections"].select(pl.col("misdirected").alias("host")).explode("host").drop_nulls()
    return pl.concat([answered, refused]).unique()


def _seen(tables: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    """Each host at each address and connection of each visit, with what is known of the address and when it was."""
    addresses = tables["addresses"].select(pl.col("ip").alias("server_ip"), "organisation", "kind")
    started = tables["visits"].select("visit_id", pl.col("started_at").alias("at"))
    edges = tables["hosts"].select("host", "edge")
    certain = pl.col("connection_source").ne_missing("inferred")
    return (
        network_requests(tables, "asn")
        .filter(pl.col("host").is_not_null(), pl.col("server_ip").is_not_null() | pl.col("connection_id").is_not_null())
        .group_by("visit_id", "host", "server_ip", "asn", "key", pl.when(certain).then("connection_id"), "secure")
        .agg(pl.col("status").ne_missing(MISDIRECTED).any().alias("answered"))
        .join(addresses, on="server_ip", how="left")
        .join(started, on="visit_id", how="left")
        .join(edges, on="host", how="left")
    )


def _groups(seen: pl.LazyFrame) -> pl.LazyFrame:
    """``visit_id`` and ``host``: the hosts of a page that have one thing in common, sorted, two at least."""
    groups = pl.concat(
        [
            seen.filter(pl.col(name).is_not_null()).select(
                "visit_id", "host", pl.concat_str(pl.lit(f"{name} "), name).alias("group")
            )
            for name in ("key", "organisation", "edge")
        ]
    )
    return (
        groups.group_by("visit_id", "group")
        .agg(pl.col("host").unique().sort())
        .filter(pl.col("host").list.len() > 1)
        .select("visit_id", "host")
    )


def _lists(groups: pl.LazyFrame) -> pl.LazyFrame:
    """``list`` and ``host``: each distinct group once, as pages repeat one another."""
    return (
        groups.group_by(pl.col("host").list.join("\n").alias("text"))
        .agg(pl.col("host").first())
        .select(pl.int_range(pl.len()).alias("list"), "host")
        .explode("host")
    )


def _beside(own: pl.LazyFrame) -> pl.LazyFrame:
    """``list`` and ``host``: each document's host with each other host of its group, a list for each such pair."""
    return (
        own.select("server", "host")
        .explode("host")
        .filter(pl.col("host") != pl.col("server"))
        .unique()
        .select(pl.int_range(pl.len()).alias("list"), pl.concat_list("server", "host").alias("host"))
        .explode("host")
    )


def _places(seen: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """``host``, ``place`` and when the host was last seen there."""
    return (
        seen.filter(pl.col(name).is_not_null())
        .group_by("host", pl.col(name).cast(pl.String).alias("place"))
        .agg(pl.col("at").max())
    )


def _sharing(lists: pl.LazyFrame, places: pl.LazyFrame, prefix: str) -> pl.LazyFrame:
    """The pairs of one list of which both hosts are at one place; seen when the later of both was not yet gone."""
    here = lists.join(places.filter(pl.col("place").is_not_null()), on="host")
    return (
        here.rename({"host": "host_a"})
        .join(here.rename({"host": "host_b"}), on=["list", "place"])
        .filter(pl.col("host_a") < pl.col("host_b"))
        .group_by(_PAIR)
        .agg(
            pl.concat_str(pl.lit(prefix), pl.col("place").min()).alias("source"),
            pl.min_horizontal("at", "at_right").max().alias("observed_at"),
        )
    )


def _coalesced(seen: pl.LazyFrame) -> pl.LazyFrame:
    carried = (
        seen.filter("secure", "answered", pl.col("connection_id").is_not_null())
        .group_by("visit_id", "connection_id")
        .agg(pl.col("host").unique().sort(), pl.col("at").first())
        .filter(pl.col("host").list.len() > 1)
    )
    members = carried.explode("host")
    return _last(
        members.rename({"host": "host_a"})
        .join(
            members.select("visit_id", "connection_id", pl.col("host").alias("host_b")),
            on=["visit_id", "connection_id"],
        )
        .filter(pl.col("host_a") < pl.col("host_b"))
    )


def _misdirected(tables: Mapping[str, pl.LazyFrame], seen: pl.LazyFrame) -> pl.LazyFrame:
    """Each host that a connection answered 421 for, against the connection's own and the others it answered."""
    place = ["visit_id", "connection_id"]
    opened = tables["connections"].select(*place, "first_host", "misdirected")
    by_log = opened.select(*place, pl.col("misdirected").alias("refused")).explode("refused").drop_nulls()
    by_status = seen.filter(~pl.col("answered"), pl.col("connection_id").is_not_null()).select(
        *place, pl.col("host").alias("refused")
    )
    started = tables["visits"].select("visit_id", pl.col("started_at").alias("at"))
    others = pl.concat(
        [
            opened.select(*place, pl.col("first_host").alias("host")),
            seen.filter("answered", pl.col("connection_id").is_not_null()).select(*place, "host"),
        ]
    )
    return _last(
        pl.concat([by_log, by_status])
        .unique()
        .join(others.unique().drop_nulls(), on=place)
        .filter(pl.col("refused") != pl.col("host"))
        .join(started, on="visit_id", how="left")
        .select(
            *place,
            "at",
            pl.min_horizontal("refused", "host").alias("host_a"),
            pl.max_horizontal("refused", "host").alias("host_b"),
        )
    )


def _last(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Of several connections that show the same the latest; of equally late ones the first by name."""
    chosen = pl.concat_str(pl.lit("connection "), "connection_id", pl.lit(" of visit "), "visit_id")
    return (
        rows.with_columns(chosen.alias("source"))
        .group_by(_PAIR)
        .agg(
            pl.col("source").sort_by(["at", "source"], descending=[True, False], nulls_last=True).first(),
            pl.col("at").max(),
        )
        .rename({"at": "observed_at"})
    )
