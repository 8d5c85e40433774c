"""Which earlier group's connection could carry a later group's requests: yes, no, or not to be known.

Three values, as numbers: what is not known keeps both ways open (Kleene's logic: and is the least, or the greatest).
"""

from __future__ import annotations

from functools import cache

import polars as pl

from originset.data.reference.browser_rules import BrowserRules, browser_rules
from originset.models.browsers.known import Known
from originset.models.browsers.part import earlier_alike, few, grouped, keyed, numbers

NO, MAYBE, YES = 0, 1, 2

# Of a group, what decides whether it can use another's connection; and what its own is to others.
_OWN = (
    *("visit_id", "host", "port", "protocol", "credentialed", "third_party", "top_site", "cross_site", "at_home"),
    *("cookies_blocked", "browser", "peer", "answers", "connection_id", "ready_ms", "misdirected", "h2_denied"),
)
_HOLDER = (
    *("host", "protocol", "credentialed", "third_party", "top_site", "cross_site", "at_home"),
    *("peer", "answers", "certificate_id", "origins", "origins_ms", "connected_ms", "connection_id"),
)
_PAGE = ["visit_id", "port"]
_BOTH = ["group", "group_held"]


def pairs(known: Known, groups: pl.DataFrame, names: pl.DataFrame | None = None) -> pl.DataFrame:
    """Every two groups of a page of which the earlier one's connection may be able to carry the later one's requests.

    ``groups``: with :func:`originset.models.browsers.servers.with_servers`. The earlier one's columns end in
    ``_held``. Besides: same_host, covers (its certificate, the later's host), reaches (its address is among the later
    host's answers), together (one connection carried both), in_set (its ORIGIN frames list the later's origin). Pairs
    of which the certificate is known not to cover the host are left out, and so are those of HTTP/1.1, which shares
    nothing. ``names``: hosts that certificates (certificate_id) cover besides what is known of them.
    """
    page, _ = grouped(keyed(numbers(groups["visit_id"]), few(groups["port"])))
    narrow = groups.select("group", "host", "protocol", "certificate_id", "names_known", "requests", "sockets")
    # One that is for a WebSocket over HTTP/1.1 carries nothing else.
    shared = narrow.with_columns(pl.Series("page", page)).filter(pl.col("requests") > pl.col("sockets"))
    shared = shared.drop("requests", "sockets").filter(pl.len().over("page") > 1)
    held = shared.filter(pl.col("protocol").ne_missing("h1")).rename(
        {name: f"{name}_held" for name in ("group", "host", "protocol", "certificate_id", "names_known")}
    )
    alike = pl.any_horizontal(
        (pl.col("protocol") == pl.col("protocol_held")).fill_null(value=True),
        *(
            _other_protocol(way)
            for way in sorted(frozenset.union(*(each.carries_others for each in browser_rules().values())))
        ),
    )
    later = (pl.col("group_held") < pl.col("group")) & (pl.col("host") != pl.col("host_held")) & alike
    second, first = earlier_alike(keyed((shared["page"].to_numpy(), groups.height + 1), numbers(shared["host"])))
    ends = shared.select("group", "protocol")
    same_host = ends[second].hstack(ends.rename(lambda name: f"{name}_held")[first])
    same_host = same_host.filter(pl.col("protocol_held").ne_missing("h1"), alike)
    covering = known.covering(shared["host"].unique())
    if names is not None:
        covering = pl.concat([covering, names.select(covering.columns)]).unique()
    covering = covering.join(
        held.select("certificate_id_held"), left_on="certificate_id", right_on="certificate_id_held", how="semi"
    )
    # A page and a certificate are one number to compare.
    shown = pl.col("page") * 2**32 + pl.col("certificate_id").to_physical()
    by_name = (
        shared.drop("certificate_id", "names_known")
        .join(covering, on="host")
        .with_columns(shown.alias("shown"))
        .join(
            held.filter("names_known_held")
            .rename({"certificate_id_held": "certificate_id"})
            .select("group_held", "host_held", "protocol_held", shown.alias("shown")),
            on="shown",
        )
        .filter(later)
    )
    # Of a certificate whose names are not known, only the address, where known, rules anything out.
    unknown = shared.join(held.filter(~pl.col("names_known_held")), on="page").filter(later)
    found = pl.concat(
        frame.select(*_BOTH, pl.lit(covers, pl.Int8).alias("covers"))
        for frame, covers in ((same_host, YES), (by_name, YES), (unknown, MAYBE))
    )
    return (
        _facing(groups, found)
        .with_columns(
            (pl.col("connection_id") == pl.col("connection_id_held")).fill_null(value=False).alias("together"),
            pl.lit(value=False).alias("planned"),
        )
        .with_columns(
            _reaches(groups),
            # What carried both was found fit for both.
            pl.when("together").then(pl.lit(YES, pl.Int8)).otherwise("covers").alias("covers"),
        )
        # Where names are not known, an address or a frame may do.
        .filter(pl.any_horizontal("same_host", pl.col("covers") == YES, pl.col("reaches") > NO, "together", _listed()))
        .sort(_BOTH)
    )


def _facing(groups: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Pairs (group, group_held, ...) with the columns of both groups, same_host and in_set."""
    held = groups.select(_HOLDER)[found["group_held"]].select(pl.all().name.suffix("_held"))
    rows = found.hstack(groups.select(_OWN)[found["group"]]).hstack(held)
    listed = pl.lit(value=False)
    if groups["origins"].null_count() < groups.height:
        listed = pl.col("origins_held").list.contains(origin_of()).fill_null(value=False)
    return rows.with_columns((pl.col("host") == pl.col("host_held")).alias("same_host"), listed.alias("in_set"))


def _reaches(groups: pl.DataFrame) -> pl.Expr:
    return reaches(answers=groups["answers"].null_count() < groups.height).alias("reaches")


def could_join(groups: pl.DataFrame, near: pl.DataFrame) -> pl.DataFrame:
    """Pairs (group, group_held) as rows of :func:`pairs` if the earlier one's server announced and named the later."""
    return _facing(groups, near).with_columns(
        pl.lit(YES, pl.Int8).alias("covers"),
        pl.lit(value=False).alias("same_host"),
        pl.lit(value=False).alias("together"),
        pl.lit(value=True).alias("planned"),
    ).with_columns(_reaches(groups))  # fmt: skip


def serving(found: pl.DataFrame, own: pl.Series) -> pl.Series:
    """Whether each group's connection is one of a server: ``own`` says which groups are for its own host.

    So are earlier ones that lead to it by address and carry what is for that host, as where another redirects to it.
    """
    by_address = (
        ~pl.col("same_host")
        & ~pl.col("misdirected")
        & (pl.col("covers") == YES)
        & (pl.col("reaches") == YES)
        & (pl.col("protocol") == pl.col("protocol_held"))
    )
    serves = own.to_numpy().copy()
    of_server = found.select("group_held", *sorted(by_address.meta.root_names())).filter(own.gather(found["group"]))
    serves[of_server.filter(by_address)["group_held"].to_numpy()] = True
    return pl.Series(serves)


def planned_pairs(known: Known, groups: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Pairs that there would be, or that would be otherwise, if the document's server announced all that it can.

    That is, and its certificate names it, every host in its AS that is of its own registrable domain or covered
    already, and for which no server answered 421. What coalesces today it announces too, on all connections that
    are :func:`serving` it.
    """
    located = (
        groups.select("group", *_PAGE, "host", "main_host", "protocol", "misdirected", "at_home", "peer")
        .filter(pl.col("protocol").is_in(["h2", "h3"]))
        .with_columns(known.asns(groups["peer"]).filter(groups["protocol"].is_in(["h2", "h3"]).fill_null(value=False)))
        .drop_nulls("asn")
    )
    own = (groups["host"] == groups["main_host"]).fill_null(value=False)
    server = located.filter(serving(found, own).gather(located["group"])).select(
        *_PAGE, "asn", *(pl.col(name).alias(f"{name}_held") for name in ("group", "host", "protocol"))
    )
    covered = found.filter((pl.col("covers") == YES) & ~pl.col("same_host")).select(
        *_BOTH, pl.lit(value=True).alias("covered")
    )
    near = (
        located.filter(pl.col("host") != pl.col("main_host"), ~pl.col("misdirected"))
        .join(server, on=[*_PAGE, "asn"])
        .filter(
            pl.col("group_held") < pl.col("group"),
            pl.col("host") != pl.col("host_held"),
            pl.col("protocol") == pl.col("protocol_held"),
        )
        .join(covered, on=_BOTH, how="left")
        .filter(pl.col("at_home") | pl.col("covered").fill_null(value=False))
        .select(_BOTH)
    )
    return could_join(groups, near)


def in_place(found: pl.DataFrame, near: pl.DataFrame) -> pl.DataFrame:
    """``found`` with ``near`` instead where both have a pair."""
    return pl.concat([found.join(near.select(_BOTH), on=_BOTH, how="anti"), near.select(found.columns)]).sort(_BOTH)


@cache
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


@cache
def shares_host(rules: BrowserRules) -> pl.Expr:
    """Whether requests without credentials would use the connection that the same name has for those with them."""
    if not rules.modes_share_host:
        return pl.lit(NO, pl.Int8)
    alike = pl.when((pl.col("protocol") == pl.col("protocol_held")).fill_null(value=True)).then(YES).otherwise(NO)
    modes = three(pl.col("credentialed_held") & ~pl.col("credentialed"))
    ways = [same_pool(rules.pool - {"credentials"}), modes, alike.cast(pl.Int8)]
    return pl.when("same_host").then(pl.min_horizontal(ways)).otherwise(pl.lit(NO, pl.Int8))


@cache
def in_time() -> pl.Expr:
    """Whether the earlier connection is established when the later one's name is there."""
    return three(pl.col("connected_ms_held") <= pl.col("ready_ms"))


@cache
def looked_up(rules: BrowserRules) -> pl.Expr:
    """Whether the later one's name is looked up although it uses the earlier connection."""
    return ~(_listed() & over(rules.origin_skips_lookup))


@cache
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


@cache
def over(protocols: frozenset[str]) -> pl.Expr:
    """Whether the connection is of one of these protocols."""
    return pl.coalesce("protocol_held", "protocol").is_in(list(protocols)).fill_null(value=False)


def _listed() -> pl.Expr:
    """The earlier connection's ORIGIN frames list the later one's origin."""
    return pl.col("planned") | (_framed() & pl.col("in_set"))


def _framed() -> pl.Expr:
    """The earlier connection had sent ORIGIN frames when the later one was asked for; with SETTINGS, or late."""
    in_time = pl.col("origins_ms_held").is_null() | (pl.col("origins_ms_held") <= pl.col("ready_ms"))
    return pl.col("origins_held").is_not_null() & in_time.fill_null(value=True)


@cache
def origin_of() -> pl.Expr:
    """The later one's origin as RFC 6454 section 6.2 writes it."""
    host, default = pl.col("host").cast(pl.String), pl.col("port") == 443
    return pl.when(default).then("https://" + host).otherwise(pl.format("https://{}:{}", host, "port"))


@cache
def reaches(*, answers: bool) -> pl.Expr:
    """Whether the earlier one's address is among the later host's answers; ``answers``: some are known."""
    peer, peers, own = pl.col("peer_held"), pl.col("answers_held"), pl.col("answers")
    # A connection that carried both led to an address of both, unless a frame may have made up for it.
    by_address = (pl.col("protocol") == "h2") & pl.col("browser").ne_missing("firefox")
    decided = (
        pl.when((peer == pl.col("peer")).fill_null(value=False))
        .then(YES)
        .when(own.is_null() & pl.col("together") & by_address)
        .then(YES)
    )
    if not answers:
        return decided.otherwise(MAYBE).cast(pl.Int8)
    both = peers.list.set_intersection(own).list.len()
    return (
        decided.when(own.is_null())
        .then(MAYBE)
        .when(peer.is_not_null())
        .then(pl.when(own.list.contains(peer)).then(YES).otherwise(NO))
        .when(peers.is_null())
        .then(MAYBE)
        .when(both == peers.list.len())
        .then(YES)
        .when(both > 0)
        .then(MAYBE)
        .otherwise(NO)
        .cast(pl.Int8)
    )
