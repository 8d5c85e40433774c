"""A part of a study in memory: visits, requests, connections and lookups with numbers in place of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.browsers.known import Known
from originset.models.network import SECURE, network_requests

Ints = np.ndarray[Any, np.dtype[np.int64]]

PROTOCOLS = pl.Enum(["h1", "h2", "h3"])

_LARGEST = 2**62

# Numbers that lie no further apart are taken as they are.
_SPREAD = 32

_PHASES = ("blocked_ms", "dns_ms", "connect_ms", "send_ms", "wait_ms", "receive_ms")
_CONNECTIONS = (
    *("visit_id", "connection_id", "first_host", "server_ip", "port", "protocol", "tls", "tls_version", "ech"),
    *("certificate_id", "opened_ms", "established_ms", "closed_ms", "privacy_mode", "misdirected", "origin_set"),
    *("origin_ms", "source"),
)
_QUERIES = ("visit_id", "host", "rtype", "answers", "asked_ms", "took_ms", "source", "resolver")


@dataclass(frozen=True, slots=True)
class Part:
    """Some whole visits. ``visit_id`` is the row of ``visits`` in all; hosts, addresses, certificates are ``known``'s.

    ``visits``: visit_id (text), browser, cookies_blocked, crawled, in the order of their requests. ``requests``: those
    that reached the network, ordered by visit and number, with secure, socket (WebSocket) and protocol (h1, h2, h3).
    """

    known: Known
    visits: pl.DataFrame
    requests: pl.DataFrame
    connections: pl.DataFrame
    queries: pl.DataFrame


def read(tables: Mapping[str, pl.LazyFrame], known: Known) -> Part:
    """Takes memory for all of ``tables``: give it parts of a large study."""
    host = pl.col("host").cast(known.hosts)
    requests = (
        network_requests(tables)
        .filter(pl.col("host").is_not_null())
        .select(
            *("visit_id", "request_id", "port", "status", "resource_type", "initiator_id", "credentials"),
            *("connection_id", "server_ip", "started_ms", *_PHASES, "secure"),
            host,
            pl.col("frame_site").cast(known.hosts),
            (pl.col("scheme") == SECURE[1]).alias("socket"),
            pl.coalesce(protocol(), pl.when(pl.col("scheme") == SECURE[1]).then(pl.lit("h1", PROTOCOLS))).alias(
                "protocol"
            ),
        )
        .collect()
    )
    visits = tables["visits"].select(
        "visit_id",
        "browser",
        (pl.col("third_party_cookies") == "blocked").alias("cookies_blocked"),
        (pl.col("source") == "crawl").fill_null(value=False).alias("crawled"),
    ).collect()  # fmt: skip
    # In the order of their requests, these need not be moved.
    ids = pl.concat([requests["visit_id"].rle().struct.field("value"), visits["visit_id"]]).unique(maintain_order=True)
    visits = ids.to_frame("visit_id").join(visits, on="visit_id", maintain_order="left")
    requests = _numbered(requests, visits)
    if not _in_order(requests):
        requests = requests.sort("visit_id", "request_id")
    connections = tables["connections"].select(
        pl.col(name).cast(known.hosts) if name == "first_host"
        else pl.col(name).cast(known.addresses) if name == "server_ip"
        else pl.col(name).cast(known.certificates) if name == "certificate_id"
        else pl.col(name).cast(pl.List(known.hosts)) if name == "misdirected"
        else protocol() if name == "protocol"
        else pl.col(name)
        for name in _CONNECTIONS
    )  # fmt: skip
    queries = tables["dns_queries"].select(_QUERIES).with_columns(host)
    return Part(known, visits, requests, _numbered(connections.collect(), visits), _numbered(queries.collect(), visits))


def protocol() -> pl.Expr:
    """h1, h2 or h3; NULL for others and where it is not known."""
    return (
        pl.when(pl.col("protocol") == "h2").then(pl.lit("h2", PROTOCOLS))
        .when(pl.col("protocol") == "h3").then(pl.lit("h3", PROTOCOLS))
        .when(pl.col("protocol").is_in(["http/1.1", "http/1.0"])).then(pl.lit("h1", PROTOCOLS))
        .alias("protocol")
    )  # fmt: skip


def _numbered(rows: pl.DataFrame, visits: pl.DataFrame) -> pl.DataFrame:
    """``rows`` of ``visits``, with their numbers."""
    runs = rows["visit_id"].rle().struct.unnest()
    numbers = runs.join(
        visits.select(value="visit_id", number=pl.int_range(pl.len(), dtype=pl.UInt32)),
        on="value",
        how="left",
        maintain_order="left",
    )
    if numbers["number"].null_count() == 0:
        each = np.repeat(numbers["number"].to_numpy(), runs["len"].to_numpy())
        return rows.with_columns(pl.Series("visit_id", each, dtype=pl.UInt32))
    repeated = numbers.select(pl.col("number").repeat_by("len").explode())["number"]
    return rows.with_columns(repeated.alias("visit_id")).filter(pl.col("visit_id").is_not_null())


def _in_order(requests: pl.DataFrame) -> bool:
    """Whether visits, and numbers within each, grow."""
    visit, step = requests["visit_id"].to_numpy(), np.diff(requests["request_id"].to_numpy())
    same = visit[1:] == visit[:-1]
    return bool(np.all(visit[1:] >= visit[:-1]) and np.all(step[same] > 0))


def keyed(*parts: tuple[Ints, int]) -> Ints:
    """One number a row, the same just where all parts are; each part is its values, from 0, and how many there are."""
    key, size = np.zeros(parts[0][0].size, np.int64), 1
    for values, count in parts:
        if size * count > _LARGEST:
            distinct, key = np.unique(key, return_inverse=True)
            size = distinct.size
        key = key * count + values
        size *= count
    return key


def numbers(values: pl.Series) -> tuple[Ints, int]:
    """A part of :func:`keyed`: of categories, enums, booleans or whole numbers; NULL is a value of its own."""
    if isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.to_physical()
    found = values.cast(pl.Int64)
    least, most = found.min(), found.max()
    if not isinstance(least, int) or not isinstance(most, int):
        return np.zeros(values.len(), np.int64), 1
    if most - least >= _LARGEST:
        found = found.rank("dense").cast(pl.Int64)
        least, most = 1, values.len()
    return (found - least).fill_null(-1).to_numpy() + 1, most - least + 2


def few(values: pl.Series) -> tuple[Ints, int]:
    """The same for whole numbers of which there are few, however far apart."""
    known = values.drop_nulls().unique().sort().to_numpy()
    found = np.searchsorted(known, values.fill_null(0).to_numpy()) + 1
    return np.where(values.is_null().to_numpy(), 0, found), known.size + 2


def in_visits(visit: Ints, values: pl.Series) -> tuple[Ints, int]:
    """The same for whole numbers with the visit; those of a visit lie close together. ``visit`` grows."""
    if not visit.size:
        return visit, 1
    starts = np.flatnonzero(np.diff(visit, prepend=-1))
    null = values.is_null().to_numpy()
    of = values.cast(pl.Int64).fill_null(0).to_numpy()
    bounds = np.iinfo(np.int64)
    least = np.minimum.reduceat(np.where(null, bounds.max, of), starts)
    most = np.maximum.reduceat(np.where(null, bounds.min, of), starts)
    # One place more for what is not known.
    widths = np.where(least > most, 0.0, most.astype(np.float64) - least) + 2
    if widths.sum() > _SPREAD * visit.size:
        both = keyed((visit, int(visit[-1]) + 1), numbers(values))
        return np.unique(both, return_inverse=True)[1], both.size
    first = np.cumsum(widths.astype(np.int64)) - widths.astype(np.int64)
    run = np.repeat(np.arange(starts.size), np.diff(np.append(starts, visit.size)))
    return np.where(null, first[run], first[run] + 1 + (of - least[run])), int(widths.sum())


def grouped(key: Ints) -> tuple[Ints, Ints]:
    """The group of each row, those with the same key, numbered in their order; and each group's first row."""
    rows = np.arange(key.size)
    first = pl.DataFrame({"key": key, "row": rows}).select(pl.col("row").first().over("key"))["row"].to_numpy()
    firsts = np.flatnonzero(first == rows)
    number = np.empty(key.size, np.int64)
    number[firsts] = np.arange(firsts.size)
    return number[first], firsts


def earlier_alike(key: Ints) -> tuple[Ints, Ints]:
    """Every two rows with the same key: the later ones, and the earlier ones."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    rows = np.arange(key.size)
    begins = np.maximum.accumulate(np.where(np.diff(ordered, prepend=-1) != 0, rows, 0))
    before = rows - begins
    within = np.arange(before.sum()) - np.repeat(np.cumsum(before) - before, before)
    return np.repeat(order, before), order[np.repeat(begins, before) + within]


def places(rows: Ints) -> pl.Series:
    """Rows to gather; NULL for negative ones."""
    return pl.select(pl.when(pl.lit(pl.Series(rows, dtype=pl.Int64)) >= 0).then(rows)).to_series()
