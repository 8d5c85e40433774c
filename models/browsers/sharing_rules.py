"""Whether a browser would use an earlier connection for later requests: yes, no, or not to be known.

Three values, as numbers: what is not known keeps both ways open (Kleene's logic: and is the least, or the greatest).
All are expressions over pairs (:func:`originset.models.browsers.candidate_pairs.pairs`), whose earlier one's columns
end in ``_held``.
"""

from __future__ import annotations

from functools import cache

import polars as pl

from originset.data.reference.browser_rules import BrowserRules, browser_rules

NO, MAYBE, YES = 0, 1, 2

#: By how much browsers, and loads of one browser, differ in when they ask for the same thing, or have connected for it,
#: where nothing orders that.
SLACK_MS = 200.0


def with_joins(found: pl.DataFrame, rules: BrowserRules) -> pl.DataFrame:
    """The pairs ``found``, and whether a browser with ``rules`` would use the earlier connection.

    ``may``: a connection that carried both counts as evidence of what nothing else decides; ``may_by_facts``: nothing
    rests on what the recording's own browser did. That the earlier connection's server may answer 421 is not asked.
    """
    # Columns, not expressions: Polars works an expression out again wherever it stands.
    asked = found.with_columns(may=_joins(rules, recorded=True), may_by_facts=_joins(rules, recorded=False))
    apart = (pl.col("may") == MAYBE) & _shown_apart(rules)
    return asked.with_columns(may=pl.when(apart).then(pl.lit(NO, pl.Int8)).otherwise("may"))


@cache
def _joins(rules: BrowserRules, *, recorded: bool) -> pl.Expr:
    listed = lists_origin() & is_over(rules.origin_permits)
    known = pl.when(pl.col("protocol").is_null() | pl.col("protocol_held").is_null()).then(MAYBE).otherwise(YES)
    alike = (pl.col("protocol") == pl.col("protocol_held")).fill_null(value=True)
    others = (_carries(rules) & ~pl.col("h2_denied")) | (listed & is_over(rules.origin_carries_others))
    elsewhere = pl.min_horizontal(
        "covers" if recorded else "covers_by_names",
        _leads_there(rules, recorded=recorded),
        same_pool(rules.pool, recorded=recorded),
        pl.when((alike | others) & ~pl.col("untrusted_held")).then(YES).otherwise(NO).cast(pl.Int8),
    )
    here = pl.min_horizontal(same_pool(rules.pool), pl.when(alike).then(YES).otherwise(NO).cast(pl.Int8))
    return pl.min_horizontal(pl.when("same_host").then(here).otherwise(elsewhere), known.cast(pl.Int8), still_there())


@cache
def _shown_apart(rules: BrowserRules) -> pl.Expr:
    """The recording's browser opened a connection for the later one although the earlier one's stood.

    So it could not use that one, whatever the recording lacks: by its own rules. By another browser's, if names and
    addresses alone can be why.
    """
    answered = (pl.col("first_answer_ms_held") <= pl.col("ready_ms")).fill_null(value=False)
    stood = pl.col("opened") & (answered | (in_time() == YES)) & (still_there() == YES)
    shown = pl.lit(value=False)
    for each in browser_rules().values():
        by_it = pl.col("browser").str.split("-").list.first() == each.browser
        others = pl.lit(value=True) if each.browser == rules.browser else _only_names_and_addresses(each)
        shown |= (by_it & others).fill_null(value=False)
    return stood & shown & ~pl.col("misdirected") & ~pl.col("planned") & ~pl.col("in_set")


def _only_names_and_addresses(rules: BrowserRules) -> pl.Expr:
    alike = (pl.col("protocol") == pl.col("protocol_held")).fill_null(value=False)
    fits = alike | (_carries(rules) & ~pl.col("h2_denied"))
    return ~pl.col("same_host") & fits & (same_pool(rules.pool) == YES)


def _leads_there(rules: BrowserRules, *, recorded: bool) -> pl.Expr:
    """Whether the earlier connection leads to the later one's server, by address or ORIGIN frame, and is so in time."""
    permits, restricts = (is_over(protocols) for protocols in (rules.origin_permits, rules.origin_restricts))
    by_address = pl.col("reaches" if recorded else "reaches_by_answers")
    there = _in_time_together(rules) if recorded else in_time()
    there = pl.when("by_chance").then(pl.lit(MAYBE, pl.Int8)).otherwise(there)
    if not rules.waits_for_connections_under_way:
        by_address = pl.min_horizontal(by_address, there)
    leads = (
        pl.when(lists_origin() & permits)
        .then(YES)
        .when(framed_in_time() & restricts)
        .then(NO)
        .otherwise(by_address)
        .cast(pl.Int8)
    )
    if not rules.waits_for_connections_under_way:
        return leads
    # Which of two that are under way at once carries the requests is a race; a frame, too, may be in time for it.
    maybe = pl.lit(MAYBE, pl.Int8)
    leads = pl.min_horizontal(leads, pl.when(asked_at_once()).then(maybe).otherwise(pl.max_horizontal(there, maybe)))
    return pl.max_horizontal(leads, pl.when(listed_while_connecting() & permits).then(maybe).otherwise(NO))


@cache
def still_there() -> pl.Expr:
    """NO where a server had closed the earlier connection when the later one was asked for; else YES."""
    gone = pl.col("gone_ms_held") <= pl.max_horizontal("ready_ms", "since_ms")
    return pl.when(gone).then(pl.lit(NO, pl.Int8)).otherwise(pl.lit(YES, pl.Int8))


def _in_time_together(rules: BrowserRules) -> pl.Expr:
    # Without a recorded lookup, when the name was there is known by the request's phases alone, which recorders round.
    # A request that its browser held back, or whose connection came second, waited longer than for its name.
    itself = (pl.col("browser").str.split("-").list.first() == rules.browser).fill_null(value=False)
    shown = pl.col("together") & (pl.col("answers").is_null() | (in_time() == MAYBE) | itself)
    return pl.when(shown).then(pl.lit(YES, pl.Int8)).otherwise(in_time())


def _carries(rules: BrowserRules) -> pl.Expr:
    return pl.any_horizontal(pl.lit(value=False), *(other_protocol(way) for way in sorted(rules.carries_others)))


def other_protocol(way: str) -> pl.Expr:
    """The later one's own protocol and the earlier one's are those of ``way``, such as ``h1 over h2``."""
    own, _, over_which = way.partition(" over ")
    return ((pl.col("protocol") == own) & (pl.col("protocol_held") == over_which)).fill_null(value=False)


@cache
def shares_host(rules: BrowserRules) -> pl.Expr:
    """Whether a request would use the connection that its name has for those of the other mode of credentials.

    It does once that connection was given a request after its handshake; before that it may come out either way.
    """
    if not rules.modes_share_host:
        return pl.lit(NO, pl.Int8)
    carried_two = (pl.max_horizontal("second_ms_held", "connected_ms_held") <= asked_ms()) & (
        pl.col("second_ms_held").is_not_null() & pl.col("connected_ms_held").is_not_null()
    )
    enough = pl.when(carried_two.fill_null(value=False)).then(YES).otherwise(MAYBE).cast(pl.Int8)
    return pl.min_horizontal(differs_in_credentials_only(rules), enough)


@cache
def differs_in_credentials_only(rules: BrowserRules) -> pl.Expr:
    """Whether two groups differ in nothing but credentials."""
    modes = three(pl.col("credentialed_held") != pl.col("credentialed"))
    return pl.min_horizontal(modes, _one_server(rules))


@cache
def shares_host_if_joined(rules: BrowserRules) -> pl.Expr:
    """It certainly does (:func:`shares_host`) if that is another host's connection, which had carried one before."""
    if not rules.modes_share_host:
        return pl.lit(value=False)
    return (pl.col("started_ms_held") <= asked_ms()).fill_null(value=False) & (_one_server(rules) == YES)


@cache
def asked_at_once() -> pl.Expr:
    """The later one may have been asked for before the earlier one's connection was established."""
    return (asked_ms() < pl.col("connected_ms_held")).fill_null(value=False)


@cache
def left_out_since(rules: BrowserRules) -> pl.Expr:
    """Of two of one host: an ORIGIN frame that the browser heeds as a restriction has come in between."""
    if not rules.origin_restricts:
        return pl.lit(value=False)
    return pl.col("same_host") & (pl.col("frames_missed") != pl.col("frames_missed_held"))


@cache
def hides_spare(rules: BrowserRules, *, answers: bool) -> pl.Expr:
    """Several connections of the later one may stay, as the earlier one's stands before them at all their addresses."""
    if not rules.only_first_at_address or not answers:
        return pl.lit(value=False)
    own, peers, peer = pl.col("answers"), pl.col("answers_held"), pl.col("peer_held")
    # Over HTTP/3 a name has one connection under way at a time.
    tcp = pl.col("protocol").ne_missing("h3")
    elsewhere = (own.list.set_difference(peers).list.len() == 0) & ~own.list.contains(peer)
    known = (~pl.col("same_host") & tcp & elsewhere).fill_null(value=False)
    return known & (pl.min_horizontal("covers", same_pool(rules.pool), still_there()) > NO)


@cache
def asked_ms() -> pl.Expr:
    """No browser asks for the later one before this: what asks for it has been answered then, or it is long before."""
    return pl.max_horizontal(pl.col("started_ms") - SLACK_MS, "caused_ms")


def _one_server(rules: BrowserRules) -> pl.Expr:
    """Whether both are for one host, over one protocol, and alike but for credentials."""
    alike = pl.when((pl.col("protocol") == pl.col("protocol_held")).fill_null(value=True)).then(YES).otherwise(NO)
    ways = [same_pool(rules.pool - {"credentials"}), alike.cast(pl.Int8), still_there()]
    return pl.when("same_host").then(pl.min_horizontal(ways)).otherwise(pl.lit(NO, pl.Int8))


@cache
def in_time() -> pl.Expr:
    """Whether the earlier connection is established when the later one's name is there."""
    return three(pl.col("connected_ms_held") <= pl.col("ready_ms"))


@cache
def looked_up(rules: BrowserRules) -> pl.Expr:
    """Whether the later one's name is looked up although it uses the earlier connection."""
    return ~(lists_origin() & is_over(rules.origin_skips_lookup))


@cache
def same_pool(pool: frozenset[str], *, recorded: bool = False) -> pl.Expr:
    """Whether both are alike in all that a browser's pools of connections go by.

    ``recorded``: what one connection carried is alike, known or not, in what the recording's browser goes by.
    """
    held = {name: pl.col(f"{name}_held") for name in ("credentialed", "third_party", "top_site", "cross_site")}
    # Without credentials there are no cookies to keep back.
    free = (~pl.col("cookies_blocked")) | (~pl.col("credentialed") & ~held["credentialed"])
    back, held_back = pl.col("cross_site") & pl.col("at_home"), held["cross_site"] & pl.col("at_home_held")
    aspects = {
        "credentials": pl.col("credentialed") == held["credentialed"],
        "third_party_cookies": free | (pl.col("third_party") == held["third_party"]),
        "top_site": pl.col("top_site") == held["top_site"],
        "cross_site_frame": pl.col("cross_site") == held["cross_site"],
        "home_from_foreign_frame": back == held_back,
    }
    alike = [_pool_aspect_shared(name, known, recorded=recorded) for name, known in aspects.items() if name in pool]
    return pl.min_horizontal([pl.lit(YES, pl.Int8), *alike])


def _pool_aspect_shared(aspect: str, known: pl.Expr, *, recorded: bool) -> pl.Expr:
    if not recorded:
        return three(known)
    chromium, firefox = (aspect in browser_rules()[browser].pool for browser in ("chromium", "firefox"))
    apart = pl.when(pl.col("browser") == "firefox").then(pl.lit(firefox)).otherwise(pl.lit(chromium))
    if aspect == "third_party_cookies":
        apart = apart & pl.col("cookies_as_recorded")
    return pl.when(three(known) == MAYBE, "together", apart).then(pl.lit(YES, pl.Int8)).otherwise(three(known))


def three(known: pl.Expr) -> pl.Expr:
    """NO, MAYBE or YES for false, NULL and true."""
    return (known.cast(pl.Int8) * YES).fill_null(MAYBE)


@cache
def is_over(protocols: frozenset[str]) -> pl.Expr:
    """Whether the connection is of one of these protocols."""
    return pl.coalesce("protocol_held", "protocol").is_in(list(protocols)).fill_null(value=False)


def lists_origin() -> pl.Expr:
    """The earlier connection's ORIGIN frames list the later one's origin."""
    return pl.col("planned") | (framed_in_time() & pl.col("in_set"))


def listed_while_connecting() -> pl.Expr:
    """The ORIGIN frame that lists the later one's origin came while that was connecting to its own, or nearly."""
    came, connected = pl.col("origins_ms_held"), pl.col("connected_ms") + SLACK_MS
    return (pl.col("in_set") & (came > pl.col("ready_ms")) & (came <= connected)).fill_null(value=False)


def framed_in_time() -> pl.Expr:
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
    decided = pl.when((peer == pl.col("peer")).fill_null(value=False)).then(YES)
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
