"""Requests reduced to what models of connections need: one row for each host that each connection served on a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.network import NETWORK, SECURE, network_requests

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

MISDIRECTED = 421

_READ = (
    *("visit_id", "request_id", "url", "host", "port", "status", "resource_type", "initiator_id", "connection_id"),
    *("server_ip", "started_ms", "blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms"),
)

# No port has this number: it stands for one that is not known.
_NO_PORT = 2**31

# Connection ids that are numbers close to one another are looked up by place.
_SPREAD = 32


@dataclass(frozen=True, slots=True)
class Pages:
    """The network's requests of some visits, and their uses.

    ``visits``: ids, the n-th of which is page n. ``requests``: by page, start and number (unknown starts last), with
    ``page``. ``use``: of each request its row of ``uses``. ``connection``: numbers from 0 for what requests can queue
    for, of one page and connection; -1 where no connection is known.

    ``uses`` has one row per page, connection, scheme, host, port and address, by the first request, whose row is
    ``first``: ``request_id`` and ``started_ms`` are the least, ``requests`` how many there are and ``refused`` how many
    of them were answered with 421 (RFC 9110 section 15.5.20). Hosts and addresses are categories, hosts of these pages
    alone. ``certain``: the connection was not inferred. ``origin``: of each use a number for its page, scheme, host and
    port. ``heads``: of each connection its first request.
    """

    visits: pl.Series
    requests: pl.DataFrame
    uses: pl.DataFrame
    use: Ints
    connection: Ints
    heads: Ints
    origin: Ints

    @property
    def numbers(self) -> pl.DataFrame:
        """Each visit's ``visit_id`` and ``page``."""
        return self.visits.to_frame("visit_id").with_columns(pl.int_range(pl.len()).alias("page"))

    def page_of(self, visit_ids: pl.Series) -> pl.Series:
        """The page of each visit, NULL where it has none."""
        run = visit_ids.rle_id().to_numpy()
        named = visit_ids.gather(_starts(run)).to_frame("visit_id")
        return named.join(self.numbers, on="visit_id", how="left", maintain_order="left")["page"].gather(run)


def known_connections(tables: Mapping[str, pl.LazyFrame], pages: Pages) -> pl.DataFrame:
    """Of each connection, by its number: ``opened_ms`` and ``certificate_id``, NULL where ``connections`` has none."""
    rows = tables["connections"].select("visit_id", "connection_id", "opened_ms", "certificate_id").collect()
    rows = rows.with_columns(pages.page_of(rows["visit_id"]))
    own = pages.requests.select(pl.col("page", "connection_id").gather(pages.heads)).with_row_index("number")
    ids = own["connection_id"].to_numpy()
    least, most = int(ids.min(initial=0)), int(ids.max(initial=0))
    on = ["page", "connection_id"]
    if pages.visits.len() * (most - least + 1) < 2**62:
        # One number is less to compare than two.
        key = pl.col("page") * (most - least + 1) + pl.col("connection_id") - least
        key = pl.when(pl.col("connection_id").is_between(least, most)).then(key).alias("key")
        own, rows, on = own.select("number", key), rows.with_columns(key), ["key"]
    numbers = rows.select(on).join(own, on=on, how="left", maintain_order="left")["number"]
    number = numbers.cast(pl.Int64).fill_null(-1).to_numpy()
    return rows_at(rows.select("opened_ms", "certificate_id"), first_of(number, pages.heads.size))


def rows_at(frame: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """Some rows of a frame, NULLs for -1."""
    places = pl.Series(rows, dtype=pl.Int64).replace(-1, None)
    return frame.select(pl.all().gather(places, null_on_oob=True))


def shared(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with its ``host`` a category that the uses of all pages share."""
    codes = _codes(frame["host"])
    first = first_of(codes, int(codes.max(initial=0)) + 1)
    few = frame["host"].gather(first[first >= 0]).cast(pl.String).cast(pl.Categorical)
    return frame.with_columns(few.gather((np.cumsum(first >= 0) - 1)[codes]))


def first_of(numbers: Ints, size: int) -> Ints:
    """Of each number from 0 to below ``size`` its first place in ``numbers``, -1 where it is not there."""
    known = np.flatnonzero(numbers >= 0)[::-1]
    first = np.full(size, -1)
    first[numbers[known]] = known
    return first


def first_on_page(page: Ints, values: pl.Series) -> Flags:
    """Which rows are their page's first with their value: categories or small numbers; NULL is a value too."""
    return pl.Series(page << 32 | _codes(values)).is_first_distinct().to_numpy()


def distinct(page: Ints, values: pl.Series, size: int) -> Ints:
    """Of each page below ``size`` how many different values it has; NULL is one of them."""
    return np.bincount(page[first_on_page(page, values)], minlength=size)


def pages(tables: Mapping[str, pl.LazyFrame]) -> Pages:
    """Read what ``tables`` hold of the network's requests. Takes memory for all: give it parts of a large study."""
    certain = pl.col("connection_source").ne_missing("inferred").alias("certain")
    rows = network_requests(tables, *_READ, pl.col("scheme").cast(pl.Enum(NETWORK), strict=False), certain)
    page = _page(rows)
    if not _in_order(rows, page):
        rows = rows.sort("visit_id", "started_ms", "request_id", nulls_last=True)
        page = _page(rows)
    visits = rows["visit_id"].gather(_starts(page))
    return reduced(visits, rows.drop("visit_id").with_columns(pl.Series("page", page).set_sorted()))


def reduced(visits: pl.Series, rows: pl.DataFrame) -> Pages:
    """``rows`` (see ``requests`` of :class:`Pages`) with their uses."""
    page, connection = rows["page"].to_numpy(), _connections(rows)
    row = np.arange(rows.height)
    # What tells a use from others of its page, connection, host and address, as a number.
    way = rows["port"].cast(pl.Int64).fill_null(_NO_PORT).to_numpy() << 2 | rows["scheme"].to_physical().to_numpy()
    how = way << 1 | rows["certain"].to_numpy()
    # Nearly every connection serves one host: what equals its connection's first request needs no search.
    heads = first_of(connection, int(connection.max(initial=-1)) + 1)
    first = np.where(connection >= 0, heads[connection], -1) if heads.size else np.full(row.size, -1)
    later = np.flatnonzero((first >= 0) & (first != row))
    alike = how[first[later]] == how[later]
    for name in ("host", "server_ip"):
        alike &= _equal(rows[name], first[later], later)
    other = np.append(np.flatnonzero(first < 0), later[~alike])
    if other.size:
        of_use = pl.col("row").min().over("page", "connection", "host", "server_ip", "how")
        some = rows.select("host", "server_ip")[other].with_columns(pl.Series("row", other))
        first[other] = (
            some.with_columns(
                pl.Series(name, values[other])
                for name, values in {"page": page, "connection": connection, "how": how}.items()
            )
            .select(of_use)
            .to_series()
            .to_numpy()
        )
    firsts = np.flatnonzero(first == row)
    number = np.full(rows.height, -1)
    number[firsts] = np.arange(firsts.size)
    use = number[first]
    misdirected = (rows["status"] == MISDIRECTED).fill_null(value=False).to_numpy()
    request_id = rows["request_id"].to_numpy().astype(np.int64)
    least = request_id[firsts]
    np.minimum.at(least, use, request_id)
    # Hosts are categories of these rows alone: to find a text among few costs less than among all of a study.
    host = rows["host"].gather(firsts).cast(pl.Categorical(pl.Categories.random()))
    uses = pl.DataFrame(
        {
            "page": pl.Series(page[firsts]).set_sorted(),
            "secure": (way[firsts] & 3) < len(SECURE),
            "connection_id": rows["connection_id"].gather(firsts),
            "host": host,
            "port": rows["port"].gather(firsts),
            "server_ip": rows["server_ip"].gather(firsts).cast(pl.Categorical),
            "certain": (how[firsts] & 1).astype(np.bool_),
            "started_ms": rows["started_ms"].gather(firsts),
            "first": firsts,
            "request_id": least,
            "requests": np.bincount(use, minlength=firsts.size),
            "refused": np.bincount(use[misdirected], minlength=firsts.size),
        }
    )
    return Pages(visits, rows, uses, use, connection, heads, _origins(page[firsts], _codes(host), way[firsts]))


def _codes(texts: pl.Series) -> Ints:
    """Of categories, or small numbers, a number from 1 for each, 0 for none."""
    return (texts.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()


def _equal(texts: pl.Series, one: Ints, other: Ints) -> Flags:
    """Whether the texts at the rows ``one`` equal those at ``other``; missing ones equal one another."""
    texts = texts.rechunk()
    words = views(texts)
    same = (words[one, 0] == words[other, 0]) & (words[one, 1] == words[other, 1])
    if texts.null_count():
        missing = texts.is_null().to_numpy()
        same &= ~(missing[one] | missing[other])
    unlike = np.flatnonzero(~same)
    same[unlike] = texts.gather(one[unlike]).eq_missing(texts.gather(other[unlike])).to_numpy()
    return np.asarray(same)


def views(texts: pl.Series) -> Ints:
    """Two numbers for each text of one chunk; no text needs to be looked at to tell that two are equal.

    16 bytes: where two texts have the same, they have the same bytes or are the very same ones, as those of one Parquet
    dictionary are. Equal texts may have others.
    """
    arrow = texts.to_arrow(compat_level=pl.CompatLevel.newest())
    return np.frombuffer(arrow.buffers()[1], np.int64)[2 * arrow.offset :][: 2 * texts.len()].reshape(-1, 2)


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
        place = of + each
        seen = np.zeros(int(widths.sum()), np.bool_)
        seen[place] = True
        numbers[known] = (np.cumsum(seen) - 1)[place]
    else:
        pairs = pl.DataFrame({"page": page, "of": of})
        numbers[known] = pairs.select(pl.struct("page", "of").rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    return numbers


def _origins(page: Ints, host: Ints, way: Ints) -> Ints:
    ways = pl.Series(way).unique().sort().to_numpy()
    return (page * (int(host.max(initial=0)) + 1) + host) * ways.size + np.searchsorted(ways, way)


def _page(rows: pl.DataFrame) -> Ints:
    """A number for each run of one visit's rows."""
    ids = rows["visit_id"].rechunk()
    words = views(ids)
    begins = np.zeros(ids.len(), np.bool_)
    begins[1:] = (words[1:, 0] != words[:-1, 0]) | (words[1:, 1] != words[:-1, 1])
    unlike = np.flatnonzero(begins)
    begins[unlike] = (ids.gather(unlike) != ids.gather(unlike - 1)).to_numpy()
    return np.cumsum(begins)


def _starts(page: Ints) -> Ints:
    """Of each page, its first row."""
    return np.flatnonzero(np.diff(page, prepend=-1))


def _in_order(rows: pl.DataFrame, page: Ints) -> bool:
    """Whether each page's rows stand together, by start and number: as they do in what import and analyze write."""
    started = rows["started_ms"].fill_null(float("inf")).to_numpy()
    same, later = page[1:] == page[:-1], started[1:] > started[:-1]
    if not np.all(~same | later):
        number = rows["request_id"].to_numpy()
        tied = (started[1:] == started[:-1]) & (number[1:] > number[:-1])
        if not np.all(~same | later | tied):
            return False
    starts = _starts(page)
    return rows["visit_id"].gather(starts).n_unique() == starts.size
