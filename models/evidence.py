"""How sure it is that one server can answer for two hosts: what the study itself saw for it, and against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from originset.data.schema import COLOCATION_EVIDENCE
from originset.models.coverage import covering_certificates

SAME_EDGE, SAME_TENANT = 2, 3

# Uses looked at together.
SLICE = 1_000_000

_PAIR = ["host_a", "host_b"]
_ROW = [*_PAIR, "source", "observed_at"]


def colocation_evidence(tables: Mapping[str, pl.LazyFrame], visits: pl.DataFrame, uses: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``colocation_evidence``, ordered by their key.

    ``visits``: visit (a number), visit_id, at (when it began) and server (host of its document, a category, where it
    has one). ``uses``: rows as :class:`originset.models.uses.Pages` has them, with ``visit`` in place of ``page`` and
    with ``asn``.

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
    names = _names(tables, uses)
    all_hosts, addresses = _hosts(tables, names), _addresses(tables)
    of_visits = [
        _of_visits(visits, _seen(visits, some, names), all_hosts, addresses, names) for some in by_visits(uses)
    ]
    seen = {name: pl.concat([part[name] for part in of_visits]) for name in of_visits[0]}
    del of_visits
    for place in ("server_ip", "asn", "organisation"):
        seen[place] = seen[place].group_by("host", "place").agg(pl.col("at").max())
    lists = _numbered(seen.pop("groups").unique("text")).lazy()
    beside = _numbered(seen.pop("beside").unique().select(pl.concat_list("server", "host").alias("host"))).lazy()
    last = seen["hosts"].group_by("host").agg(pl.col("at").max()).lazy()
    hosts = all_hosts.join(last, on="host")
    # A host with several CDNs is on this edge at times, and nobody knows when.
    on_edge = hosts.filter(pl.col("multi_cdn").ne_missing(other=True))
    same_edge = _sharing(lists, on_edge.select("host", "at", pl.col("edge").alias("place")), "")
    shared_address = _sharing(lists, seen["server_ip"].lazy(), "address ")
    same_edge, shared_address = (frame.collect().lazy() for frame in (same_edge, shared_address))  # used twice
    certified = (
        covering_certificates(tables, lists.select(pl.col("host").cast(pl.String)).unique())
        .with_columns(pl.col("host").cast(names), pl.col("certificate_id").cast(pl.Categorical).alias("place"))
        .join(last, on="host")
    )
    owners = _sharing(lists, hosts.select("host", "at", pl.col("registrable_domain").alias("place")), "")
    together = pl.concat([same_edge, shared_address]).select(_PAIR).unique()
    found = [
        (0, "same_as", _sharing(beside, seen["asn"].lazy(), "AS")),
        (1, "same_organisation", _sharing(beside, seen["organisation"].lazy(), "")),
        (2, "same_edge", same_edge),
        (2, "shared_address", shared_address),
        (3, "certificate", _sharing(lists, certified, "certificate ")),
        (3, "owner_on_edge", owners.join(together, on=_PAIR, how="semi")),
        (5, "coalesced", _latest(seen["coalesced"].lazy())),
        (0, "misdirected", _misdirected(tables, uses, visits, names)),
    ]
    rows = [
        frame.select(
            *_ROW,
            pl.lit(level).alias("level"),
            pl.lit(kind).alias("kind"),
            pl.lit(kind == "misdirected").alias("contradicts"),
        ).collect()
        for level, kind, frame in found
    ]
    return (
        pl.concat(rows)
        .sort("host_a", "host_b", "level", "kind")
        .select(pl.col(name).cast(kind) for name, kind in COLOCATION_EVIDENCE.polars_schema.items())
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
    asked = (
        pairs.select("server", "host")
        .unique()
        .with_columns(
            pl.min_horizontal("server", "host").alias("host_a"), pl.max_horizontal("server", "host").alias("host_b")
        )
        .collect()
        .lazy()  # used twice
    )
    named = pl.concat([asked.select("host"), asked.select(pl.col("server").alias("host"))])
    owner = (
        tables["hosts"]
        .select("host", pl.col("registrable_domain").alias("owner"))
        .join(named, on="host", how="semi")
        .collect()
        .lazy()  # used twice
    )
    known = pair_levels(evidence.join(asked, on=_PAIR, how="semi")).select(
        *_PAIR, pl.when("contradicts").then(0).otherwise("level").cast(pl.Int32).alias("level")
    )
    return (
        asked.join(owner.rename({"host": "server", "owner": "server_owner"}), on="server", how="left")
        .join(owner, on="host", how="left")
        .join(known, on=_PAIR, how="left")
        .select(
            "server",
            "host",
            pl.when(pl.col("server") == pl.col("host")).then(5).otherwise(pl.col("level").fill_null(0)).alias("level"),
            (pl.col("server_owner") == pl.col("owner")).alias("same_owner"),
        )
    )


def misdirected_hosts(tables: Mapping[str, pl.LazyFrame], uses: pl.DataFrame) -> pl.DataFrame:
    """Hosts for which some server of the study answered 421, once each: as responses show it, or connections do."""
    answered = uses.lazy().filter(pl.col("refused") > 0).select(pl.col("host").cast(pl.String))
    refused = tables["connections"].select(pl.col("misdirected").alias("host")).explode("host")
    return pl.concat([answered, refused]).drop_nulls().unique().collect()


def _names(tables: Mapping[str, pl.LazyFrame], uses: pl.DataFrame) -> pl.Enum:
    """All hosts that may be of a pair, in the order of the alphabet, so that their numbers compare as they do."""
    refusing = tables["connections"].filter(pl.col("misdirected").list.len() > 0)
    refused = refusing.select(pl.col("misdirected").alias("host")).explode("host")
    asked = uses.lazy().select(pl.col("host").unique().cast(pl.String))
    hosts = pl.concat([asked, refused, refusing.select(pl.col("first_host").alias("host"))])
    return pl.Enum(hosts.unique().drop_nulls().collect()["host"].sort())


def _hosts(tables: Mapping[str, pl.LazyFrame], names: pl.Enum) -> pl.LazyFrame:
    texts = ("edge", "registrable_domain")
    known = tables["hosts"].select(pl.col("host").cast(names, strict=False), *texts, "multi_cdn")
    return known.filter(pl.col("host").is_not_null()).cast(dict.fromkeys(texts, pl.Categorical)).collect().lazy()


def _addresses(tables: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    texts = ("server_ip", "organisation", "kind")
    known = tables["addresses"].select(pl.col("ip").alias("server_ip"), "organisation", "kind")
    return known.cast(dict.fromkeys(texts, pl.Categorical)).collect().lazy()


def by_visits(rows: pl.DataFrame, size: int = SLICE) -> Iterator[pl.DataFrame]:
    """``rows``, by ``visit``, some whole visits after another: slices of about ``size`` rows, at least one."""
    visit, first = rows["visit"].to_numpy(), 0
    while first == 0 or first < rows.height:
        end = min(first + size, rows.height)
        end = int(np.searchsorted(visit, visit[end - 1], side="right")) if end > first else end
        yield rows.slice(first, end - first)
        first = max(end, 1)


def _of_visits(
    visits: pl.DataFrame, seen: pl.LazyFrame, hosts: pl.LazyFrame, addresses: pl.LazyFrame, names: pl.Enum
) -> dict[str, pl.DataFrame]:
    """What some visits say, so that it can be put together with what others say.

    ``groups``: ``text`` and ``host``, each distinct group of hosts once. ``beside``: ``server`` and ``host``, each
    document's host with each other host of a group of its page. ``server_ip``, ``asn`` and ``organisation``: ``host``,
    ``place`` and when the host was last seen there. ``hosts``: ``host``, ``at``. ``coalesced``: pairs, their source.
    """
    groups = _groups(seen, hosts, addresses)
    servers = visits.lazy().select("visit", pl.col("server").cast(names)).drop_nulls()
    own = groups.join(servers, on="visit").filter(pl.col("host").list.contains(pl.col("server")))
    # Not at addresses that may be a proxy's.
    served = seen.filter("secure", "answered").join(addresses, on="server_ip")
    served = served.filter(pl.col("kind").ne_missing("private"), pl.col("kind").ne_missing("bogon"))
    of_organisation = seen.join(addresses, on="server_ip").filter(pl.col("organisation").is_not_null())
    text = pl.col("host").list.eval(pl.element().to_physical().cast(pl.String)).list.join(" ")
    return {
        "groups": groups.select(text.alias("text"), "host").unique("text").collect(),
        "beside": own.select("server", "host")
        .explode("host")
        .filter(pl.col("host") != pl.col("server"))
        .unique()
        .collect(),
        "server_ip": _places(served, "server_ip").collect(),
        "asn": _places(seen, "asn").collect(),
        "organisation": _places(of_organisation, "organisation").collect(),
        "hosts": seen.group_by("host").agg(pl.col("at").max()).collect(),
        "coalesced": _coalesced(seen, visits).collect(),
    }


def _numbered(lists: pl.DataFrame) -> pl.DataFrame:
    """``list`` and ``host``, a row for each host of each list."""
    return lists.select(pl.int_range(pl.len()).alias("list"), "host").explode("host")


def _seen(visits: pl.DataFrame, uses: pl.DataFrame, names: pl.Enum) -> pl.LazyFrame:
    """Each host at each address and connection of each visit, and when it was."""
    return (
        uses.lazy()
        .filter(pl.col("host").is_not_null(), pl.col("server_ip").is_not_null() | pl.col("connection_id").is_not_null())
        .select(
            "visit",
            pl.col("host").cast(names),
            "server_ip",
            "asn",
            pl.when("certain").then("connection_id").alias("connection_id"),
            "secure",
            (pl.col("refused") < pl.col("requests")).alias("answered"),
        )
        .join(visits.lazy().select("visit", "at"), on="visit", how="left", maintain_order="left")
        .collect()
        .lazy()
    )


def _groups(seen: pl.LazyFrame, hosts: pl.LazyFrame, addresses: pl.LazyFrame) -> pl.LazyFrame:
    """``visit`` and ``host``: the hosts of a page that have one thing in common, sorted, two at least."""
    located = seen.filter(pl.col("server_ip").is_not_null()).select("visit", "host", "server_ip", "asn").unique()
    alone = located.filter(pl.col("asn").is_null())
    kinds = [
        located.select("visit", "host", pl.col("asn").alias("place")),
        alone.select("visit", "host", pl.col("server_ip").alias("place")),
        located.join(addresses, on="server_ip").select("visit", "host", pl.col("organisation").alias("place")),
        seen.select("visit", "host")
        .unique()
        .join(hosts, on="host")
        .select("visit", "host", pl.col("edge").alias("place")),
    ]
    groups = [
        kind.filter(pl.col("place").is_not_null())
        .group_by("visit", "place")
        .agg(pl.col("host").unique().sort())
        .filter(pl.col("host").list.len() > 1)
        .select("visit", "host")
        .collect()
        for kind in kinds
    ]
    return pl.concat(groups).lazy()


def _places(seen: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """``host``, ``place`` and when the host was last seen there."""
    return seen.filter(pl.col(name).is_not_null()).group_by("host", pl.col(name).alias("place")).agg(pl.col("at").max())


def _sharing(lists: pl.LazyFrame, places: pl.LazyFrame, prefix: str) -> pl.LazyFrame:
    """The pairs of one list of which both hosts are at one place; seen when the later of both was not yet gone."""
    known = places.filter(pl.col("place").is_not_null()).collect()
    here = lists.join(known.lazy(), on="host")
    pairs = (
        here.rename({"host": "host_a"})
        .join(here.rename({"host": "host_b"}), on=["list", "place"])
        .filter(pl.col("host_a") < pl.col("host_b"))
        .select(*_PAIR, "place", pl.min_horizontal("at", "at_right").alias("at"))
        .unique([*_PAIR, "place"])
    )
    return pairs.group_by(_PAIR).agg(
        pl.concat_str(pl.lit(prefix), pl.col("place").cast(pl.String).min()).alias("source"),
        pl.col("at").max().alias("observed_at"),
    )


def _coalesced(seen: pl.LazyFrame, visits: pl.DataFrame) -> pl.LazyFrame:
    carried = (
        seen.filter("secure", "answered", pl.col("connection_id").is_not_null())
        .select("visit", "connection_id", "host", "at")
        .unique()
        .filter(pl.len().over("visit", "connection_id") > 1)
        .collect()
        .lazy()
    )
    pairs = (
        carried.rename({"host": "host_a"})
        .join(
            carried.select("visit", "connection_id", pl.col("host").alias("host_b")),
            on=["visit", "connection_id"],
        )
        .filter(pl.col("host_a") < pl.col("host_b"))
    )
    return _last(pairs, visits)


def _misdirected(
    tables: Mapping[str, pl.LazyFrame], uses: pl.DataFrame, visits: pl.DataFrame, names: pl.Enum
) -> pl.LazyFrame:
    """Each host that a connection answered 421 for, against the connection's own and the others it answered."""
    place = ["visit", "connection_id"]
    of_visits = visits.lazy().select("visit", "visit_id", "at")
    answered = pl.col("refused") < pl.col("requests")
    certain = uses.lazy().filter("certain", pl.col("host").is_not_null(), pl.col("connection_id").is_not_null())
    by_status = certain.filter(~answered).select(*place, pl.col("host").cast(names).alias("refused"))
    logged = (
        tables["connections"]
        .filter(pl.col("misdirected").list.len() > 0)
        .select("visit_id", "connection_id", "misdirected")
        .join(of_visits, on="visit_id")
        .select(*place, pl.col("misdirected").alias("refused"))
        .explode("refused")
        .drop_nulls()
        .with_columns(pl.col("refused").cast(names))
    )
    refused = pl.concat([logged, by_status]).unique().collect().lazy()
    here = refused.select(place).unique()
    opened = (
        tables["connections"]
        .select("visit_id", "connection_id", "first_host")
        .join(of_visits, on="visit_id")
        .join(here, on=place)
        .select(*place, pl.col("first_host").cast(names, strict=False).alias("host"))
    )
    others = certain.filter(answered).join(here, on=place, how="semi").select(*place, pl.col("host").cast(names))
    others = pl.concat([opened, others])
    pairs = (
        refused.join(others.unique().drop_nulls(), on=place)
        .filter(pl.col("refused") != pl.col("host"))
        .join(of_visits, on="visit", how="left")
        .select(
            *place,
            "at",
            pl.when(pl.col("refused") < pl.col("host")).then("refused").otherwise("host").alias("host_a"),
            pl.when(pl.col("refused") < pl.col("host")).then("host").otherwise("refused").alias("host_b"),
        )
    )
    return _last(pairs, visits)


def _last(rows: pl.LazyFrame, visits: pl.DataFrame) -> pl.LazyFrame:
    """Of several connections that show the same the latest; of equally late ones the first by name."""
    chosen = pl.concat_str(pl.lit("connection "), "connection_id", pl.lit(" of visit "), "visit_id")
    named = rows.join(visits.lazy().select("visit", "visit_id"), on="visit")
    return _latest(named.select(*_PAIR, chosen.alias("source"), pl.col("at").alias("observed_at")))


def _latest(rows: pl.LazyFrame) -> pl.LazyFrame:
    latest = pl.col("source").sort_by(["observed_at", "source"], descending=[True, False], nulls_last=True).first()
    return rows.group_by(_PAIR).agg(latest, pl.col("observed_at").max())
