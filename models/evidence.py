"""How sure it is that one server can answer for two hosts: what the study itself saw for it, and against it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from originset.data.schema import COLOCATION_EVIDENCE
from originset.models.coverage import covering_certificates
from originset.models.keys import by_number, of_categories
from originset.models.neighbours import (
    Places,
    beside,
    both_at,
    grouped,
    lists,
    packed,
    pair_of,
    places,
    sharing,
    told,
    unpacked,
)
from originset.models.parts import by_visits
from originset.models.texts import distinct, places_in
from originset.models.uses import Ints

SAME_EDGE, SAME_TENANT = 2, 3

_PAIR = ["host_a", "host_b"]

# Hosts for which certificates are looked up together.
_TOGETHER = 1_000_000


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of hosts and addresses.

    ``names``: all hosts that may be of a pair, sorted: their places are their numbers here. ``number``: of a host's
    category that number, -1 for others. ``hosts``: by number, edge and ``owner`` (categories) and multi_cdn.
    ``addresses``: by category, asn, organisation (a category) and ``public``.
    """

    names: pl.Series
    number: Ints
    hosts: pl.DataFrame
    addresses: pl.DataFrame

    def numbers(self, hosts: pl.Series) -> Ints:
        """Of each host (a text or a category) its number, -1 where it has none."""
        category = hosts.cast(pl.Categorical).to_physical().cast(pl.Int64)
        place = category.fill_null(self.number.size).clip(upper_bound=self.number.size).to_numpy()
        return np.asarray(np.append(self.number, -1)[place])


def colocation_evidence(tables: Mapping[str, pl.LazyFrame], visits: pl.DataFrame, uses: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``colocation_evidence``, ordered by their key, texts as categories.

    ``visits``: visit (a number), visit_id, at (when it began) and server (host of its document, where it has one).
    ``uses``: rows as :class:`originset.models.uses.Pages` has them, with ``visit`` in place of ``page``, and of their
    requests whether some were ``answered`` and some ``refused`` with 421.

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
    known = _known(tables, uses)
    visits = visits.with_columns(pl.Series("server", known.numbers(visits["server"])))
    where = _places(tables, visits, uses, known)
    found: defaultdict[str, list[pl.DataFrame]] = defaultdict(list)
    for some in by_visits(uses):
        for kind, pairs in _of_visits(visits, _seen(visits, some, known), where, known).items():
            found[kind].append(pairs)
    rows = [
        (0, "same_as", told(found.pop("same_as"), where["asn"], "AS")),
        (1, "same_organisation", told(found.pop("same_organisation"), where["organisation"], "")),
        (2, "same_edge", told(found.pop("same_edge"), where["edge"], "")),
        (2, "shared_address", told(found.pop("shared_address"), where["server_ip"], "address ")),
        (3, "certificate", told(found.pop("certificate"), where["certificate"], "certificate ")),
        (3, "owner_on_edge", told(found.pop("owner_on_edge"), where["owner"], "")),
        (5, "coalesced", _latest(pl.concat(found.pop("coalesced")))),
        (0, "misdirected", _misdirected(tables, uses, visits, known)),
    ]
    whole = pl.concat(
        frame.select(
            "pair",
            pl.col("source").cast(pl.Categorical),
            "observed_at",
            pl.lit(level, pl.Int32).alias("level"),
            pl.lit(kind, pl.Categorical).alias("kind"),
            pl.lit(kind == "misdirected").alias("contradicts"),
        )
        for level, kind, frame in rows
    ).sort("pair", "level", "kind")
    del rows
    hosts = known.names.cast(pl.Categorical)
    return whole.with_columns(
        hosts.gather(whole.select(number).to_series()).alias(name)
        for name, number in zip(_PAIR, unpacked("pair"), strict=True)
    ).select(COLOCATION_EVIDENCE.polars_schema.names())


def pair_levels(evidence: pl.LazyFrame, least: int = 0) -> pl.LazyFrame:
    """``host_a``, ``host_b`` (each pair once), ``level`` (the highest), ``contradicts`` (something speaks against).

    Of pairs that have evidence of ``least`` or more, or something against them.
    """
    telling = evidence.filter((pl.col("level") >= least) | pl.col("contradicts"))
    return telling.group_by(_PAIR).agg(pl.col("level").max(), pl.col("contradicts").any())


def levels(tables: Mapping[str, pl.LazyFrame], evidence: pl.LazyFrame, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """``pairs`` (``server``, ``host``: texts or categories) in their order, with ``level`` and ``same_owner``.

    ``level`` is that of the best evidence, 0 where there is none or something contradicts, 5 for a host and itself.
    ``same_owner``: both have one registrable domain; NULL where one of them has none.
    """
    rows = pairs.collect()
    asked = rows.select(pl.col("server", "host").cast(pl.Categorical))
    pair = asked.select(pl.all().to_physical()).select(pair_of("server", "host")).with_row_index("row")
    each = evidence.select("level", "contradicts", *(pl.col(name).cast(pl.Categorical).to_physical() for name in _PAIR))
    known = each.select(pair_of(*_PAIR), "level", "contradicts").join(pair.lazy(), on="pair").collect()
    best = np.zeros(rows.height, np.int32)
    np.maximum.at(best, known["row"].to_numpy(), known["level"].to_numpy())
    best[known.filter("contradicts")["row"].to_numpy()] = 0
    best[(asked["server"] == asked["host"]).fill_null(value=False).to_numpy()] = 5
    names, name = distinct(pl.concat([asked["server"], asked["host"]]))
    hosts = tables["hosts"].select("host", "registrable_domain").collect()
    place = np.append(places_in(hosts["host"], names), -1)[name]
    owner = hosts["registrable_domain"].gather(pl.Series(place).replace(-1, None))
    same_owner = owner.head(rows.height) == owner.tail(rows.height)
    return rows.lazy().with_columns(pl.Series("level", best), same_owner.alias("same_owner"))


def misdirected_hosts(tables: Mapping[str, pl.LazyFrame], uses: pl.DataFrame) -> pl.DataFrame:
    """Hosts for which some server of the study answered 421, once each: as responses show it, or connections do."""
    answered = uses.lazy().filter("refused").select(pl.col("host").cast(pl.String))
    refused = tables["connections"].select(pl.col("misdirected").alias("host")).explode("host")
    return pl.concat([answered, refused]).drop_nulls().unique().collect()


def _known(tables: Mapping[str, pl.LazyFrame], uses: pl.DataFrame) -> _Known:
    refusing = tables["connections"].filter(pl.col("misdirected").list.len() > 0)
    refused = refusing.select(pl.col("misdirected").alias("host")).explode("host")
    asked = uses.lazy().select(pl.col("host").unique().cast(pl.String))
    hosts = pl.concat([asked, refused, refusing.select(pl.col("first_host").alias("host"))])
    names = hosts.unique().drop_nulls().collect()["host"].sort()
    categories = names.cast(pl.Categorical)
    category = categories.to_physical().to_numpy()
    number = np.full(int(category.max(initial=0)) + 1, -1)
    number[category] = np.arange(category.size)
    of_hosts = tables["hosts"].select(
        pl.col("host").cast(pl.Categorical).alias("of"),
        pl.col("edge").cast(pl.Categorical),
        pl.col("registrable_domain").cast(_categories()).alias("owner"),
        "multi_cdn",
    )
    # Not at addresses that may be a proxy's.
    public = ~pl.col("kind").is_in(["private", "bogon"]).fill_null(value=False)
    of = pl.col("ip").cast(pl.Categorical).alias("of")
    facts = tables["addresses"].select(of, "asn", pl.col("organisation").cast(pl.Categorical), public.alias("public"))
    return _Known(names, number, of_categories(categories, by_number(of_hosts)), by_number(facts))


def _categories() -> pl.Categorical:
    """Categories that nothing else has: their texts go when their last column goes."""
    return pl.Categorical(pl.Categories.random())


def _seen(visits: pl.DataFrame, uses: pl.DataFrame, known: _Known) -> pl.DataFrame:
    """Each host (a number) at each address and connection of each visit, and when it was.

    ``served``: it answered there over https, so that the address is its own.
    """
    somewhere = pl.col("server_ip").is_not_null() | pl.col("connection_id").is_not_null()
    rows = uses.filter(pl.col("host").is_not_null(), somewhere)
    return rows.select(
        "visit",
        pl.Series("host", known.numbers(rows["host"])).cast(pl.UInt32),
        "server_ip",
        pl.when("certain").then("connection_id").alias("connection_id"),
        pl.col("answered") & pl.col("secure"),
        *of_categories(rows["server_ip"], known.addresses).get_columns(),
    ).join(visits.select("visit", "at"), on="visit", how="left", maintain_order="left")


def _places(
    tables: Mapping[str, pl.LazyFrame], visits: pl.DataFrame, uses: pl.DataFrame, known: _Known
) -> dict[str, Places]:
    """By kind, where hosts are: an address, AS, organisation, edge, certificate or owner, and when they last were."""
    served = pl.col("answered") & pl.col("server_ip").is_not_null() & pl.col("public").fill_null(value=False)
    at = pl.col("at")
    each = [
        _seen(visits, some, known)
        .group_by("host", "server_ip")
        .agg(at.max(), served.any().alias("served"), pl.when(served).then(at).max().alias("served_at"))
        for some in by_visits(uses)
    ]
    by_address = (
        pl.concat(each).group_by("host", "server_ip").agg(at.max(), pl.col("served").any(), pl.col("served_at").max())
    )
    by_address = by_address.with_columns(of_categories(by_address["server_ip"], known.addresses).get_columns())
    seen = by_address.group_by("host").agg(at.max())
    seen = seen.with_columns(known.hosts.select(pl.all().gather(seen["host"])).get_columns())
    # A host with several CDNs is on this edge at times, and nobody knows when.
    on_edge = seen.filter(pl.col("multi_cdn").ne_missing(other=True))

    def of_addresses(column: str) -> Places:
        rows = by_address.select("host", pl.col(column).alias("place"), "at").drop_nulls("place")
        return places(rows.group_by("host", "place").agg(at.max()))

    return {
        "asn": of_addresses("asn"),
        "organisation": of_addresses("organisation"),
        "server_ip": places(
            by_address.filter("served").select(
                "host", pl.col("server_ip").alias("place"), pl.col("served_at").alias("at")
            )
        ),
        "edge": places(on_edge.select("host", pl.col("edge").alias("place"), "at")),
        "certificate": places(_certified(tables, seen, known)),
        "owner": places(seen.select("host", pl.col("owner").alias("place"), "at")),
    }


def _certified(tables: Mapping[str, pl.LazyFrame], seen: pl.DataFrame, known: _Known) -> pl.DataFrame:
    """``host``, ``place`` (a certificate that covers it) and ``at`` of the hosts that were seen."""
    certificates = _categories()
    named = seen.select(number="host", host=known.names.gather(seen["host"]))
    slices = list(named.iter_slices(_TOGETHER)) or [named]
    found = pl.concat(covering_certificates(tables, some.lazy(), certificates, "number") for some in slices)
    return found.select(host="number", place="certificate_id").join(seen.select("host", "at"), on="host")


def _of_visits(
    visits: pl.DataFrame, seen: pl.DataFrame, where: Mapping[str, Places], known: _Known
) -> dict[str, pl.DataFrame]:
    """By kind of evidence, the pairs for which some visits give it, and where they are or what showed it."""
    groups = _groups(seen, known)
    visit = visits["visit"].to_numpy()
    server = np.full(int(visit.max(initial=-1)) + 1, -1)
    server[visit] = visits["server"].to_numpy()
    own = pl.concat(
        beside(group, server[group.select(unpacked("group")[0]).to_series().to_numpy()]) for group in groups
    )
    own = own.unique()
    together = lists(groups)
    on_edge, at_address = sharing(together, where["edge"]), sharing(together, where["server_ip"])
    owned = sharing(together, where["owner"])
    near = pl.concat([on_edge["pair"], at_address["pair"]])
    return {
        "same_as": both_at(own, where["asn"]),
        "same_organisation": both_at(own, where["organisation"]),
        "same_edge": on_edge,
        "shared_address": at_address,
        "certificate": sharing(together, where["certificate"]),
        "owner_on_edge": owned.filter(pl.col("pair").is_in(near.implode())),
        "coalesced": _coalesced(seen, visits),
    }


def _groups(seen: pl.DataFrame, known: _Known) -> list[pl.DataFrame]:
    """The hosts of a page that have one thing in common, as :func:`originset.models.neighbours.grouped` gives them."""
    in_no_as = pl.when(pl.col("asn").is_null()).then(pl.col("server_ip").to_physical())
    located = pl.col("server_ip").is_not_null()
    kinds = [
        seen.filter(located).select("visit", "host", pl.col("asn").alias("place")),
        seen.select("visit", "host", in_no_as.alias("place")),
        seen.select("visit", "host", pl.col("organisation").to_physical().alias("place")),
        seen.select("visit", "host", known.hosts["edge"].gather(seen["host"]).to_physical().alias("place")),
    ]
    return [
        grouped(kind.drop_nulls("place").select(packed(pl.col("visit"), pl.col("place")).alias("group"), "host"))
        for kind in kinds
    ]


def _coalesced(seen: pl.DataFrame, visits: pl.DataFrame) -> pl.DataFrame:
    """The pairs that some connection carried, with the latest: as :func:`_latest` gives them."""
    carried = seen.filter("answered", pl.col("connection_id").is_not_null())
    # Nearly every connection carries one host: what no other row has is left out before rows are compared.
    place = pl.col("visit").cast(pl.Int64) * 1_000_003 + pl.col("connection_id")
    carried = carried.filter(place.is_duplicated()).select("visit", "connection_id", "host", "at").unique()
    pairs = (
        carried.join(carried.drop("at"), on=["visit", "connection_id"])
        .filter(pl.col("host") < pl.col("host_right"))
        .select("visit", "connection_id", "at", pair_of("host", "host_right"))
    )
    return _last(pairs, visits)


def _misdirected(
    tables: Mapping[str, pl.LazyFrame], uses: pl.DataFrame, visits: pl.DataFrame, known: _Known
) -> pl.DataFrame:
    """Each host that a connection answered 421 for, against the connection's own and the others it answered."""
    place = ["visit", "connection_id"]
    of_visits = visits.lazy().select("visit", "visit_id")
    told = pl.col("certain") & pl.col("host").is_not_null() & pl.col("connection_id").is_not_null()
    by_status = uses.lazy().filter(told & ~pl.col("answered")).select(*place, refused=pl.col("host").cast(pl.String))
    logged = (
        tables["connections"]
        .filter(pl.col("misdirected").list.len() > 0)
        .select("visit_id", "connection_id", "misdirected")
        .join(of_visits, on="visit_id")
        .select(*place, pl.col("misdirected").alias("refused"))
        .explode("refused")
        .drop_nulls()
    )
    refused = pl.concat([logged, by_status]).unique().collect()
    here = refused.lazy().select(place).unique()
    opened = (
        tables["connections"]
        .select("visit_id", "connection_id", pl.col("first_host").alias("host"))
        .join(of_visits, on="visit_id")
        .join(here, on=place, how="semi")
        .select(*place, "host")
    )
    others = uses.lazy().join(here, on=place, how="semi").filter(told & pl.col("answered"))
    others = pl.concat([opened, others.select(*place, pl.col("host").cast(pl.String))]).unique().drop_nulls()
    pairs = refused.join(others.collect(), on=place).filter(pl.col("refused") != pl.col("host"))
    numbered = pairs.with_columns(pl.Series(name, known.numbers(pairs[name])) for name in ("refused", "host"))
    return _last(
        numbered.filter(pl.min_horizontal("refused", "host") >= 0)
        .join(visits.select("visit", "at"), on="visit", how="left")
        .select(*place, "at", pair_of("refused", "host")),
        visits,
    )


def _last(rows: pl.DataFrame, visits: pl.DataFrame) -> pl.DataFrame:
    """Of several connections that show the same the latest; of equally late ones the first by name."""
    chosen = pl.concat_str(pl.lit("connection "), "connection_id", pl.lit(" of visit "), "visit_id")
    named = rows.join(visits.select("visit", "visit_id"), on="visit")
    return _latest(named.select("pair", chosen.alias("source"), pl.col("at").alias("observed_at")))


def _latest(rows: pl.DataFrame) -> pl.DataFrame:
    latest = pl.col("source").sort_by(["observed_at", "source"], descending=[True, False], nulls_last=True).first()
    return rows.group_by("pair").agg(latest, pl.col("observed_at").max())
