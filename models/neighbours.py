"""Groups of hosts that pages asked for together, and the pairs in them that have a place in common: all as numbers.

A pair of hosts is one number (:func:`pair_of`), by which it sorts as its names do if hosts are numbered by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from originset.models.uses import Ints

_WIDTH = 32
_LOW = 2**_WIDTH - 1


@dataclass(frozen=True, slots=True)
class Places:
    """Where hosts are: ``rows`` have host, place (numbers) and at; ``texts`` what the places are called, sorted."""

    rows: pl.DataFrame
    texts: pl.Series


def places(rows: pl.DataFrame) -> Places:
    """``rows``: host (a number), place (text, category or number), at. Without places that only one host has."""
    rows = rows.drop_nulls("place").filter(pl.col("place").is_duplicated())
    texts = rows["place"].unique().cast(pl.String).sort()
    number = pl.col("place").cast(pl.String).cast(pl.Enum(texts)).to_physical()
    return Places(rows.select("host", number.cast(pl.UInt32), "at"), texts)


def pair_of(one: str, other: str) -> pl.Expr:
    """The number of a pair of hosts (columns), whichever is the first by name."""
    return (packed(pl.min_horizontal(one, other), pl.max_horizontal(one, other))).alias("pair")


def packed(high: pl.Expr, low: pl.Expr) -> pl.Expr:
    """Two numbers of up to 31 and 32 bits in one, which is less to compare than two."""
    return high.cast(pl.Int64).mul(2**_WIDTH).add(low.cast(pl.Int64))


def unpacked(both: str) -> tuple[pl.Expr, pl.Expr]:
    """What :func:`packed` made one column of."""
    number = pl.col(both)
    return (number // 2**_WIDTH).cast(pl.UInt32), (number & _LOW).cast(pl.UInt32)


def grouped(rows: pl.DataFrame) -> pl.DataFrame:
    """``group`` and ``host`` of ``rows`` once each, sorted, without groups of one host."""
    once = rows.select("group", "host").unique()
    return once.filter(pl.col("group").is_duplicated()).sort("group", "host")


def beside(groups: pl.DataFrame, server: Ints) -> pl.DataFrame:
    """``pair``, once each: a host of ``server`` (one for each row, -1 for none) and each other one of its group.

    ``groups``: as :func:`grouped` gives them.
    """
    starts = starts_of(groups["group"].to_numpy())
    if not starts.size:
        return pl.DataFrame(schema={"pair": pl.Int64})
    own = groups["host"].to_numpy() == server
    of_group = np.repeat(np.logical_or.reduceat(own, starts), np.diff(np.append(starts, own.size)))
    others = groups.with_columns(pl.Series("server", server)).filter(of_group & ~own)
    return others.select(pair_of("server", "host").unique())


def lists(groups: list[pl.DataFrame]) -> pl.DataFrame:
    """Each different set of hosts among ``groups`` (as :func:`grouped` gives them) once: ``list`` and ``host``."""
    host = pl.concat(groups)["host"].to_numpy()
    before = np.cumsum([0, *(group.height for group in groups)])
    starts = np.concatenate(
        [starts_of(group["group"].to_numpy()) + first for group, first in zip(groups, before, strict=False)]
    )
    kept = contents(starts, host).is_first_distinct().to_numpy()
    sizes = np.diff(np.append(starts, host.size))
    rows = np.repeat(kept, sizes)
    number = np.repeat(np.cumsum(kept), sizes)[rows]
    return pl.DataFrame({"list": number, "host": host[rows]}, schema={"list": pl.Int64, "host": pl.UInt32})


def contents(starts: Ints, values: np.ndarray[Any, np.dtype[np.uint32]]) -> pl.Series:
    """The values of each run, as bytes: equal for runs that are equal. ``starts``: the first row of each run."""
    offsets = np.append(starts, values.size).astype(np.int64) * values.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
    return pl.Series(pa.LargeBinaryArray.from_buffers(pa.large_binary(), starts.size, buffers))


def sharing(lists: pl.DataFrame, places: Places) -> pl.DataFrame:
    """The pairs of one list of which both hosts are at one place: ``pair``, ``place``, ``at``, once each.

    ``at``: when the later of both was last seen there and the other not yet gone.
    """
    here = (
        lists.join(places.rows, on="host")
        .select(packed(pl.col("list"), pl.col("place")).alias("both"), "host", "at")
        .filter(pl.col("both").is_duplicated())
    )
    return (
        here.lazy()
        .join(here.lazy(), on="both")
        .filter(pl.col("host") < pl.col("host_right"))
        .select(pair_of("host", "host_right"), unpacked("both")[1].alias("place"), pl.min_horizontal("at", "at_right"))
        .unique(["pair", "place"])
        .collect()
    )


def both_at(pairs: pl.DataFrame, places: Places) -> pl.DataFrame:
    """The rows of ``pairs`` (``pair``) of which both hosts are at one place: as :func:`sharing` gives them."""
    one, other = unpacked("pair")
    return (
        pairs.select("pair", one.alias("host"), other.alias("other"))
        .join(places.rows, on="host")
        .join(places.rows, left_on=["other", "place"], right_on=["host", "place"])
        .select("pair", "place", pl.min_horizontal("at", "at_right"))
    )


def told(pairs: list[pl.DataFrame], places: Places, prefix: str) -> pl.DataFrame:
    """Of each pair its ``source``, the least of its places by name, and ``observed_at``, the latest.

    ``pairs``: as :func:`sharing` gives them, which may repeat one another.
    """
    least = pl.concat(pairs).group_by("pair").agg(pl.col("place").min(), pl.col("at").max())
    return least.select(
        "pair", (prefix + places.texts.gather(least["place"])).alias("source"), pl.col("at").alias("observed_at")
    )


def starts_of(group: Ints) -> Ints:
    """The first row of each group; ``group`` ascends."""
    return np.flatnonzero(np.diff(group, prepend=group[:1] - 1)) if group.size else np.empty(0, np.int64)


def pairs_within(starts: Ints, size: int, together: int) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of rows of one run, the earlier first: about ``together`` of them at a time, or those of one row.

    ``starts``: the first row of each run of ``size`` rows. However long a run is, its pairs need no more memory.
    """
    lengths = np.diff(np.append(starts, size))
    later = np.repeat(starts + lengths, lengths) - np.arange(size) - 1
    before = np.append(0, np.cumsum(later))
    first = 0
    while first < size:
        last = max(int(np.searchsorted(before, before[first] + together, side="right")) - 1, first + 1)
        one = np.repeat(np.arange(first, last), later[first:last])
        yield one, np.arange(before[first], before[last]) - before[one] + one + 1
        first = last
