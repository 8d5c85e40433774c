"""A page replayed under a browser's rules: which groups of requests open connections, certainly or perhaps."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl

from originset.data.reference.browser_rules import BrowserRules
from originset.models.browsers.batch import Ints
from originset.models.browsers.sharing_rules import (
    MAYBE,
    NO,
    YES,
    asked_at_once,
    asked_ms,
    differs_in_credentials_only,
    hides_spare,
    left_out_since,
    looked_up,
    shares_host,
    shares_host_if_joined,
    with_joins,
)

_Outcomes = np.ndarray[tuple[int], np.dtype[np.int8]]

# Of pairs of one host: whatever becomes of the earlier one, the later one goes with it (SURE), perhaps (UNSURE), or
# certainly if the earlier one joined another's connection, else perhaps (JOINED).
SURE, UNSURE, JOINED = 3, 4, 5


def ways(found: pl.DataFrame, rules: BrowserRules) -> pl.DataFrame:
    """What a browser with ``rules`` makes of each pair (:func:`originset.models.browsers.candidate_pairs.pairs`).

    Columns: group, group_held, way (of :func:`opened`), may (it uses the connection), as_recorded (that it may, or
    does, rests on their being together in the recording), asked (looks the name up all the same), refused (it is asked
    in vain), either_first (of one host in both modes of credentials, asked for before the earlier one was connected:
    the order may be the other), hides_spare (of several that the later one opens none is closed as spare),
    experienced_by (UNSURE and JOINED are SURE if the earlier one's connection was given another request by then; NULL:
    that decides nothing). Pairs that come to nothing are left out.
    """
    taken = (
        with_joins(found, rules)
        .select(
            *("group", "group_held", "same_host", "may", "may_by_facts"),
            shares_host(rules).alias("shares"),
            shares_host_if_joined(rules).alias("shares_if_joined"),
            asked_at_once().alias("at_once"),
            hides_spare(rules, answers=found["answers"].null_count() < found.height).alias("hides_spare"),
            left_out_since(rules).alias("left_out"),
            looked_up(rules).alias("asked"),
            (pl.col("misdirected") & ~pl.col("same_host")).alias("refused"),
            pl.when(differs_in_credentials_only(rules) == YES).then(asked_ms()).alias("experienced_by"),
        )
        .filter((pl.col("may") > NO) | (pl.col("shares") > NO) | pl.col("hides_spare"))
        .select(
            *("group", "group_held", _way_to_connect().alias("way"), "may"),
            (pl.col("may_by_facts") < pl.col("may")).alias("as_recorded"),
            *("asked", "refused"),
            ((pl.col("shares") > NO) & pl.col("at_once")).alias("either_first"),
            *("hides_spare", "experienced_by"),
        )
        .with_columns(pl.when(pl.col("way").is_in([UNSURE, JOINED])).then("experienced_by").alias("experienced_by"))
    )
    return taken if rules.retries_share_connection else _left_after_refusal(taken)


def _left_after_refusal(taken: pl.DataFrame) -> pl.DataFrame:
    """``taken``, where a connection that has answered 421 may have been left for a new one."""
    refused = taken.filter("refused", pl.col("may") > NO)
    refusing = refused.group_by("group_held").agg(pl.col("group").min().alias("since"))
    if refusing.is_empty():
        return taken
    perhaps = pl.when(pl.col("way").is_in([SURE, JOINED])).then(UNSURE).when(pl.col("way") == YES).then(MAYBE)
    left = ~pl.col("refused") & (pl.col("group") > pl.col("since")).fill_null(value=False)
    return (
        taken.join(refusing, on="group_held", how="left", maintain_order="left")
        .with_columns(
            pl.when(left).then(perhaps.otherwise("way")).otherwise("way").cast(pl.Int8).alias("way"),
            pl.when(~left).then("experienced_by").alias("experienced_by"),
        )
        .drop("since")
    )


@cache
def _way_to_connect() -> pl.Expr:
    # What its own host's connection can carry, that or the one which it shares carries.
    return (
        # Of a name that a frame has left out since, only what it opened for itself goes on.
        pl.when("left_out")
        .then("may")
        .when(pl.col("same_host") & (pl.col("may") == YES))
        .then(SURE)
        .when(pl.col("shares") == YES)
        .then(SURE)
        .when((pl.col("shares") == MAYBE) & pl.col("shares_if_joined"))
        .then(JOINED)
        .when(pl.col("same_host") | (pl.col("shares") == MAYBE))
        .then(UNSURE)
        .otherwise("may")
        .cast(pl.Int8)
    )


def replayed(groups: pl.DataFrame, taken: pl.DataFrame) -> pl.DataFrame:
    """``groups`` with what becomes of each, given the :func:`ways` that a browser takes; these are in any order.

    ``opens`` (NO, MAYBE, YES: it opens a connection), ``joins`` (the group whose connection it certainly uses instead;
    else NULL), ``as_recorded`` (that it joins rests on the recording's showing it), ``looked_up`` (NULL: not known),
    ``refused`` (NO, MAYBE, YES: asked in vain where 421 is the answer), ``side_by_side`` (each request may have opened
    one of its own).

    Groups are taken in the order of their first requests. One opens no connection if an earlier one certainly did that
    it certainly may use, and certainly opens one if there is none that it could perhaps use.
    """
    refused = np.zeros(groups.height, np.int8)
    side_by_side = np.zeros(groups.height, np.bool_)
    side_by_side[taken.filter("hides_spare")["group"].to_numpy()] = True
    vain = taken.filter("refused")
    np.maximum.at(refused, vain["group"].to_numpy(), vain["may"].to_numpy())
    possible = taken.filter(~pl.col("refused")).sort("group", "group_held")
    later, earlier, way = (possible[name].to_list() for name in ("group", "group_held", "way"))
    opens, used = opened(groups.height, later, earlier, way)
    if possible["experienced_by"].null_count() < possible.height:
        possible = _with_experience(groups, possible, used)
        opens, used = opened(groups.height, later, earlier, possible["way"].to_list())
    group, held = possible["group"].to_numpy(), possible["group_held"].to_numpy()
    swapped = possible["either_first"].to_numpy() & (used[group] >= 0) & (used[group] != held) & (opens[held] == YES)
    opens[held[swapped]] = MAYBE
    unasked = ~possible["asked"].to_numpy()
    without = np.zeros(groups.height, np.bool_)
    without[group[unasked & (used[group] == held)]] = True
    perhaps_without = np.zeros(groups.height, np.bool_)
    perhaps_without[group[unasked]] = True
    joined = used >= 0
    asked = np.where(joined, ~without, (opens == YES) | ~perhaps_without)
    open_question = ~joined & ~asked
    return groups.hstack(
        [
            pl.Series("opens", opens),
            pl.select(
                pl.when(pl.Series(joined)).then(pl.Series(used)).cast(groups.schema["group"]).alias("joins")
            ).to_series(),
            pl.select(pl.when(pl.Series(~open_question)).then(pl.Series(asked)).alias("looked_up")).to_series(),
            pl.Series("as_recorded", _as_recorded(possible, opens)),
            pl.Series("refused", refused),
            pl.Series("side_by_side", side_by_side),
        ]
    )


def _with_experience(groups: pl.DataFrame, possible: pl.DataFrame, used: Ints) -> pl.DataFrame:
    """``possible``, where a connection that other groups certainly use (``used``) carries both modes of its host."""
    joined = np.flatnonzero(used >= 0)
    given = np.full(groups.height, np.inf)
    np.minimum.at(given, used[joined], groups["started_ms"].fill_null(np.inf).to_numpy()[joined])
    experienced = np.maximum(given, groups["connected_ms"].fill_null(np.inf).to_numpy())
    experienced = experienced[possible["group_held"].to_numpy()]
    certain = (pl.Series(experienced) <= pl.col("experienced_by")).fill_null(value=False)
    return possible.with_columns(pl.when(certain).then(SURE).otherwise("way").cast(pl.Int8).alias("way"))


def _as_recorded(possible: pl.DataFrame, opens: _Outcomes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which groups open no connection for no other reason than that the recording shows them on another's."""
    way, there = possible["way"].to_numpy(), opens[possible["group_held"].to_numpy()]
    certain = (way == SURE) | ((way == YES) & (there == YES)) | ((way == JOINED) & (there == NO))
    shown, otherwise = (np.zeros(opens.size, np.bool_) for _ in range(2))
    group, by_recording = possible["group"].to_numpy(), possible["as_recorded"].to_numpy()
    shown[group[certain & by_recording]] = True
    otherwise[group[certain & ~by_recording]] = True
    return shown & ~otherwise


def opened(
    count: int, later: list[int], earlier: list[int], certain: list[int]
) -> tuple[_Outcomes, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Of ``count`` groups, whether each opens a connection, and whose it uses instead (-1: nobody's).

    The k-th pair says that group ``later[k]`` may (MAYBE) or can (YES) use the connection that ``earlier[k]`` opens, or
    whichever that one uses (SURE, UNSURE, JOINED); pairs are ordered by ``later``, groups by time.
    """
    # Bytes: as fast to read as a list, and nothing to take over into an array.
    opens = bytearray([YES]) * count
    joined: dict[int, int] = {}
    at = 0
    total = len(later)
    while at < total:
        group = later[at]
        outcome = YES
        while at < total and later[at] == group:
            held = opens[earlier[at]]
            way = certain[at]
            if way == SURE or (way == YES and held == YES) or (way == JOINED and held == NO):
                if outcome != NO:
                    outcome = NO
                    joined[group] = earlier[at]
            elif outcome == YES and way != NO and (way >= UNSURE or held == MAYBE or (way == MAYBE and held == YES)):
                outcome = MAYBE
            at += 1
        opens[group] = outcome
    used = np.full(count, -1)
    used[list(joined)] = list(joined.values())
    return np.frombuffer(opens, np.int8).copy(), used


@cache
def unknown_modes(rules: BrowserRules) -> pl.Expr:
    """How many pools the requests of a group may be spread over, as what decides it is not known; at least 1."""
    ways = pl.lit(1)
    if "credentials" in rules.pool:
        ways = ways * pl.when(pl.col("credentialed").is_null()).then(2).otherwise(1)
    if "cross_site_frame" in rules.pool:
        ways = ways * pl.when(pl.col("cross_site").is_null()).then(2).otherwise(1)
    return pl.min_horizontal(ways, pl.col("requests").cast(pl.Int32))
