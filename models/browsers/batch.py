"""A batch of pages in memory: visits, requests, connections and lookups, with numbers in place of repeated texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.browsers.batch_facts import BatchFacts
from originset.models.browsers.versions.recorder_rules import recorder_rules

Ints = np.ndarray[Any, np.dtype[np.int64]]

#: The models whose rows :func:`read` takes.
INPUTS = (
    *("browser_visits", "browser_requests", "browser_connections", "browser_lookups"),
    *("batch_hosts", "batch_addresses", "batch_certificates", "batch_coverage"),
)

PROTOCOLS = pl.Enum(["h1", "h2", "h3"])


@dataclass(frozen=True, slots=True)
class Part:
    """Some whole visits. ``visit_id`` is the row of ``visits`` in all but these.

    ``facts``: of their hosts, addresses and certificates, whose types these columns have. ``visits``, ``requests``
    (by visit and request_id), ``connections`` (by visit and connection_id) and ``queries`` have the columns of the
    models browser_visits, browser_requests, browser_connections and browser_lookups; ``visits`` RECORDER_RULES besides.
    """

    facts: BatchFacts
    visits: pl.DataFrame
    requests: pl.DataFrame
    connections: pl.DataFrame
    queries: pl.DataFrame


def read(rows: Mapping[str, pl.DataFrame]) -> Part:
    """A batch from the rows of INPUTS, by name, in any order; texts are Strings."""
    facts = BatchFacts.of(rows)
    visits = rows["browser_visits"].sort("visit_id").with_columns(pl.col("document_host").cast(facts.hosts))
    visits = visits.hstack(recorder_rules(visits))
    requests = _with_visit_numbers(rows["browser_requests"], visits).with_columns(
        pl.col("host", "frame_site").cast(facts.hosts),
        pl.col("server_ip").cast(facts.addresses),
        pl.col("protocol").cast(PROTOCOLS),
    )
    connections = _with_visit_numbers(rows["browser_connections"], visits).with_columns(
        pl.col("first_host").cast(facts.hosts),
        pl.col("misdirected").cast(pl.List(facts.hosts)),
        pl.col("server_ip").cast(facts.addresses),
        pl.col("certificate_id").cast(facts.certificates),
        pl.col("protocol").cast(PROTOCOLS),
    )
    queries = _with_visit_numbers(rows["browser_lookups"], visits).with_columns(pl.col("host").cast(facts.hosts))
    return Part(
        facts, visits, _in_order_of(requests, "request_id"), _in_order_of(connections, "connection_id"), queries
    )


def _in_order_of(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """The rows ordered by visit and ``key``, which decide what is the first of several."""
    # A sort copies all columns, and nearly always they are in order.
    step, within = pl.col("visit_id").cast(pl.Int64).diff(), pl.col(key).diff()
    in_order = (step > 0) | ((step == 0) & (within >= 0).fill_null(value=False))
    return rows if rows.select(in_order.all()).item() else rows.sort("visit_id", key)


def _with_visit_numbers(rows: pl.DataFrame, visits: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``visits``, with the visit's row for its id."""
    number = pl.col("visit_id").cast(pl.Enum(visits["visit_id"]), strict=False).to_physical().cast(pl.UInt32)
    return rows.with_columns(number).filter(pl.col("visit_id").is_not_null())


def group_numbers(keys: pl.DataFrame) -> tuple[Ints, Ints]:
    """The group of each row, those with the same keys (NULL is one), and each group's first row, which orders them."""
    first = keys.with_row_index("row").select(pl.col("row").first().over(keys.columns))["row"].to_numpy()
    begins = first == np.arange(first.size)
    return (np.cumsum(begins) - 1)[first], np.flatnonzero(begins)


def largest(values: pl.Series, group: Ints, groups: int) -> pl.Series:
    """The largest of each group; NULL where none is known."""
    most = np.full(groups, -np.inf)
    np.maximum.at(most, group, values.fill_null(-np.inf).to_numpy())
    return pl.select(pl.when(pl.lit(pl.Series(most)) != -np.inf).then(pl.lit(pl.Series(most)))).to_series()


def second_least(values: pl.Series, group: Ints, groups: int) -> pl.Series:
    """The second least of each group; NULL where fewer are known."""
    numbers = values.fill_null(np.inf).to_numpy().copy()
    least, second = (np.full(groups, np.inf) for _ in range(2))
    np.minimum.at(least, group, numbers)
    # Without one row that has the least of its group.
    rows = np.flatnonzero(numbers == least[group])
    row = np.zeros(groups, np.int64)
    row[group[rows]] = rows
    numbers[row] = np.inf
    np.minimum.at(second, group, numbers)
    return pl.Series(second).replace(np.inf, None)


def request_rows(requests: pl.DataFrame, visit: pl.Series, number: pl.Series) -> pl.Series:
    """The row of ``requests``, which are ordered by both, of each visit and request_id (``number``); or NULL."""
    keys, wanted = (
        of_visit.cast(pl.Int64).to_numpy() * 2**32 + of_request.fill_null(0).to_numpy()
        for of_visit, of_request in ((requests["visit_id"], requests["request_id"]), (visit, number))
    )
    row = np.searchsorted(keys, wanted)
    there = np.append(keys, np.iinfo(np.int64).min)[row] == wanted
    return pl.Series(row).set(pl.Series(~there) | number.is_null(), None)


def matched(rows: pl.DataFrame, others: pl.DataFrame, keys: list[str], *columns: str) -> pl.DataFrame:
    """For each of ``rows`` the columns (all if none is named) of the first of ``others`` with its keys, or NULL."""
    of_keys = others.select(*keys, *columns) if columns else others
    of_keys = of_keys.unique(keys, keep="first", maintain_order=True)
    return rows.select(keys).join(of_keys, on=keys, how="left", maintain_order="left").drop(keys)


def earlier_alike(rows: pl.DataFrame, number: str, keys: list[str]) -> pl.DataFrame:
    """Every two rows with the same keys (NULL is one): the ``number`` of the later, and of the earlier (``_held``)."""
    own = rows.select(number, *keys)
    held = own.rename({number: f"{number}_held"})
    alike = own.join(held, on=keys, nulls_equal=True).filter(pl.col(f"{number}_held") < pl.col(number))
    return alike.select(number, f"{number}_held")
