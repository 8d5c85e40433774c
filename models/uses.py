"""Requests reduced to what models of connections need: one row for each host that each connection served on a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.categories import Categories
from originset.models.compiled.uses import alike, find_pairs, in_order, number_pairs, reduce_groups, runs
from originset.models.network import SCHEMES, SECURE, network_requests, passing, with_reached

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

MISDIRECTED = 421

_READ = (
    *("request_id", "url", "host", "port", "status", "resource_type", "initiator_id", "connection_id", "server_ip"),
    *("started_ms", "blocked_ms", "dns_ms", "connect_ms", "send_ms", "wait_ms", "receive_ms"),
)

# What tells requests of one page, connection, host, address and port apart: a number for the scheme, and bits.
_SCHEME, _CERTAIN, _NO_PORT = np.uint8(3), np.uint8(4), np.uint8(8)
_LACKS = {"port": _NO_PORT, "host": np.uint8(16), "server_ip": np.uint8(32), "connection_id": np.uint8(64)}


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
        run, first = visit_runs(visit_ids)
        named = visit_ids.gather(first).to_frame("visit_id")
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
    return pl.DataFrame([gathered(column, rows) for column in frame])


def gathered(values: pl.Series, rows: Ints) -> pl.Series:
    """Some rows of a column, NULL for -1."""
    if rows.size and rows.min() < 0:
        return values.gather(pl.Series(rows).replace(-1, None))
    return values.gather(rows)


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


def pages(tables: Mapping[str, pl.LazyFrame], categories: Categories | None = None, *columns: str) -> Pages:
    """Read what ``tables`` hold of the network's requests. Takes memory for all: give it parts of a large study.

    ``categories``: of hosts and addresses; those of the parts before. ``columns``: what else is wanted of requests.
    """
    certain = pl.col("connection_source").ne_missing("inferred").alias("certain")
    read: list[str | pl.Expr] = [*_READ, *columns, pl.col("scheme").cast(SCHEMES, strict=False), certain]
    visits, rows = _in_runs(tables, read) if "request_runs" in tables else _with_ids(tables, read)
    # Needed in one piece several times.
    rows.replace_column(rows.get_column_index("request_id"), rows["request_id"].rechunk())
    if not in_order(*(rows[name].to_numpy() for name in ("page", "started_ms", "request_id"))):
        rows = rows.sort("page", "started_ms", "request_id", nulls_last=True)
    return reduced(visits, rows, categories)


def _in_runs(tables: Mapping[str, pl.LazyFrame], read: list[str | pl.Expr]) -> tuple[pl.Series, pl.DataFrame]:
    """Visits and requests, with ``page``, where it is known how many rows each visit has: their ids are not read."""
    runs = tables["request_runs"].collect()
    rows, reached = with_reached(tables, *read)
    page = np.repeat(np.arange(runs.height), runs["rows"].to_numpy())
    if not reached.all():
        page = page[reached.to_numpy()]
        some = np.bincount(page, minlength=runs.height) > 0
        runs, page = runs.filter(some), (np.cumsum(some) - 1)[page]
    return runs["visit_id"], passing(rows, reached).hstack([pl.Series("page", page)])


def _with_ids(tables: Mapping[str, pl.LazyFrame], read: list[str | pl.Expr]) -> tuple[pl.Series, pl.DataFrame]:
    """Visits and requests, with ``page``, in any order."""
    rows = network_requests(tables, "visit_id", *read)
    page, first = visit_runs(rows["visit_id"])
    visits = rows["visit_id"].gather(first)
    if visits.n_unique() < visits.len():
        # A visit's rows lie apart.
        names = visits.to_frame().with_columns(pl.col("visit_id").rank("dense").cast(pl.Int64).alias("page") - 1)
        page = names["page"].to_numpy()[page]
        visits = visits.unique().sort()
    return visits, rows.drop("visit_id").hstack([pl.Series("page", page)])


def reduced(visits: pl.Series, rows: pl.DataFrame, categories: Categories | None = None) -> Pages:
    """``rows`` (see ``requests`` of :class:`Pages`) with their uses."""
    categories = Categories() if categories is None else categories
    page, ids = rows["page"].to_numpy(), rows["connection_id"]
    misdirected, kind = plain(rows["status"])[0] == MISDIRECTED, _kinds(rows)
    port, _ = plain(rows["port"])
    # Most requests are told apart without looking at a text, by where it lies.
    group, first, *of_groups = alike(
        page,
        plain(ids)[0].astype(np.int64, copy=False),
        port,
        kind,
        views(rows["host"]),
        views(rows["server_ip"]),
        rows["request_id"].to_numpy(),
        misdirected.view(np.uint8),
    )
    host, address = (_numbers_of(rows[name].gather(first), categories) for name in ("host", "server_ip"))
    ids, of_page = ids.gather(first), page[first]
    connection, heads = numbered(of_page, *plain(ids))
    port, kind = port[first], kind[first]
    way = np.where(kind & _NO_PORT, -1, port).astype(np.int64) << 2 | kind & _SCHEME
    use, chosen, least, requests, refused, origin = reduce_groups(
        of_page, connection, host, address, way, kind & _CERTAIN, *of_groups
    )
    uses = pl.DataFrame(
        {
            "page": pl.Series(of_page[chosen]).set_sorted(),
            "secure": (kind[chosen] & _SCHEME) < len(SECURE),
            "connection_id": ids.gather(chosen),
            "host": categories.texts(host[chosen]),
            "port": rows["port"].gather(first[chosen]),
            "server_ip": categories.texts(address[chosen]),
            "certain": (kind[chosen] & _CERTAIN) > 0,
            "started_ms": rows["started_ms"].gather(first[chosen]),
            "first": first[chosen],
            "request_id": least,
            "requests": requests,
            "refused": refused,
        }
    )
    return Pages(visits, rows, uses, use[group], connection[group], first[heads], origin)


def _kinds(rows: pl.DataFrame) -> Bytes:
    """By the bits of ``_SCHEME``, ``_CERTAIN`` and so on what each request is over, and what it lacks."""
    kind = rows["scheme"].to_physical().to_numpy() | rows["certain"].to_numpy() * _CERTAIN
    for name, lacks in _LACKS.items():
        if rows[name].null_count():
            kind |= rows[name].is_null().to_numpy() * lacks
    return kind


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
    physical = texts.to_physical()
    if physical.null_count():
        return (physical.cast(pl.Int64) + 1).fill_null(0).to_numpy()
    return physical.to_numpy().astype(np.int64) + 1


def plain(column: pl.Series) -> tuple[Any, Flags]:
    """A column's numbers, 0 where one is not known, and which are known."""
    # Nothing is asked of polars that need not be: a question costs as much as a thousand rows.
    if column.null_count():
        return column.fill_null(0).to_numpy(), column.is_not_null().to_numpy()
    return column.to_numpy(), np.ones(column.len(), np.bool_)


def views(texts: pl.Series) -> Ints:
    """Two numbers for each text; no text needs to be looked at to tell that two are equal.

    16 bytes: where two texts have the same, they have the same bytes or are the very same ones, as those of one Parquet
    dictionary are. Equal texts may have others.
    """
    arrow = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    return np.frombuffer(arrow.buffers()[1], np.int64)[2 * arrow.offset :][: 2 * texts.len()].reshape(-1, 2)


def visit_runs(ids: pl.Series) -> tuple[Ints, Ints]:
    """Of each row a number for its run of one visit's rows, and of each run its first row."""
    words = views(ids)
    page, first = runs(words[:, 0], words[:, 1])
    # Equal texts may lie in two places: where one row group ends and another begins.
    again = ids.gather(first).eq_missing(ids.gather(np.maximum(first - 1, 0))).to_numpy().copy()
    again[:1] = False
    if again.any():
        return (np.cumsum(~again) - 1)[page], first[~again]
    return page, first
