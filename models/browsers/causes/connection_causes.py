"""Why each connection that an earlier one could have served was opened all the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import polars as pl

from originset.models.browsers.batch import Part
from originset.models.browsers.batch_facts import V6
from originset.models.browsers.causes.fixes import fixable_by, with_fix
from originset.models.browsers.causes.reusable_connections import reusable_pairs
from originset.models.browsers.causes.sander_causes import sander_causes
from originset.models.browsers.causes.used_connections import used_connections
from originset.models.browsers.sharing_rules import MAYBE, NO, YES, is_over, origin_of, reaches, same_pool, three
from originset.models.browsers.versions.recorder_rules import by_recorder

NOT_DECIDABLE, UNKNOWN = "NOT_DECIDABLE", "UNKNOWN"

# The taxonomy, in the order in which obstacles must go: what nothing helps against, whether the server may answer for
# the host, the protocol, who asks, and when. Public names: tests and queries count by them.
CAUSES = (
    *("SPECIAL", "MISDIRECTED", "ORIGIN_UNSUPPORTED", "IP", "CERT", "CERT+IP", "ORIGIN_EXCLUDED", "PORT_SCHEME"),
    *("H1", "PROTO_MIX", "CRED", "PARTITION", "RACE", "LIFETIME"),
)
# What there are few of is kept as that.
CAUSE = pl.Enum([*CAUSES, NOT_DECIDABLE, UNKNOWN])
DETAIL = pl.Enum(
    [
        *("SAME_HOST_H1", "REUSABLE_H1", "CREDENTIALS", "THIRD_PARTY_COOKIES", "V4_V6", "SAME_PREFIX", "SAME_AS"),
        *("OTHER_AS", "SAME_HOST"),
    ]
)

# What is told of two connections besides what decides.
_ALSO = ("visit_id", "connection_id", "site", "main_site", "asn")
_ALSO_HELD = ("connection_id", "site", "asn")


def redundant_connections(part: Part, asked_for: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``redundant_connection_causes``, in any order; visits are numbers.

    A connection is redundant if the page had an earlier one to the same host, to one of its addresses, in the same AS,
    or with a certificate that covers its host. Of several that one is named that the least stands against. All causes
    that certainly apply are kept. The first obstacle is the first of CAUSES that applies; where one before it may apply
    too, or none certainly does, it is NOT_DECIDABLE and ``needs`` says what is missing: whether a request came too soon
    for a connection, say, is of no interest if the certificate may not cover its host. Where everything is known and no
    known rule is broken, UNKNOWN. The rules are those of the recorder's browser and version
    (:mod:`originset.models.browsers.versions.recorder_rules`); of one that originset knows no rules of, Chromium's of
    today. ``asked_for``: of :func:`originset.models.browsers.request_groups.modes_of`.
    """
    used = used_connections(part, asked_for)
    found = _obstacles(reusable_pairs(part, used))
    certain = pl.sum_horizontal((pl.col(f"is_{name}") == YES).cast(pl.Int32) for name in CAUSES)
    open_ways = pl.sum_horizontal((pl.col(f"is_{name}") == MAYBE).cast(pl.Int32) for name in CAUSES)
    # One number that is least where least stands against it; of several, the earliest.
    against = (
        (~pl.col("same_host")).cast(pl.Int64) * 2**50 + certain * 2**45 + open_ways * 2**40 + pl.col("number_held")
    )
    # Of two whose ports are not known nobody can say what stands against it.
    found = found.filter(pl.col("same_host").is_not_null())
    weighed, number = found.select(against.alias("against"))["against"].to_numpy(), found["number"].to_numpy()
    least = np.full(used.height, np.iinfo(np.int64).max)
    np.minimum.at(least, number, weighed)
    rows = found.filter(pl.Series(weighed == least[number]))
    by_number = sander_causes(found, used.height)
    rows = rows.hstack(used.select(_ALSO)[rows["number"]]).hstack(
        used.select(pl.col(_ALSO_HELD).name.suffix("_held"))[rows["number_held"]]
    )
    facts = [
        *(part.facts.edges(rows[name]).alias(name.replace("host", "edge")) for name in ("host", "host_held")),
        *(part.facts.networks(rows[name]).alias(name.replace("peer", "network")) for name in ("peer", "peer_held")),
    ]
    known = _listed(rows.with_columns(facts), "causes", {name: pl.col(f"is_{name}") == YES for name in CAUSES})
    rows = (
        _listed(known, "needs", _needs())
        .with_columns(_first_obstacle().cast(CAUSE).alias("cause"))
        .with_columns(_detail())
        .hstack(by_number[rows["number"]])
    )
    return with_fix(rows.with_columns(fixable_by().alias("fixable_by"))).select(
        *("visit_id", "connection_id", pl.col("connection_id_held").alias("reusable_connection_id"), "host"),
        *(pl.col("host_held").alias("reusable_host"), "same_host", "cause"),
        *(pl.col("detail").cast(DETAIL), "causes", "needs", "fixable_by"),
        "fix",
        # The model redundant_connections says which rows are.
        pl.lit(value=False).alias("based_on_live"),
        "sander_immediate",
        "sander_endless",
    )


def _obstacles(found: pl.DataFrame) -> pl.DataFrame:
    """``found`` with same_host, covers, reaches, and for each cause ``is_CAUSE``: NO, MAYBE or YES."""
    same_host = (pl.col("host") == pl.col("host_held")) & (pl.col("port") == pl.col("port_held"))
    answers = found["answers"].null_count() < found.height
    listed = pl.lit(value=False)
    if found["origins_held"].null_count() < found.height:
        listed = pl.col("origins_held").list.contains(origin_of()).fill_null(value=False)
    found = found.with_columns(
        same_host.alias("same_host"),
        pl.lit(value=False).alias("together"),
    ).with_columns(
        pl.when("same_host").then(YES).when("covered").then(YES).when("names_known_held").then(NO).otherwise(MAYBE)
        .cast(pl.Int8).alias("covers"),
        pl.when("same_host").then(YES).otherwise(reaches(answers=answers)).cast(pl.Int8).alias("reaches"),
        listed.alias("listed"),
        (pl.col("socket") | pl.col("socket_held")).alias("socket"),
    )  # fmt: skip
    return found.with_columns(_values())


@cache
def _first_obstacle() -> pl.Expr:
    decided = [
        pl.when(pl.col(f"is_{name}") > NO).then(
            pl.when(pl.col(f"is_{name}") == YES).then(pl.lit(name)).otherwise(pl.lit(NOT_DECIDABLE))
        )
        for name in CAUSES
    ]
    return pl.coalesce(*decided, pl.lit(UNKNOWN))


@cache
def _values() -> list[pl.Expr]:
    permitted, restricted = by_recorder("origin_permits", is_over), by_recorder("origin_restricts", is_over)
    waived = pl.col("listed") & permitted
    lacking, away = YES - pl.col("covers"), YES - pl.col("reaches")
    alive = pl.when(pl.col("closed_ms_held") <= pl.col("opened_ms")).then(NO).when(
        pl.col("lasting_held").is_not_null() | (pl.col("last_ms_held") >= pl.col("opened_ms"))
    ).then(YES).otherwise(MAYBE)  # fmt: skip
    late = pl.when("same_host").then(pl.col("opened_ms")).otherwise(pl.coalesce("ready_ms", "opened_ms"))
    uncovered = pl.col("covers") == NO
    plain = (pl.col("protocol") == "h1") | (pl.col("protocol_held") == "h1")
    values = {
        "H1": pl.when("socket").then(NO).when(plain & ~pl.col("speaks_http2")).then(MAYBE).otherwise(three(plain)),
        "PROTO_MIX": pl.when(plain.fill_null(value=False)).then(NO).otherwise(
            three(pl.col("protocol") != pl.col("protocol_held"))
        ),
        "CRED": YES - _modes_agree(),
        "PARTITION": YES - _partitions_agree(),
        "PORT_SCHEME": three(pl.col("port") != pl.col("port_held")),
        "IP": pl.when(waived).then(NO).otherwise(pl.min_horizontal("covers", away)),
        "CERT": pl.when(uncovered).then(pl.when(pl.col("reaches") == YES).then(YES).otherwise(NO))
        .otherwise(pl.min_horizontal("reaches", lacking)),
        # Of a name that was reached elsewhere, without its answers: the certificate lacks it, whatever they are.
        "CERT+IP": pl.when(uncovered & (pl.col("reaches") < YES)).then(YES).otherwise(pl.min_horizontal(lacking, away)),
        "ORIGIN_EXCLUDED": pl.when(
            pl.col("origins_held").is_not_null() & restricted & ~pl.col("listed") & ~pl.col("same_host")
        ).then(pl.min_horizontal("covers", "reaches")).otherwise(NO),
        "ORIGIN_UNSUPPORTED": pl.when(pl.col("listed") & ~permitted & ~pl.col("same_host"))
        .then(pl.min_horizontal("covers", away)).otherwise(NO),
        # Over HTTP/1.1 there is nothing to be in time for.
        "RACE": pl.when(plain.fill_null(value=False)).then(NO).otherwise(three(pl.col("established_ms_held") > late)),
        "MISDIRECTED": three(pl.col("misdirected_held").list.contains(pl.col("host")).fill_null(value=False)),
        "LIFETIME": YES - alive,
        "SPECIAL": pl.when("socket").then(YES).otherwise(NO),
    }  # fmt: skip
    return [value.cast(pl.Int8).alias(f"is_{name}") for name, value in values.items()]


@cache
def _modes_agree() -> pl.Expr:
    """Whether both carry requests of one credentials mode: Chromium's own word for it first."""
    told = three(pl.col("privacy_mode") == pl.col("privacy_mode_held"))
    inferred = _pools_agree(frozenset({"credentials", "third_party_cookies"}))
    return pl.when(told != MAYBE).then(told).otherwise(inferred)


@cache
def _partitions_agree() -> pl.Expr:
    return _pools_agree(frozenset({"top_site", "cross_site_frame", "home_from_foreign_frame"}))


def _pools_agree(aspects: frozenset[str]) -> pl.Expr:
    """Whether both are alike in those of ``aspects`` that the pools of the recording's browser go by."""
    return by_recorder("pool", lambda pool: same_pool(pool & aspects))


#: What may be missing to decide, and about which obstacles.
MISSING = {
    "protocols": ("H1", "PROTO_MIX"),
    "a recorder that speaks HTTP/2": ("H1",),
    "credentials": ("CRED",),
    "frames": ("PARTITION",),
    "certificate names": ("CERT", "CERT+IP", "IP"),
    "DNS answers": ("IP", "CERT", "CERT+IP"),
    "times": ("RACE",),
    "closing times": ("LIFETIME",),
}


@cache
def _needs() -> dict[str, pl.Expr]:
    """What was missing to decide, whatever else is known."""
    plain = (pl.col("protocol") == "h1") | (pl.col("protocol_held") == "h1")
    unsure = {
        "protocols": plain.is_null(),
        "a recorder that speaks HTTP/2": plain.is_not_null(),
        "certificate names": pl.col("covers") == MAYBE,
        "DNS answers": pl.col("reaches") == MAYBE,
    }
    told_in_part = {"DNS answers": (pl.col("covers") == NO) & (pl.col("reaches") == MAYBE)}
    return {
        need: (
            pl.any_horizontal(pl.col(f"is_{name}") == MAYBE for name in names) & unsure.get(need, pl.lit(value=True))
        )
        | told_in_part.get(need, pl.lit(value=False))
        for need, names in MISSING.items()
    }


def _listed(rows: pl.DataFrame, column: str, applies: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """``rows`` with a list of the names that apply, in their order; the few lists that there are, are made once."""
    which = pl.sum_horizontal(applied.cast(pl.Int32) * 2**bit for bit, applied in enumerate(applies.values()))
    numbers = rows.select(which.alias("which"))["which"].to_numpy()
    there = np.zeros(1 << len(applies), np.bool_)
    there[numbers] = True
    lists = [[name for bit, name in enumerate(applies) if number >> bit & 1] for number in np.flatnonzero(there)]
    place = (np.cumsum(there) - 1)[numbers]
    return rows.with_columns(pl.Series(column, lists, pl.List(pl.Enum(list(applies)))).gather(place))


@cache
def _detail() -> pl.Expr:
    """What the primary cause is more exactly."""
    same_as = pl.col("asn") == pl.col("asn_held")
    network, held = pl.col("network"), pl.col("network_held")
    v4_v6, same_prefix = (network == V6) != (held == V6), (network == held) & (network != V6)
    place = (
        pl.when(v4_v6).then(pl.lit("V4_V6")).when(same_prefix).then(pl.lit("SAME_PREFIX"))
        .when(same_as).then(pl.lit("SAME_AS")).when(~same_as).then(pl.lit("OTHER_AS"))
    )  # fmt: skip
    cause = pl.col("cause")
    return (
        pl.when(cause == "H1").then(
            pl.when("same_host").then(pl.lit("SAME_HOST_H1"))
            .when(pl.col("protocol") != "h1").then(pl.lit("REUSABLE_H1"))
        )
        .when(cause == "CRED").then(
            pl.when(pl.col("credentialed") != pl.col("credentialed_held")).then(pl.lit("CREDENTIALS"))
            .when("cookies_blocked").then(pl.lit("THIRD_PARTY_COOKIES"))
        )
        .when(cause.is_in(["IP", "CERT+IP"])).then(place)
        .when((cause == "CERT") & same_as).then(pl.lit("SAME_AS"))
        .when(cause == "RACE").then(pl.when("same_host").then(pl.lit("SAME_HOST")))
        .when(cause == "LIFETIME").then(pl.when("same_host").then(pl.lit("SAME_HOST")))
        .alias("detail")
    )  # fmt: skip
