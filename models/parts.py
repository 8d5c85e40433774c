"""A study's tables a part at a time, each of whole visits, so that no model needs memory for all requests."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from originset.models.uses import visit_runs

ROWS = 1_000_000

# Tables whose rows each belong to one visit.
_PER_VISIT = ("visits", "requests", "connections", "dns_queries")

# Rows of all visits looked at together: they are narrower than requests.
SLICE = 500_000

# Visit ids looked at together for where each visit's rows are.
_SCANNED = 500_000

# Of mallopt(3): how much free memory stays at the end of the heap, and from which size on memory is mapped by itself.
_TRIM_THRESHOLD, _FREE_BYTES = -1, 400 * 2**20
_MMAP_THRESHOLD, _MAPPED_BYTES = -3, 64 * 2**20


def parts(tables: Mapping[str, pl.LazyFrame], rows: int = ROWS) -> Iterator[dict[str, pl.LazyFrame]]:
    """``tables`` restricted to some whole visits after another, each with about ``rows`` requests (or one large visit).

    Together they have every visit once. Nothing is read before it is used. Rows may be in any order; little is read
    twice where a visit's rows lie together and in one order in all tables, as import and analyze write them.

    Where they do in ``requests``, there also is ``request_runs``: of each visit that has any, in the order of
    ``requests``, how many ``rows``.
    """
    _keep_freed_memory()
    try:
        yield from _parts(tables, rows)
    finally:
        _give_back_freed_memory()


def _parts(tables: Mapping[str, pl.LazyFrame], rows: int) -> Iterator[dict[str, pl.LazyFrame]]:
    spans = {name: _spans(tables[name]) for name in _PER_VISIT}
    # Visits in the order of their requests; those without any come last, and count as one so that they end too.
    plan = (
        spans["visits"]
        .select("visit_id")
        .join(spans["requests"], on="visit_id", how="left")
        .sort("first", "visit_id", nulls_last=True)
        .select(
            "visit_id",
            "rows",
            (pl.col("end") - pl.col("first") > pl.col("rows")).alias("parted"),
            (pl.col("rows").fill_null(1).cum_sum() // rows).alias("part"),
        )
    )
    places = {name: _places(spans.pop(name), plan) for name in _PER_VISIT}
    for (part,), chosen in plan.group_by("part", maintain_order=True):
        own = {name: _slice(tables[name], places[name].get(part), chosen) for name in _PER_VISIT}
        asked = chosen.drop_nulls("rows")
        if not asked["parted"].any() and asked["rows"].sum() == _length(places["requests"].get(part)):
            own["request_runs"] = asked.select("visit_id", "rows").lazy()
        yield {**tables, **own}
    if plan.is_empty():
        yield {**tables, **{name: tables[name].head(0) for name in _PER_VISIT}}


def _keep_freed_memory() -> None:
    """Have the C library keep what numpy's columns of one part used for those of the next.

    Else these pages go back to the system and come anew, zeroed, for every part: some 6 % of all time. Nothing changes
    where the C library has no such setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _FREE_BYTES)
        mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)


def _give_back_freed_memory() -> None:
    """What follows the parts needs it for other things than numpy's columns."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


def _spans(table: pl.LazyFrame) -> pl.DataFrame:
    """Of each visit, where its rows begin and end and how many they are."""
    found, first = [], 0
    while True:
        ids = table.select("visit_id").slice(first, _SCANNED).collect()["visit_id"]
        starts = visit_runs(ids)[1]
        ends = np.append(starts[1:], ids.len())[: starts.size]
        found.append(pl.DataFrame({"visit_id": ids.gather(starts), "first": first + starts, "end": first + ends}))
        first += ids.len()
        if ids.len() < _SCANNED:
            break
    return (
        pl.concat(found)
        .group_by("visit_id", maintain_order=True)
        .agg(pl.col("first").min(), pl.col("end").max(), (pl.col("end") - pl.col("first")).sum().alias("rows"))
    )


def _places(spans: pl.DataFrame, plan: pl.DataFrame) -> dict[int, tuple[int, int, int]]:
    """Of each part where its rows of a table begin and end, and how many they are."""
    by_part = (
        spans.join(plan.select("visit_id", "part"), on="visit_id")
        .group_by("part")
        .agg(pl.col("first").min(), pl.col("end").max(), pl.col("rows").sum())
    )
    return {part: (first, end, rows) for part, first, end, rows in by_part.iter_rows()}


def _length(place: tuple[int, int, int] | None) -> int:
    return place[1] - place[0] if place else 0


def _slice(table: pl.LazyFrame, place: tuple[int, int, int] | None, chosen: pl.DataFrame) -> pl.LazyFrame:
    if place is None:
        return table.head(0)
    first, _, rows = place
    found = table.slice(first, _length(place))
    if rows < _length(place):
        # Other visits' rows lie between.
        found = found.join(chosen.lazy().select("visit_id"), on="visit_id", how="semi", maintain_order="left")
    return found


def by_visits(rows: pl.DataFrame, size: int = SLICE) -> Iterator[pl.DataFrame]:
    """``rows``, by ``visit``, some whole visits after another: slices of about ``size`` rows, at least one."""
    visit, first = rows["visit"].to_numpy(), 0
    while first == 0 or first < rows.height:
        end = min(first + size, rows.height)
        end = int(np.searchsorted(visit, visit[end - 1], side="right")) if end > first else end
        yield rows.slice(first, end - first)
        first = max(end, 1)
