"""How sure it is that one server can answer for two hosts of one AS, from what the study itself saw.

Levels: 0 the same AS alone; 2 an address in common; 3 one certificate covers both, or one owner at one address; 5 both
were asked for on one connection.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.coverage import covering_certificates
from originset.models.network import network_requests

MISDIRECTED = 421


def levels(tables: Mapping[str, pl.LazyFrame], pairs: pl.LazyFrame) -> pl.LazyFrame:
    """``pairs`` (``server``, ``host``) without repetition, with ``level`` and ``same_owner``.

    ``same_owner``: both have one registrable domain; NULL where one of them has none. A request answered with
    421 (RFC 9110 section 15.5.20) is no evidence that its connection serves its host; nor is a connection that was
    inferred.
    """
    pairs = pairs.select("server", "host").unique()
    network = network_requests(tables, "ip").filter("secure", pl.col("status").ne_missing(MISDIRECTED))
    owner = tables["hosts"].select("host", pl.col("registrable_domain").alias("owner"))
    on_connection = network.filter(
        pl.col("connection_id").is_not_null(), pl.col("connection_source").ne_missing("inferred")
    ).select("host", pl.struct("visit_id", "connection_id").alias("place"))
    at_address = network.filter(pl.col("server_ip").is_not_null()).select("host", pl.col("server_ip").alias("place"))
    certified = covering_certificates(
        tables, pl.concat([pairs.select("host"), pairs.select(pl.col("server").alias("host"))])
    ).rename({"certificate_id": "place"})
    return (
        pairs.join(owner.rename({"host": "server", "owner": "server_owner"}), on="server", how="left")
        .join(owner, on="host", how="left")
        .join(_together(pairs, on_connection, "connected"), on=["server", "host"], how="left")
        .join(_together(pairs, at_address, "neighbours"), on=["server", "host"], how="left")
        .join(_together(pairs, certified, "certified"), on=["server", "host"], how="left")
        .with_columns((pl.col("server_owner") == pl.col("owner")).alias("same_owner"))
        .select(
            "server",
            "host",
            pl.when(pl.col("connected") | (pl.col("server") == pl.col("host")))
            .then(5)
            .when(pl.col("certified") | (pl.col("neighbours") & pl.col("same_owner")))
            .then(3)
            .when(pl.col("neighbours"))
            .then(2)
            .otherwise(0)
            .alias("level"),
            "same_owner",
        )
    )


def misdirected_hosts(tables: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    """Hosts for which some server of the study answered 421, once each: as responses show it, or connections do."""
    answered = tables["requests"].filter(pl.col("status") == MISDIRECTED).select("host")
    refused = tables["connections"].select(pl.col("misdirected").alias("host")).explode("host").drop_nulls()
    return pl.concat([answered, refused]).unique()


def _together(pairs: pl.LazyFrame, places: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """The pairs of which both hosts were seen at one place."""
    places = places.unique()
    return (
        pairs.join(places.rename({"host": "server"}), on="server")
        .join(places, on=["host", "place"], how="semi")
        .select("server", "host", pl.lit(value=True).alias(name))
        .unique()
    )
