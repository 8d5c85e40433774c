"""Requests reduced to what models of connections need: one row for each host that each connection served on a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.network import network_requests

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

MISDIRECTED = 421

_READ = (
    *("visit_id", "request_id", "url", "scheme", "host", "port", "status", "resource_type", "initiator_id"),
    *("connection_id", "connection_source", "server_ip", "secure", "started_ms", "blocked_ms", "dns_ms", "connect_ms"),
    *("ssl_ms", "send_ms", "wait_ms", "receive_ms"),
)

# Of a request, what tells its use from others of its page.
_SAME = ("connection_id", "scheme", "host", "port", "server_ip", "certain")

# Connection ids that are numbers close to one another are looked up by place.
_SPREAD = 32


@dataclass(frozen=True, slots=True)
class Pages:
    """The network's requests of some visits, and their uses.

    ``visits``: ids, the n-th of which is page n. ``requests``: by page, start and number (unknown starts last), with
    ``page``. ``use``: of each request its row of ``uses``. ``connection``: numbers for what requests can queue for, of
    one page and connection; -1 where no connection is known.

    ``uses`` has one row per page, connection, scheme, host, port and address, by the first request, whose row is
    ``first``: ``request_id`` and ``started_ms`` are the least, ``requests`` how many there are and ``refused`` how many
    of them were answered with 421 (RFC 9110 section 15.5.20). Hosts, addresses and schemes are categories. ``certain``:
    the connection was not inferred.
    """

    visits: pl.Series
    requests: pl.DataFrame
    uses: pl.DataFrame
    use: Ints
    connection: Ints

    @property
    def numbers(self) -> pl.DataFrame:
        """Each visit's ``visit_id`` and ``page``."""
        return self.visits.to_frame("visit_id").with_columns(pl.int_range(pl.len()).alias("page"))


def pages(tables: Mapping[str, pl.LazyFrame]) -> Pages:
    """Read what ``tables`` hold of the network's requests. Takes memory for all: give it parts of a large study."""
    rows = network_requests(tables).select(_READ).collect()
    if not _in_order(rows):
        rows = rows.sort("visit_id", "started_ms", "request_id", nulls_last=True)
    rows = rows.with_columns(
        pl.col("visit_id").rle_id().cast(pl.Int64).set_sorted().alias("page"),
        pl.col("connection_source").ne_missing("inferred").alias("certain"),
    )
    starts = _starts(rows["page"].to_numpy())
    return reduced(rows["visit_id"].gather(starts), rows.drop("visit_id", "connection_source"))


def reduced(visits: pl.Series, rows: pl.DataFrame) -> Pages:
    """``rows`` (see ``requests`` of :class:`Pages`) with their uses."""
    connection = _connections(rows)
    # Nearly every connection serves one host: what equals its connection's first request needs no search.
    row = np.arange(rows.height)
    known = connection >= 0
    head = np.full(int(connection.max(initial=-1)) + 1, -1)
    head[connection[known][::-1]] = row[known][::-1]
    first = np.where(known, head[connection] if head.size else -1, -1)
    alike = np.ones(rows.height, np.bool_)
    later = np.flatnonzero(known & (first != row))
    for name in _SAME[1:]:
        of_first = rows[name].gather(first[later])
        later_same = rows[name].gather(later).eq_missing(of_first).to_numpy()
        alike[later] &= later_same
    other = np.flatnonzero(~(known & alike))
    if other.size:
        first[other] = _first_alike(rows, other)
    firsts = np.flatnonzero(first == row)
    number = np.full(rows.height, -1)
    number[firsts] = np.arange(firsts.size)
    use = number[first]
    misdirected = (rows["status"] == MISDIRECTED).fill_null(value=False).to_numpy()
    request_id = rows["request_id"].to_numpy()
    least = request_id[firsts].copy()
    np.minimum.at(least, use, request_id)
    uses = rows.select("page", "secure", *_SAME, "started_ms")[firsts].with_columns(
        pl.col("page").set_sorted(),
        pl.col("scheme", "host", "server_ip").cast(pl.Categorical),
        pl.Series("first", firsts),
        pl.Series("request_id", least),
        pl.Series("requests", np.bincount(use, minlength=firsts.size)),
        pl.Series("refused", np.bincount(use[misdirected], minlength=firsts.size)),
    )
    return Pages(visits, rows, uses, use, connection)


def _first_alike(rows: pl.DataFrame, chosen: Ints) -> Ints:
    """Of each of the ``chosen`` rows, the first of them with the same page and use."""
    some = rows.select("page", *_SAME)[chosen].with_columns(pl.Series("row", chosen))
    firsts = some.group_by("page", *_SAME).agg(pl.col("row").min().alias("first"), "row")
    found = np.empty(rows.height, np.int64)
    exploded = firsts.select("first", "row").explode("row")
    found[exploded["row"].to_numpy()] = exploded["first"].to_numpy()
    return found[chosen]


def _connections(rows: pl.DataFrame) -> Ints:
    """Numbers from 0 for page and connection, -1 where the connection is not known."""
    ids = rows["connection_id"]
    known = np.flatnonzero(ids.is_not_null().to_numpy())
    numbers = np.full(rows.height, -1)
    if not known.size:
        return numbers
    page, of = rows["page"].to_numpy()[known], ids.fill_null(0).to_numpy()[known]
    starts = _starts(page)
    least, most = np.minimum.reduceat(of, starts), np.maximum.reduceat(of, starts)
    widths = most.astype(np.float64) - least.astype(np.float64) + 1
    if widths.sum() <= _SPREAD * known.size:
        offset = np.cumsum(widths.astype(np.int64)) - widths.astype(np.int64)
        each = np.repeat(offset - least, np.diff(np.append(starts, page.size)))
        numbers[known] = of + each
    else:
        pairs = pl.DataFrame({"page": page, "of": of})
        numbers[known] = pairs.select(pl.struct("page", "of").rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    return numbers


def _starts(page: Ints) -> Ints:
    """Of each page, its first row."""
    return np.flatnonzero(np.diff(page, prepend=-1))


def _in_order(rows: pl.DataFrame) -> bool:
    """Whether each page's rows stand together, by start and number: as they do in what import and analyze write."""
    page = rows["visit_id"].rle_id().to_numpy()
    started = rows["started_ms"].fill_null(float("inf")).to_numpy()
    number = rows["request_id"].to_numpy()
    same, later = page[1:] == page[:-1], started[1:] > started[:-1]
    tied = (started[1:] == started[:-1]) & (number[1:] > number[:-1])
    pages_seen = int(page[-1]) + 1 if page.size else 0
    return bool(np.all(~same | later | tied)) and rows["visit_id"].gather(_starts(page)).n_unique() == pages_seen
