"""Which earlier group's connection could carry a later group's requests: yes, no, or not to be known.

Three values, as numbers: what is not known keeps both ways open (Kleene's logic: and is the least, or the greatest).
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.reference.browser_rules import BrowserRules, browser_rules
from originset.models.coverage import covering_certificates

NO, MAYBE, YES = 0, 1, 2

_HOLDER = (
    *("group", "host", "protocol", "credentialed", "third_party", "top_site", "cross_site", "at_home"),
    *("peer", "answers", "certificate_id", "names_known", "origins", "origins_ms", "connected_ms", "connection_id"),
)
_PAGE = ["visit_id", "port"]


def pairs(tables: Mapping[str, pl.LazyFrame], groups: pl.DataFrame) -> pl.DataFrame:
    """Every two groups of a page of which the earlier one's connection may be able to carry the later one's requests.

    ``groups``: with :func:`originset.models.browsers.servers.with_servers`. The earlier one's columns end in
    ``_held``. Besides: same_host, covers (its certificate, the later's host), reaches (its address is among the later
    host's answers), together (one connection carried both). Pairs of which the certificate is known not to cover the
    host are left out, and so are those of HTTP/1.1, which shares nothing.
    """
    # One that is for a WebSocket over HTTP/1.1 carries nothing else.
    shared = groups.filter(pl.col("requests") > pl.col("sockets"))
    held = shared.filter(pl.col("protocol").ne_missing("h1")).select(
        *_PAGE,
        *(pl.col(name).alias(f"{name}_held") for name in _HOLDER),
    )
    later = pl.col("group_held") < pl.col("group")
    alike = pl.any_horizontal(
        (pl.col("protocol") == pl.col("protocol_held")).fill_null(value=True),
        *(
            _other_protocol(way)
            for way in sorted(frozenset.union(*(each.carries_others for each in browser_rules().values())))
        ),
    )
    several = shared.filter(pl.len().over("visit_id", "host", "port") > 1)
    same_host = several.join(held, left_on=["visit_id", "host", "port"], right_on=["visit_id", "host_held", "port"])
    same_host = same_host.filter(later, alike).with_columns(pl.col("host").alias("host_held"))
    other = pl.col("host") != pl.col("host_held")
    sharing = shared.filter(pl.col("host").n_unique().over(_PAGE) > 1)
    covering = covering_certificates(tables, sharing.lazy().select("host")).collect()
    by_name = (
        sharing.join(covering.rename({"certificate_id": "certificate_id_held"}), on="host")
        .join(held.filter("names_known_held"), on=[*_PAGE, "certificate_id_held"])
        .filter(later, alike, other)
    )
    # Of a certificate whose names are not known, only the address, where known, rules anything out.
    unknown = sharing.join(held.filter(~pl.col("names_known_held")), on=_PAGE).filter(later, alike, other)
    columns = by_name.columns
    return (
        pl.concat(
            [
                same_host.select(columns).with_columns(pl.lit(YES, pl.Int8).alias("covers")),
                by_name.with_columns(pl.lit(YES, pl.Int8).alias("covers")),
                unknown.select(columns).with_columns(pl.lit(MAYBE, pl.Int8).alias("covers")),
            ]
        )
        .with_columns(
            (pl.col("host") == pl.col("host_held")).alias("same_host"),
            (pl.col("connection_id") == pl.col("connection_id_held")).fill_null(value=False).alias("together"),
        )
        .with_columns(
            reaches().alias("reaches"),
            # What carried both was found fit for both.
            pl.when("together").then(pl.lit(YES, pl.Int8)).otherwise("covers").alias("covers"),
        )
        .with_columns(pl.lit(value=False).alias("planned"))
        # Where names are not known, an address or a frame may do.
        .filter(pl.any_horizontal("same_host", pl.col("covers") == YES, pl.col("reaches") > NO, "together", _listed()))
        .sort("group", "group_held")
    )


def planned_pairs(tables: Mapping[str, pl.LazyFrame], groups: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """``found`` as it would be if the document's server announced, and its certificate named, all that it can.

    That is every host in its AS that is of its own registrable domain or covered already, and for which no server
    answered 421. What coalesces today it announces too.
    """
    places = tables["addresses"].select(pl.col("ip").alias("peer"), "asn").collect()
    located = (
        groups.filter(pl.col("protocol").is_in(["h2", "h3"]))
        .join(places, on="peer", how="left", maintain_order="left")
        .drop_nulls("asn")
    )
    columns = [name for name in found.columns if name.endswith("_held")]
    server = located.filter(pl.col("host") == pl.col("main_host")).select(
        *_PAGE, "asn", *(pl.col(name.removesuffix("_held")).alias(name) for name in columns)
    )
    both = ["group", "group_held"]
    covered = found.filter((pl.col("covers") == YES) & ~pl.col("same_host")).select(
        *both, pl.lit(value=True).alias("covered")
    )
    near = (
        located.filter(pl.col("host") != pl.col("main_host"), ~pl.col("misdirected"))
        .join(server, on=[*_PAGE, "asn"])
        .filter(pl.col("group_held") < pl.col("group"), pl.col("protocol") == pl.col("protocol_held"))
        .join(covered, on=both, how="left")
        .filter(pl.col("at_home") | pl.col("covered").fill_null(value=False))
        .with_columns(
            pl.lit(YES, pl.Int8).alias("covers"),
            pl.lit(value=False).alias("same_host"),
            pl.lit(value=False).alias("together"),
            pl.lit(value=True).alias("planned"),
        )
        .with_columns(reaches().alias("reaches"))
    )
    return pl.concat([found.join(near.select(both), on=both, how="anti"), near.select(found.columns)]).sort(both)


def joins(rules: BrowserRules) -> pl.Expr:
    """Whether a browser with ``rules`` would use the earlier connection, as an expression over rows of :func:`pairs`.

    That its server may answer 421 is not asked.
    """
    permits, restricts = (over(protocols) for protocols in (rules.origin_permits, rules.origin_restricts))
    framed, listed = _framed(), _listed()
    by_address = pl.col("reaches")
    if not rules.waits_for_connections_under_way:
        by_address = pl.min_horizontal(by_address, in_time())
    fit = pl.when(listed & permits).then(YES).when(framed & restricts).then(NO).otherwise(by_address).cast(pl.Int8)
    known = pl.when(pl.col("protocol").is_null() | pl.col("protocol_held").is_null()).then(MAYBE).otherwise(YES)
    alike = (pl.col("protocol") == pl.col("protocol_held")).fill_null(value=True)
    elsewhere = pl.min_horizontal(
        "covers",
        fit,
        same_pool(rules.pool),
        pl.when(alike | (_carries(rules) & ~pl.col("h2_denied"))).then(YES).otherwise(NO).cast(pl.Int8),
    )
    here = pl.min_horizontal(same_pool(rules.pool), pl.when(alike).then(YES).otherwise(NO).cast(pl.Int8))
    return pl.min_horizontal(pl.when("same_host").then(here).otherwise(elsewhere), known.cast(pl.Int8))


def _carries(rules: BrowserRules) -> pl.Expr:
    return pl.any_horizontal(pl.lit(value=False), *(_other_protocol(way) for way in sorted(rules.carries_others)))


def _other_protocol(way: str) -> pl.Expr:
    """The later one's own protocol and the earlier one's are those of ``way``, such as ``h1 over h2``."""
    own, _, over_which = way.partition(" over ")
    return ((pl.col("protocol") == own) & (pl.col("protocol_held") == over_which)).fill_null(value=False)


def shares_host(rules: BrowserRules) -> pl.Expr:
    """Whether requests without credentials would use the connection that the same name has for those with them."""
    if not rules.modes_share_host:
        return pl.lit(NO, pl.Int8)
    alike = pl.when((pl.col("protocol") == pl.col("protocol_held")).fill_null(value=True)).then(YES).otherwise(NO)
    modes = three(pl.col("credentialed_held") & ~pl.col("credentialed"))
    ways = [same_pool(rules.pool - {"credentials"}), modes, alike.cast(pl.Int8)]
    return pl.when("same_host").then(pl.min_horizontal(ways)).otherwise(pl.lit(NO, pl.Int8))


def in_time() -> pl.Expr:
    """Whether the earlier connection is established when the later one's name is there."""
    return three(pl.col("connected_ms_held") <= pl.col("ready_ms"))


def looked_up(rules: BrowserRules) -> pl.Expr:
    """Whether the later one's name is looked up although it uses the earlier connection."""
    return ~(_listed() & over(rules.origin_skips_lookup))


def same_pool(pool: frozenset[str]) -> pl.Expr:
    """Whether both are alike in all that a browser's pools of connections go by."""
    held = {name: pl.col(f"{name}_held") for name in ("credentialed", "third_party", "top_site", "cross_site")}
    alike = [pl.lit(YES, pl.Int8)]
    if "credentials" in pool:
        alike.append(three(pl.col("credentialed") == held["credentialed"]))
    if "third_party_cookies" in pool:
        # Without credentials there are no cookies to keep back.
        free = (~pl.col("cookies_blocked")) | (~pl.col("credentialed") & ~held["credentialed"])
        alike.append(three(free | (pl.col("third_party") == held["third_party"])))
    if "top_site" in pool:
        alike.append(three(pl.col("top_site") == held["top_site"]))
    if "cross_site_frame" in pool:
        alike.append(three(pl.col("cross_site") == held["cross_site"]))
    if "home_from_foreign_frame" in pool:
        back, held_back = pl.col("cross_site") & pl.col("at_home"), held["cross_site"] & pl.col("at_home_held")
        alike.append(three(back == held_back))
    return pl.min_horizontal(alike)


def three(known: pl.Expr) -> pl.Expr:
    """NO, MAYBE or YES for false, NULL and true."""
    return pl.when(known).then(YES).when(~known).then(NO).otherwise(MAYBE).cast(pl.Int8)


def over(protocols: frozenset[str]) -> pl.Expr:
    """Whether the connection is of one of these protocols."""
    return pl.coalesce("protocol_held", "protocol").is_in(list(protocols)).fill_null(value=False)


def _listed() -> pl.Expr:
    """The earlier connection's ORIGIN frames list the later one's origin."""
    return pl.col("planned") | (_framed() & pl.col("origins_held").list.contains(origin_of()).fill_null(value=False))


def _framed() -> pl.Expr:
    """The earlier connection had sent ORIGIN frames when the later one was asked for; with SETTINGS, or late."""
    in_time = pl.col("origins_ms_held").is_null() | (pl.col("origins_ms_held") <= pl.col("ready_ms"))
    return pl.col("origins_held").is_not_null() & in_time.fill_null(value=True)


def origin_of() -> pl.Expr:
    """The later one's origin as RFC 6454 section 6.2 writes it."""
    default = pl.col("port") == 443
    return pl.when(default).then("https://" + pl.col("host")).otherwise(pl.format("https://{}:{}", "host", "port"))


def reaches() -> pl.Expr:
    """Whether the earlier one's address is among the later host's answers."""
    peer, peers, answers = pl.col("peer_held"), pl.col("answers_held"), pl.col("answers")
    both = peers.list.set_intersection(answers).list.len()
    # A connection that carried both led to an address of both, unless a frame may have made up for it.
    by_address = (pl.col("protocol") == "h2") & pl.col("browser").ne_missing("firefox")
    return (
        pl.when((peer == pl.col("peer")).fill_null(value=False))
        .then(YES)
        .when(answers.is_null() & pl.col("together") & by_address)
        .then(YES)
        .when(answers.is_null())
        .then(MAYBE)
        .when(peer.is_not_null())
        .then(pl.when(answers.list.contains(peer)).then(YES).otherwise(NO))
        .when(peers.is_null())
        .then(MAYBE)
        .when(both == peers.list.len())
        .then(YES)
        .when(both > 0)
        .then(MAYBE)
        .otherwise(NO)
        .cast(pl.Int8)
    )
