"""The requests that reached the network."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

SECURE = ("https", "wss")
NETWORK = (*SECURE, "http", "ws")


def network_requests(tables: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    """Rows of ``requests`` that were answered by, or sent to, a server, with ``secure``: there is a handshake to save.

    Answers from a cache, ``data:`` URLs and requests that got neither a connection nor a response are not among them.
    """
    return (
        tables["requests"]
        .filter(
            pl.col("scheme").is_in(NETWORK),
            ~pl.col("from_cache").fill_null(value=False),
            pl.col("status").is_not_null() | pl.col("connection_id").is_not_null(),
        )
        .with_columns(pl.col("scheme").is_in(SECURE).alias("secure"))
    )


def is_address(host: pl.Expr) -> pl.Expr:
    """Whether a host is an IP literal, which no wildcard covers and no certificate gets as a name."""
    return host.str.contains(":", literal=True) | host.str.contains(r"^[0-9.]+$")
