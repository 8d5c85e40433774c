"""A part of a study in memory: visits, requests, connections and lookups with numbers in place of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.browsers.known import Known
from originset.models.crowded import crowded
from originset.models.network import SECURE, network_requests
from originset.models.uses import views

Ints = np.ndarray[Any, np.dtype[np.int64]]

PROTOCOLS = pl.Enum(["h1", "h2", "h3"])

_LARGEST = 2**62

# Numbers that lie no further apart are taken as they are.
_SPREAD = 32

# Fewer different values than that are counted in a table of them.
_FEW_APART = 2**20

# Odd, so that the upper bits of products hang on all of a key (Knuth, The Art of Computer Programming, 6.4).
_FACTORS = [np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)]

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
    that reached the network, ordered by visit and number, with secure, socket (WebSocket), protocol (h1, h2, h3) and
    connection (a number for visit and connection; one for all of a visit whose connection is not known).
    """

    known: Known
    visits: pl.DataFrame
    requests: pl.DataFrame
    connections: pl.DataFrame
    queries: pl.DataFrame


def read(tables: Mapping[str, pl.LazyFrame], known: Known) -> Part:
    """What ``tables`` hold, but for pages that are :func:`originset.models.crowded.crowded`.

    Takes memory for all of them: give it parts of a large study.
    """
    requests = network_requests(
        tables,
        *("visit_id", "request_id", "port", "status", "resource_type", "initiator_id", "credentials"),
        *("connection_id", "server_ip", "started_ms", *_PHASES),
        "host",
        pl.col("scheme").is_in(SECURE).alias("secure"),
        pl.col("frame_site").cast(known.hosts),
        (pl.col("scheme") == SECURE[1]).alias("socket"),
        pl.coalesce(protocol(), pl.when(pl.col("scheme") == SECURE[1]).then(pl.lit("h1", PROTOCOLS))).alias("protocol"),
    )
    if requests["host"].null_count():
        requests = requests.filter(pl.col("host").is_not_null())
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
    requests = requests.with_columns(_connections(requests))
    requests = requests.with_columns(_hosts(requests, known))
    visits, requests = _without_crowded(visits, requests)
    connections = tables["connections"].select(
        pl.col(name).cast(known.hosts) if name == "first_host"
        else pl.col(name).cast(known.addresses) if name == "server_ip"
        else pl.col(name).cast(known.certificates) if name == "certificate_id"
        else pl.col(name).cast(pl.List(known.hosts)) if name == "misdirected"
        else protocol() if name == "protocol"
        else pl.col(name)
        for name in _CONNECTIONS
    )  # fmt: skip
    queries = tables["dns_queries"].select(_QUERIES).with_columns(pl.col("host").cast(known.hosts))
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


def _without_crowded(visits: pl.DataFrame, requests: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    visit = requests["visit_id"].to_numpy()
    left_out = crowded(visit, requests["host"], requests["connection_id"])
    if not left_out.size:
        return visits, requests
    stays = np.ones(visits.height, np.bool_)
    stays[left_out] = False
    number = pl.Series("visit_id", (np.cumsum(stays) - 1)[visit], dtype=pl.Int64)
    kept = requests.with_columns(number).filter(pl.Series(stays[visit])).cast({"visit_id": pl.UInt32})
    return visits.filter(pl.Series(stays)), kept.with_columns(_connections(kept))


def _connections(requests: pl.DataFrame) -> pl.Series:
    visit = requests["visit_id"].to_numpy().astype(np.int64)
    return pl.Series("connection", in_visits(visit, requests["connection_id"])[0])


def _hosts(requests: pl.DataFrame, known: Known) -> pl.Series:
    """``host`` as categories: nearly all requests are for the host of their connection's first, which is looked at."""
    texts = requests["host"].rechunk()
    words = views(texts)
    head = heads(requests["connection"].to_numpy())
    other = (words[:, 0] != words[head, 0]) | (words[:, 1] != words[head, 1])
    other[head] = True
    looked_at = np.flatnonzero(other)
    some = texts.gather(looked_at).cast(known.hosts)
    place = np.empty(texts.len(), np.int64)
    place[looked_at] = np.arange(looked_at.size)
    return some.gather(place[np.where(other, np.arange(texts.len()), head)])


def keyed(*parts: tuple[Ints, int]) -> Ints:
    """One number a row, the same just where all parts are; each part is its values, from 0, and how many there are."""
    key, size = np.zeros(parts[0][0].size, np.int64), 1
    for values, count in parts:
        if size * count > _LARGEST:
            distinct, key = np.unique(key, return_inverse=True)
            size = distinct.size
        key = values.copy() if size == 1 else key * count + values
        size *= count
    return key


def numbers(values: pl.Series) -> tuple[Ints, int]:
    """A part of :func:`keyed`: of categories, enums, booleans or whole numbers; NULL is a value of its own."""
    if isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.to_physical()
    elif values.dtype == pl.Boolean:
        values = values.cast(pl.Int8)
    unknown = None
    if values.null_count() == values.len():
        return np.zeros(values.len(), np.int64), 1
    if values.null_count():
        unknown = values.is_null().to_numpy()
        values = values.fill_null(values.min())
    found = values.to_numpy().astype(np.int64)
    least, most = int(found.min()), int(found.max())
    if most - least >= _LARGEST:
        found = np.unique(found, return_inverse=True)[1]
        least, most = 0, values.len()
    found -= least
    found += 1
    if unknown is not None:
        found[unknown] = 0
    return found, most - least + 2


def few(values: pl.Series) -> tuple[Ints, int]:
    """The same for whole numbers of which there are few, however far apart."""
    found, count = numbers(values)
    if count > _FEW_APART:
        known, found = np.unique(found, return_inverse=True)
        return found, known.size
    there = np.zeros(count, np.bool_)
    there[found] = True
    return (np.cumsum(there) - 1)[found], int(there.sum())


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


def heads(values: Ints) -> Ints:
    """Of each row the first with its value; values are numbers from 0 that lie close together."""
    first = np.empty(int(values.max(initial=-1)) + 1, np.int64)
    first[values[::-1]] = np.arange(values.size - 1, -1, -1)
    return first[values]


def grouped(key: Ints, likely: Ints | None = None) -> tuple[Ints, Ints]:
    """The group of each row, those with the same key, numbered in their order; and each group's first row.

    ``likely``: of each row one that is the first with its own key, and may be with this one's.
    """
    first = _first_alike(key, likely)
    begins = first == np.arange(key.size)
    return (np.cumsum(begins) - 1)[first], np.flatnonzero(begins)


def _first_alike(key: Ints, likely: Ints | None = None) -> Ints:
    """Of each row the first with the same key.

    By a table of hashes with room for one key in a place: those that find another there are looked up again by another
    hash. A fraction of what it costs to sort, or to group by, as many rows.
    """
    first, left = np.empty(key.size, np.int64), np.arange(key.size)
    if likely is not None:
        first, left = likely.copy(), np.flatnonzero(key[likely] != key)
    bits = max(left.size, 1).bit_length() + 1
    for factor in _FACTORS:
        some = key if left.size == key.size else key[left]
        place = ((some.view(np.uint64) * factor) >> np.uint64(64 - bits)).view(np.int64)
        table = np.empty(1 << bits, np.int32)
        table[place[::-1]] = np.arange(place.size - 1, -1, -1, dtype=np.int32)
        held = table[place]
        found = some[held] == some
        first[left[found]] = left[held[found]]
        left = left[~found]
        if not left.size:
            return first
    _, firsts, group = np.unique(key[left], return_index=True, return_inverse=True)
    first[left] = left[firsts[group]]
    return first


def beside(rows: pl.DataFrame, others: pl.DataFrame, keys: list[str], *columns: str) -> pl.DataFrame:
    """For each of ``rows`` the columns (all if none is named) of the one of ``others`` with its keys, or NULL."""
    told = others.select(columns) if columns else others.drop(keys)
    if others.is_empty():
        return told.clear(rows.height)
    both = [pl.concat([others[name], rows[name]]) for name in keys]
    first = _first_alike(keyed(*(numbers(values) for values in both)))[others.height :]
    # No key that is not known equals another.
    unknown = [values.is_null().to_numpy()[others.height :] for values in both if values.null_count()]
    nowhere = np.logical_or.reduce([first >= others.height, *unknown])
    return told.select(pl.all().gather(places(np.where(nowhere, -1, first))))


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
    found = pl.Series(rows, dtype=pl.Int64)
    return found if rows.min(initial=0) >= 0 else found.set(pl.Series(rows < 0), None)
