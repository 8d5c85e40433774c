"""ORIGIN frames that came while a page was loading and leave out a name that the connection may have carried before."""

from __future__ import annotations

import polars as pl

from originset.data.reference.browser_rules import rule_sets
from originset.models.browsers.batch import Part
from originset.models.browsers.connection_facts import normal_origins
from originset.models.browsers.sharing_rules import origin_of


def frames_missed(part: Part, requests: pl.DataFrame) -> pl.Series:
    """How many such frames had come on other hosts' connections of its page when each of ``requests`` was sent.

    RFC 8336 section 2.3: what was sent before the frame may have used a connection that what is sent after it may not.
    Frames count over protocols over which some browser takes them as a restriction.
    """
    protocols = frozenset.union(*(rules.origin_restricts for rules in rule_sets()))
    frames = part.connections.filter(
        pl.col("protocol").is_in(list(protocols)), pl.col("origin_ms").is_not_null(), pl.col("origin_set").is_not_null()
    ).select("visit_id", "first_host", "origin_ms", normal_origins("origin_set").alias("listed"))
    missed = pl.zeros(requests.height, pl.Int64, eager=True).alias("frames_missed")
    if frames.is_empty():
        return missed
    counted = (
        requests.select("visit_id", "host", "port", "protocol", "started_ms")
        .with_row_index("row")
        .filter(pl.col("protocol").is_in(list(protocols)))
        .join(frames, on="visit_id")
        .filter(
            pl.col("started_ms") >= pl.col("origin_ms"),
            pl.col("host").ne_missing(pl.col("first_host")),
            ~pl.col("listed").list.contains(origin_of()),
        )
        .group_by("row")
        .len()
    )
    return missed.scatter(counted["row"], counted["len"].cast(pl.Int64))
