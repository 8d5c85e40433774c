"""The pairs of a page's groups of which the earlier one's connection may be able to carry the later one's requests."""

from __future__ import annotations

import polars as pl

from originset.data.reference.browser_rules import rule_sets
from originset.models.browsers.batch import earlier_alike, group_numbers
from originset.models.browsers.batch_facts import BatchFacts
from originset.models.browsers.sharing_rules import (
    MAYBE,
    NO,
    SLACK_MS,
    YES,
    lists_origin,
    origin_of,
    other_protocol,
    reaches,
)

# Of a group, what decides whether it can use another's connection; and what its own is to others.
_OWN = (
    *("visit_id", "host", "port", "protocol", "credentialed", "third_party", "top_site", "cross_site", "at_home"),
    *("cookies_blocked", "browser", "peer", "answers", "connection_id", "ready_ms", "since_ms", "misdirected"),
    *("h2_denied", "sent_to", "started_ms", "caused_ms", "connected_ms", "frames_missed", "opened"),
)
_HOLDER = (
    *("host", "protocol", "credentialed", "third_party", "top_site", "cross_site", "at_home"),
    *("peer", "answers", "certificate_id", "origins", "origins_ms", "connected_ms", "connection_id", "gone_ms"),
    *("first_answer_ms", "second_ms", "started_ms", "frames_missed", "sent_to", "untrusted"),
)
_PAGE = ["visit_id", "port"]
_BOTH = ["group", "group_held"]


def pairs(facts: BatchFacts, groups: pl.DataFrame, names: pl.DataFrame | None = None) -> pl.DataFrame:
    """Every two groups of a page of which the earlier one's connection may be able to carry the later one's requests.

    ``groups``: with :func:`originset.models.browsers.connection_facts.with_servers`. The earlier one's columns end in
    ``_held``. Besides: same_host, covers (its certificate, the later's host), reaches (its address is among the later
    host's answers), together (one connection carried both), in_set (its ORIGIN frames list the later's origin),
    cookies_as_recorded (cookies_blocked is how the recording's browser was set: :func:`with_cookies_blocked`),
    by_chance (the earlier one's may be established in time or not: :func:`pairs_of_other_loads`). Pairs of which the
    certificate is known not to cover the host are left out, and so are those of HTTP/1.1, which shares nothing.
    ``covers`` and ``reaches`` take a connection that carried both for evidence; ``covers_by_names`` and
    ``reaches_by_answers`` are what certificates, addresses and DNS answers say without it. ``names``: hosts that
    certificates (certificate_id) cover besides what is known of them.
    """
    coverage = facts.coverage
    if names is not None:
        coverage = pl.concat([coverage, names.select(coverage.columns)]).unique()
    return (
        _pairs_with_columns(groups, _possible(groups, coverage))
        .with_columns(
            (pl.col("connection_id") == pl.col("connection_id_held")).fill_null(value=False).alias("together"),
            pl.lit(value=False).alias("planned"),
            pl.lit(value=True).alias("cookies_as_recorded"),
            pl.lit(value=False).alias("by_chance"),
        )
        .with_columns(
            pl.col("covers").alias("covers_by_names"),
            # What carried both was found fit for both.
            pl.when("together").then(pl.lit(YES, pl.Int8)).otherwise("covers").alias("covers"),
            *_reaches(groups, sent_apart()),
        )
        # Where names are not known, an address or a frame may do.
        .filter(
            pl.any_horizontal("same_host", pl.col("covers") == YES, pl.col("reaches") > NO, "together", lists_origin())
        )
        .sort(_BOTH)
    )


def with_cookies_blocked(found: pl.DataFrame) -> pl.DataFrame:
    """:func:`pairs` as a browser that blocks third-party cookies meets them, however the recording's was set."""
    return found.with_columns(
        pl.lit(value=True).alias("cookies_blocked"),
        pl.col("cookies_blocked").fill_null(value=False).alias("cookies_as_recorded"),
    )


def pairs_of_other_loads(found: pl.DataFrame) -> pl.DataFrame:
    """:func:`pairs` as other loads of the pages may have them: what was established nearly late may be, or in time.

    Nothing but chance decides that, unless what asks for the later one had not been answered before.
    """
    near = (pl.col("connected_ms_held") - pl.col("ready_ms")).abs() <= SLACK_MS
    ordered = (pl.col("connected_ms_held") <= pl.col("caused_ms")).fill_null(value=False)
    return found.with_columns((near & ~ordered).fill_null(value=False).alias("by_chance"))


def _possible(groups: pl.DataFrame, coverage: pl.DataFrame) -> pl.DataFrame:
    """Pairs (group, group_held) of which names and protocols rule nothing out, with ``covers``."""
    page, _ = group_numbers(groups.select(_PAGE))
    narrow = groups.select("group", "host", "protocol", "certificate_id", "names_known", "requests", "sockets")
    # One that is for a WebSocket over HTTP/1.1 carries nothing else.
    shared = narrow.with_columns(pl.Series("page", page)).filter(pl.col("requests") > pl.col("sockets"))
    shared = shared.drop("requests", "sockets").filter(pl.len().over("page") > 1)
    held = shared.filter(pl.col("protocol").ne_missing("h1")).rename(
        {name: f"{name}_held" for name in ("group", "host", "protocol", "certificate_id", "names_known")}
    )
    alike = pl.any_horizontal(
        (pl.col("protocol") == pl.col("protocol_held")).fill_null(value=True),
        *(other_protocol(way) for way in sorted(frozenset.union(*(each.carries_others for each in rule_sets())))),
    )
    later = (pl.col("group_held") < pl.col("group")) & (pl.col("host") != pl.col("host_held")) & alike
    protocols = groups["protocol"]
    same_host = earlier_alike(shared, "group", ["page", "host"])
    same_host = same_host.with_columns(
        protocols.gather(same_host["group"]), protocols.gather(same_host["group_held"]).alias("protocol_held")
    ).filter(pl.col("protocol_held").ne_missing("h1"), alike)
    by_name = (
        shared.drop("certificate_id", "names_known")
        .join(coverage, on="host")
        .join(
            held.filter("names_known_held"),
            left_on=["page", "certificate_id"],
            right_on=["page", "certificate_id_held"],
        )
        .filter(later)
    )
    # Of a certificate whose names are not known, only the address, where known, rules anything out.
    unknown = shared.join(held.filter(~pl.col("names_known_held")), on="page").filter(later)
    return pl.concat(
        frame.select(*_BOTH, pl.lit(covers, pl.Int8).alias("covers"))
        for frame, covers in ((same_host, YES), (by_name, YES), (unknown, MAYBE))
    )


def _pairs_with_columns(groups: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Pairs (group, group_held, ...) with the columns of both groups, same_host and in_set."""
    held = groups.select(_HOLDER)[found["group_held"]].select(pl.all().name.suffix("_held"))
    rows = found.hstack(groups.select(_OWN)[found["group"]]).hstack(held)
    listed = pl.lit(value=False)
    if groups["origins"].null_count() < groups.height:
        listed = pl.col("origins_held").list.contains(origin_of()).fill_null(value=False)
    return rows.with_columns((pl.col("host") == pl.col("host_held")).alias("same_host"), listed.alias("in_set"))


def sent_apart() -> pl.Expr:
    """The later one's answers are not known, and its requests were sent to another address than the earlier one's.

    That address is one of the answers, and taken for all of them: without it every host could be everywhere.
    """
    return pl.col("answers").is_null() & (pl.col("sent_to") != pl.col("sent_to_held")).fill_null(value=False)


def _reaches(groups: pl.DataFrame, apart: pl.Expr | None = None) -> tuple[pl.Expr, pl.Expr]:
    by_answers = reaches(answers=groups["answers"].null_count() < groups.height)
    if apart is not None:
        by_answers = pl.when(apart).then(pl.lit(NO, pl.Int8)).otherwise(by_answers)
    return by_answers.alias("reaches_by_answers"), _reached_together(by_answers).alias("reaches")


def could_join(groups: pl.DataFrame, near: pl.DataFrame) -> pl.DataFrame:
    """Pairs (group, group_held) as rows of :func:`pairs` if the earlier one's server announced and named the later."""
    return _pairs_with_columns(groups, near).with_columns(
        pl.lit(YES, pl.Int8).alias("covers"),
        pl.lit(YES, pl.Int8).alias("covers_by_names"),
        pl.lit(value=False).alias("same_host"),
        pl.lit(value=False).alias("together"),
        pl.lit(value=True).alias("planned"),
        pl.lit(value=True).alias("cookies_as_recorded"),
        pl.lit(value=False).alias("by_chance"),
    ).with_columns(*_reaches(groups))  # fmt: skip


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


def announced_over() -> pl.Expr:
    """Whether the later one's host can be announced over the earlier one's protocol: its own, or HTTP/3, for any."""
    return (pl.col("protocol") == pl.col("protocol_held")) | (pl.col("protocol_held") == "h3").fill_null(value=False)


def planned_pairs(facts: BatchFacts, groups: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Pairs that there would be, or that would be otherwise, if the document's server announced all that it can.

    That is, and its certificate names it, every host in its AS that is of its own registrable domain or covered
    already, and for which no server answered 421. What coalesces today it announces too, on all connections that
    are :func:`serving` it.
    """
    located = (
        groups.select("group", *_PAGE, "host", "main_host", "protocol", "misdirected", "at_home", "peer")
        .filter(pl.col("protocol").is_in(["h2", "h3"]))
        .with_columns(facts.asns(groups["peer"]).filter(groups["protocol"].is_in(["h2", "h3"]).fill_null(value=False)))
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
            announced_over(),
        )
        .join(covered, on=_BOTH, how="left")
        .filter(pl.col("at_home") | pl.col("covered").fill_null(value=False))
        .select(_BOTH)
    )
    return could_join(groups, near)


def in_place(found: pl.DataFrame, near: pl.DataFrame) -> pl.DataFrame:
    """``found`` with ``near`` instead where both have a pair."""
    return pl.concat([found.join(near.select(_BOTH), on=_BOTH, how="anti"), near.select(found.columns)]).sort(_BOTH)


def _reached_together(by_answers: pl.Expr) -> pl.Expr:
    """What the answers say, or, without answers, by a connection that carried both.

    It led to an address of both, unless a frame may have made up for it.
    """
    without_frames = (pl.col("protocol") == "h2") & pl.col("browser").ne_missing("firefox")
    shown = pl.col("answers").is_null() & pl.col("together") & without_frames.fill_null(value=False)
    return pl.when(shown).then(pl.lit(YES, pl.Int8)).otherwise(by_answers)
