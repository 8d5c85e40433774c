"""The requests that reached the network."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

SECURE = ("https", "wss")
NETWORK = (*SECURE, "http", "ws")
SCHEMES = pl.Enum(NETWORK)


def network_requests(tables: Mapping[str, pl.LazyFrame], *columns: str | pl.Expr) -> pl.DataFrame:
    """``columns`` of the rows of ``requests`` that were answered by, or sent to, a server.

    Answers from a cache, ``data:`` URLs and requests that got neither a connection nor a response are not among them;
    but ``columns`` are told of them too, and must not fail for them.
    """
    return passing(*with_reached(tables, *columns))


def with_reached(tables: Mapping[str, pl.LazyFrame], *columns: str | pl.Expr) -> tuple[pl.DataFrame, pl.Series]:
    """``columns`` of all rows of ``requests``, and which of them :func:`network_requests` has."""
    reached = (
        pl.col("scheme").cast(SCHEMES, strict=False).is_not_null()
        & ~pl.col("from_cache").fill_null(value=False)
        & (pl.col("status").is_not_null() | pl.col("connection_id").is_not_null())
    )
    rows = tables["requests"].select(*columns, reached.fill_null(value=False).alias("reached")).collect()
    return rows.drop("reached"), rows["reached"]


def passing(rows: pl.DataFrame, flags: pl.Series) -> pl.DataFrame:
    """The rows with a flag. A filter copies all columns, also where every row passes, as nearly always."""
    return rows if flags.all() else rows.filter(flags)


def is_address(host: pl.Expr) -> pl.Expr:
    """Whether a host is an IP literal, which no wildcard covers and no certificate gets as a name."""
    return host.str.contains(":", literal=True) | host.str.contains(r"^[0-9.]+$")
