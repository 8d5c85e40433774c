"""Why a browser opened more connections than its rules predict, or fewer."""

from __future__ import annotations

import polars as pl

from originset.data.reference.browser_rules import BrowserRules
from originset.models.browsers.backtest.fact_predictions import FactPrediction
from originset.models.browsers.batch import Part, matched
from originset.models.browsers.causes.connection_causes import CAUSES, UNKNOWN
from originset.models.browsers.sharing_rules import (
    NO,
    YES,
    framed_in_time,
    in_time,
    is_over,
    lists_origin,
    same_pool,
    still_there,
)

_ORIGIN = ["visit_id", "host", "port", "protocol"]
_OF_CREDENTIALS = frozenset({"credentials", "third_party_cookies"})

# The rank of a cause: that of several which is named comes first.
_RANK = {cause: rank for rank, cause in enumerate((*CAUSES, UNKNOWN))}


def surplus_causes(hosts: pl.DataFrame, used: pl.DataFrame, redundant: pl.DataFrame) -> pl.DataFrame:
    """visit_id, protocol and cause of each connection to ``hosts`` that an earlier one could have served.

    Of a host none of whose connections is redundant: UNKNOWN, once. ``redundant``: visit_id, connection_id, cause.
    """
    of_hosts = used.join(hosts.select(_ORIGIN), on=_ORIGIN, how="semi", nulls_equal=True)
    explained = of_hosts.join(redundant, on=["visit_id", "connection_id"]).select(
        *_ORIGIN, pl.col("cause").cast(pl.String)
    )
    others = hosts.select(_ORIGIN).join(explained, on=_ORIGIN, how="anti", nulls_equal=True)
    found = pl.concat([explained, others.with_columns(pl.lit(UNKNOWN).alias("cause"))])
    return found.select("visit_id", "protocol", "cause")


def missing_causes(part: Part, hosts: pl.DataFrame, used: pl.DataFrame, prediction: FactPrediction) -> pl.DataFrame:
    """visit_id, protocol and cause of each group of ``hosts`` that opens a connection by the rules.

    The cause is what would have forbidden the connection that the recording has the group's first request on. Of more
    connections of HTTP/1.1 to a host than it had: H1, since they were not needed at once.
    """
    predicted = prediction.opens.filter(pl.col("opens") == YES).join(hosts, on=_ORIGIN, how="semi", nulls_equal=True)
    carrier = _carriers(part, used, predicted)
    same = pl.col("host") == pl.col("carrier")
    predicted = predicted.select("group", *_ORIGIN).with_columns(carrier)
    faced = (
        prediction.found.with_columns(_obstacle(prediction.rules).alias("rank"))
        .join(predicted.select("group", "carrier"), on="group")
        .filter(pl.col("host_held") == pl.col("carrier"))
        .group_by("group")
        .agg(pl.col("rank").min())
    )
    # Most pairs of which the certificate is known not to cover the host are not among those found. Where that decides,
    # nobody asks for addresses: so there is no CERT+IP.
    unpaired = pl.when(same & (pl.col("protocol") == "h1")).then(pl.lit("H1")).when(same).then(pl.lit(UNKNOWN))
    names = pl.col("rank").replace_strict({rank: cause for cause, rank in _RANK.items()}, default=None)
    return predicted.join(faced, on="group", how="left").select(
        "visit_id",
        "protocol",
        pl.coalesce(names, unpaired, pl.when(pl.col("carrier").is_not_null()).then(pl.lit("CERT")), pl.lit(UNKNOWN))
        .cast(pl.String)
        .alias("cause"),
    )


def _carriers(part: Part, used: pl.DataFrame, groups: pl.DataFrame) -> pl.Series:
    """``carrier``: the host that the connection of each group's first request was opened for."""
    first = groups.select("visit_id", pl.col("first").alias("request_id"))
    first = first.hstack(matched(first, part.requests, ["visit_id", "request_id"], "connection_id"))
    return matched(first, used, ["visit_id", "connection_id"], "host")["host"].alias("carrier")


def _obstacle(rules: BrowserRules) -> pl.Expr:
    """The rank of the first of CAUSES by which the rules certainly forbid the earlier one's connection."""
    elsewhere = ~pl.col("same_host")
    uncovered, away = pl.col("covers_by_names") == NO, pl.col("reaches_by_answers") == NO
    waived = lists_origin() & is_over(rules.origin_permits)
    applies = {
        "MISDIRECTED": elsewhere & pl.col("misdirected"),
        "IP": elsewhere & away & ~uncovered & ~waived,
        "CERT": elsewhere & uncovered,
        "ORIGIN_EXCLUDED": elsewhere & framed_in_time() & is_over(rules.origin_restricts) & ~lists_origin(),
        "PROTO_MIX": (pl.col("protocol") != pl.col("protocol_held")).fill_null(value=False),
        "CRED": same_pool(rules.pool & _OF_CREDENTIALS) == NO,
        "PARTITION": same_pool(rules.pool - _OF_CREDENTIALS) == NO,
        "RACE": elsewhere & (in_time() == NO),
        "LIFETIME": still_there() == NO,
    }
    ranks = [pl.when(applied).then(pl.lit(_RANK[cause])) for cause, applied in applies.items()]
    return pl.coalesce(*ranks, pl.lit(_RANK[UNKNOWN]))
