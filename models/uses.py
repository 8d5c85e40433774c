"""Requests reduced to what models of connections need: one row for each host that each connection served on a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.categories import Categories
from originset.models.compiled.uses import alike, find_pairs, in_order, number_pairs, reduce_groups, runs
from originset.models.network import SCHEMES, SECURE, network_requests

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

MISDIRECTED = 421

_READ = (
    *("visit_id", "request_id", "url", "host", "port", "status", "resource_type", "initiator_id", "connection_id"),
    *("server_ip", "started_ms", "blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms"),
)

# No port has this number: it stands for one that is not known.
_NO_PORT = 2**31

_FLAGS = 0b111100


@dataclass(frozen=True, slots=True)
class Pages:
    """The network's requests of some visits, and their uses.

    ``visits``: ids, the n-th of which is page n. ``requests``: by page, start and number (unknown starts last), with
    ``page``. ``use``: of each request its row of ``uses``. ``connection``: numbers from 0 for what requests can queue
    for, of one page and connection; -1 where no connection is known.

    ``uses`` has one row per page, connection, scheme, host, port and address, by the first request, whose row is
    ``first``: ``request_id`` and ``started_ms`` are the least, ``requests`` how many there are and ``refused`` how many
    of them were answered with 421 (RFC 9110 section 15.5.20). Hosts and addresses are categories. ``certain``: the
    connection was not inferred. ``origin``: of each use a number from 0 for its page, scheme, host and port. ``heads``:
    of each connection its first request.
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
    own = pages.requests.select(pl.col("page", "connection_id").gather(pages.heads))
    known = rows.select(pl.all_horizontal(pl.col("page", "connection_id").is_not_null())).to_series()
    if not known.all():
        rows = rows.filter(known)
    place = find_pairs(*_numbers(rows, "page", "connection_id"), *_numbers(own, "page", "connection_id"))
    return rows_at(rows.select("opened_ms", "certificate_id"), place)


def rows_at(frame: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """Some rows of a frame, NULLs for -1."""
    places = pl.Series(rows, dtype=pl.Int64).replace(-1, None)
    return frame.select(pl.all().gather(places, null_on_oob=True))


def first_of(numbers: Ints, size: int) -> Ints:
    """Of each number from 0 to below ``size`` its first place in ``numbers``, -1 where it is not there."""
    known = np.flatnonzero(numbers >= 0)[::-1]
    first = np.full(size, -1)
    first[numbers[known]] = known
    return first


def first_on_page(page: Ints, values: pl.Series) -> Flags:
    """Which rows are their page's first with their value: categories; NULL is a value too."""
    first = np.zeros(page.size, np.bool_)
    first[numbered(page, codes(values))[1]] = True
    return first


def distinct(page: Ints, values: pl.Series, size: int) -> Ints:
    """Of each page below ``size`` how many different values it has; NULL is one of them."""
    return np.bincount(page[first_on_page(page, values)], minlength=size)


def pages(tables: Mapping[str, pl.LazyFrame], categories: Categories | None = None) -> Pages:
    """Read what ``tables`` hold of the network's requests. Takes memory for all: give it parts of a large study.

    ``categories``: of hosts and addresses; those of the parts before.
    """
    certain = pl.col("connection_source").ne_missing("inferred").alias("certain")
    rows = network_requests(tables, *_READ, pl.col("scheme").cast(SCHEMES, strict=False), certain)
    page, first = _page(rows["visit_id"])
    together = rows["visit_id"].gather(first).n_unique() == first.size
    if not (together and in_order(page, rows["started_ms"].to_numpy(), rows["request_id"].to_numpy())):
        rows = rows.sort("visit_id", "started_ms", "request_id", nulls_last=True)
        page, first = _page(rows["visit_id"])
    visits = rows["visit_id"].gather(first)
    rows = rows.drop("visit_id").with_columns(pl.Series("page", page).set_sorted())
    return reduced(visits, rows, categories)


def reduced(visits: pl.Series, rows: pl.DataFrame, categories: Categories | None = None) -> Pages:
    """``rows`` (see ``requests`` of :class:`Pages`) with their uses."""
    categories = Categories() if categories is None else categories
    page, ids = rows["page"].to_numpy(), rows["connection_id"]
    misdirected, ways = (rows["status"] == MISDIRECTED).fill_null(value=False).to_numpy(), _ways(rows)
    # Most requests are told apart without looking at a text, by where it lies.
    group, first, *of_groups = alike(
        page,
        ids.fill_null(0).to_numpy().astype(np.int64),
        ways,
        views(rows["host"]),
        views(rows["server_ip"]),
        rows["request_id"].to_numpy(),
        misdirected.view(np.uint8),
    )
    host, address = (_numbers_of(rows[name].gather(first), categories) for name in ("host", "server_ip"))
    ids, of_page = ids.gather(first), page[first]
    connection, heads = numbered(of_page, ids.fill_null(0).to_numpy().astype(np.int64), ids.is_not_null().to_numpy())
    way, certain = ways[first] & ~_FLAGS, rows["certain"].gather(first).to_numpy()
    use, chosen, least, requests, refused, origin = reduce_groups(
        *(of_page, connection, host, address, way, certain.view(np.uint8)), *of_groups
    )
    uses = pl.DataFrame(
        {
            "page": pl.Series(of_page[chosen]).set_sorted(),
            "secure": (way[chosen] & 3) < len(SECURE),
            "connection_id": ids.gather(chosen),
            "host": categories.texts(host[chosen]),
            "port": rows["port"].gather(first[chosen]),
            "server_ip": categories.texts(address[chosen]),
            "certain": certain[chosen],
            "started_ms": rows["started_ms"].gather(first[chosen]),
            "first": first[chosen],
            "request_id": least,
            "requests": requests,
            "refused": refused,
        }
    )
    return Pages(visits, rows, uses, use[group], connection[group], first[heads], origin)


def _ways(rows: pl.DataFrame) -> Ints:
    """A number for all that tells requests of one page, connection, host and address apart, and for what they lack.

    Without the bits of ``_FLAGS`` it is one for port and scheme.
    """
    way = rows["port"].cast(pl.Int64).fill_null(_NO_PORT).to_numpy() << 6
    way |= rows["scheme"].to_physical().to_numpy()
    way |= rows["certain"].to_numpy().astype(np.int64) << 2
    for bit, name in enumerate(("host", "server_ip", "connection_id"), 3):
        if rows[name].null_count():
            way |= rows[name].is_null().to_numpy().astype(np.int64) << bit
    return way


def numbered(one: Ints, other: Ints, known: Flags | None = None) -> tuple[Ints, Ints]:
    """Of each row a number from 0 for its pair of values, by first appearance, and of each number its first row.

    -1 where not ``known``.
    """
    flags = np.ones(one.size, np.bool_) if known is None else np.ascontiguousarray(known)
    # Pages have several requests for each connection.
    return number_pairs(one, other, flags.view(np.uint8), one.size // 4)


def _numbers(frame: pl.DataFrame, *columns: str) -> list[Ints]:
    return [frame[column].cast(pl.Int64).to_numpy() for column in columns]


def _numbers_of(texts: pl.Series, categories: Categories) -> Ints:
    """Of each text a number, -1 for none. Each is looked up once for all rows that share its bytes."""
    words = views(texts)
    place, first = numbered(words[:, 0], words[:, 1], texts.is_not_null().to_numpy())
    return np.append(categories.numbers(texts.gather(first)), -1)[place]


def codes(texts: pl.Series) -> Ints:
    """Of categories a number from 1 for each, 0 for none."""
    return (texts.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()


def views(texts: pl.Series) -> Ints:
    """Two numbers for each text; no text needs to be looked at to tell that two are equal.

    16 bytes: where two texts have the same, they have the same bytes or are the very same ones, as those of one Parquet
    dictionary are. Equal texts may have others.
    """
    arrow = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    return np.frombuffer(arrow.buffers()[1], np.int64)[2 * arrow.offset :][: 2 * texts.len()].reshape(-1, 2)


def _page(ids: pl.Series) -> tuple[Ints, Ints]:
    """Of each row a number for its run of one visit's rows, and of each run its first row."""
    words = views(ids)
    page, first = runs(words[:, 0], words[:, 1])
    if (ids.gather(first[1:]) == ids.gather(first[1:] - 1)).any():
        page = ids.rle_id().to_numpy().astype(np.int64)
        first = _starts(page)
    return page, first


def _starts(page: Ints) -> Ints:
    """Of each page, its first row."""
    return np.flatnonzero(np.diff(page, prepend=-1))
