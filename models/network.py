"""The requests that reached the network, each with the key that says which server the ORIGIN model takes it to."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.parameters import Colocation

SECURE = ("https", "wss")
_NETWORK = (*SECURE, "http", "ws")


def network_requests(tables: Mapping[str, pl.LazyFrame], colocation: Colocation) -> pl.LazyFrame:
    """Rows of ``requests`` that were answered by, or sent to, a server.

    Answers from a cache, ``data:`` URLs and requests that got neither a connection nor a response are not among them.

    Adds ``secure`` (there is a TLS or QUIC handshake to save), ``asn`` and ``key`` (text; NULL where the address is not
    known; an address in no known AS is its own key). Tables that have these rows already, as ``network``, give them.
    """
    if "network" in tables:
        return tables["network"]
    key = pl.col("ip")
    if colocation == "asn":
        # No address is all digits, so an AS number and an address cannot be taken for one another.
        key = pl.coalesce(pl.col("asn").cast(pl.String), key)
    addresses = tables["addresses"].select(pl.col("ip").alias("server_ip"), "asn", key.alias("key"))
    return (
        tables["requests"]
        .filter(
            pl.col("scheme").is_in(_NETWORK),
            ~pl.col("from_cache").fill_null(value=False),
            pl.col("status").is_not_null() | pl.col("connection_id").is_not_null(),
        )
        .join(addresses, on="server_ip", how="left", maintain_order="left")
        .with_columns(pl.col("scheme").is_in(SECURE).alias("secure"), pl.coalesce("key", "server_ip").alias("key"))
    )


def is_address(host: pl.Expr) -> pl.Expr:
    """Whether a host is an IP literal, which no wildcard covers and no certificate gets as a name."""
    return host.str.contains(":", literal=True) | host.str.contains(r"^[0-9.]+$")
