"""Connections that servers closed while the page still needed them: requests after that are for another one."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from originset.models.browsers.batch import Ints, group_numbers

_Times = np.ndarray[Any, np.dtype[np.float64]]


def with_lifetimes(rows: pl.DataFrame, told: pl.DataFrame, alike: tuple[str, ...]) -> pl.DataFrame:
    """``rows`` (requests alike, by connection) with what became of the connections before them.

    ``life``: of HTTP/2 and HTTP/3, how often all connections had closed that carried earlier rows alike in ``alike``.
    ``closings``: the same of HTTP/1.1, whose connections are counted together. ``unseen_closings``: how often they may
    have closed where no recorder saw it: each had received its last answer before another was opened. ``gone_ms``: when
    the connection closed; NULL where it outlived the page, or nobody saw it. ``since_ms``: when what follows a closing
    is sent, at the earliest; NULL for all else.

    Who closed, and that a server tells so beforehand (GOAWAY, RFC 9113 section 6.8), is not asked: a browser closes no
    connection that it still uses.

    ``told``: closed_ms, opened_ms and source of each row's connection.
    """
    known = rows["connection"].to_numpy() >= 0
    watched = known & (told["source"] == "netlog").fill_null(value=False).to_numpy()
    closed = told["closed_ms"].fill_null(np.inf).to_numpy()
    # NaN compares as false: what nobody timed follows nothing.
    begun = (
        rows.select(since=pl.max_horizontal("started_ms", told["opened_ms"])).to_series().fill_null(np.nan).to_numpy()
    )
    group, _ = group_numbers(rows.select(alike))
    order = np.lexsort((begun, group))
    seen = _follows(group, begun, np.where(watched, closed, np.inf), order) & watched
    quiet = _follows(group, begun, np.where(known & ~watched, _last_answers(rows), np.inf), order) & known & ~watched
    http1 = (rows["protocol"] == "h1").fill_null(value=False).to_numpy()
    return rows.with_columns(
        pl.Series("life", _so_far(seen & ~http1, group, order)),
        pl.Series("closings", seen & http1),
        pl.Series("unseen_closings", quiet),
        pl.Series("gone_ms", np.where(watched & np.isfinite(closed), closed, np.nan)).fill_nan(None),
        pl.Series("since_ms", np.where(seen, begun, np.nan)).fill_nan(None),
    )


def _follows(group: Ints, begun: _Times, gone: _Times, order: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows begin when the connections of all earlier ones of their group are gone; the first of a group none."""
    # Nothing follows in a group of one row, nor where no end is known: polars goes through groups one by one.
    several = (np.bincount(group) > 1) & (np.bincount(group, gone < np.inf) > 0)
    rows = order[several[group[order]]]
    place = pl.DataFrame({"group": group[rows], "gone": gone[rows]})
    before = place.select(pl.col("gone").cum_max().shift(1).over("group")).to_series().fill_null(np.inf).to_numpy()
    follows = np.zeros(group.size, np.bool_)
    follows[rows] = before <= begun[rows]
    return follows


def _so_far(flags: np.ndarray[Any, np.dtype[np.bool_]], group: Ints, order: Ints) -> Ints:
    """How many of a group's flags are set up to each row, in this order."""
    total = np.cumsum(flags[order])
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    before_group: Ints = (total - flags[order])[starts]
    counted = np.zeros(group.size, np.int64)
    counted[order] = total - before_group[group[order]]
    return counted


def _last_answers(rows: pl.DataFrame) -> _Times:
    """When the last answer on each row's connection had been received; infinite where that is not known."""
    connection = rows["connection"].to_numpy()
    last = np.full(int(connection.max(initial=-1)) + 2, -np.inf)
    np.maximum.at(last, connection, rows["ended_ms"].fill_null(np.inf).to_numpy())
    of_each: _Times = last[connection]
    return of_each
