"""Which provider's edge serves each host, from the aliases and addresses that the study saw."""

from __future__ import annotations

import re

import polars as pl

from originset.data.reference.providers import edge_asns, edge_ranges, provider_of_as
from originset.data.reference.ranges import Prefixes

ELSEWHERE = ""


def host_edges(
    aliases: pl.DataFrame, located: pl.DataFrame, addresses: pl.DataFrame, providers: pl.DataFrame
) -> pl.DataFrame:
    """Columns ``host`` (once each), ``edge``, ``edges`` and ``multi_cdn``.

    ``aliases``: columns ``host`` and ``alias``, one row for each name that one of the host's alias chains led through.
    ``located``: ``host`` and ``ip``, each pair that was seen. ``addresses`` and ``providers``: rows of these tables.

    An alias into a provider's zone names its edge, and so does an address that the provider publishes as its edge's, or
    in a network that is nothing but edge. Any other address of a provider's network says nothing, as customers' own
    machines are there too; any other public address means "elsewhere" for a host that is on an edge at other times,
    unless an alias into the edge's zone explains it: caches stand in other people's networks.
    """
    zones = providers.select("provider", pl.col("cname_zones").alias("zone")).explode("zone").drop_nulls()
    by_alias = _in_zones(aliases, zones)
    public = located.join(
        _edges_of_addresses(addresses.filter(pl.col("kind") == "public").select("ip", "asn")), on="ip"
    )
    explained = by_alias.select("host").unique()
    by_address = (
        public.filter(pl.col("provider").is_not_null() | pl.col("network_of").is_null())
        .with_columns(pl.col("provider").fill_null(ELSEWHERE))
        .select("host", "provider")
    )
    elsewhere = pl.col("provider") == ELSEWHERE
    seen = pl.concat(
        [by_alias, by_address.filter(~elsewhere), by_address.filter(elsewhere).join(explained, on="host", how="anti")]
    ).unique()
    edges = pl.col("provider").filter(~elsewhere).sort()
    return (
        seen.group_by("host")
        .agg(edges.alias("edges"), pl.col("provider").n_unique().alias("places"))
        .filter(pl.col("edges").list.len() > 0)
        .select(
            "host",
            pl.when(pl.col("edges").list.len() == 1).then(pl.col("edges").list.first()).alias("edge"),
            "edges",
            (pl.col("places") > 1).alias("multi_cdn"),
        )
    )


def _in_zones(aliases: pl.DataFrame, zones: pl.DataFrame) -> pl.DataFrame:
    """``host`` and ``provider`` where an alias is a zone or below one."""
    of_any = r"(?:^|\.)(" + "|".join(re.escape(zone) for zone in zones["zone"]) + r")\.?$"
    found = aliases.select("host", pl.col("alias").str.extract(of_any).alias("zone")).drop_nulls()
    return found.join(zones, on="zone").select("host", "provider").unique()


def _edges_of_addresses(addresses: pl.DataFrame) -> pl.DataFrame:
    """``ip``, ``provider`` whose edge server is there and ``network_of``, the provider whose AS it is in; else NULL."""
    ranges = edge_ranges()
    networks = pl.Series([prefix.partition("/")[0] for prefix in ranges])
    place = Prefixes(networks, [int(prefix.partition("/")[2]) for prefix in ranges]).find(addresses["ip"])
    published = dict(enumerate(ranges.values()))
    return addresses.select(
        "ip",
        pl.coalesce(
            pl.Series(place).replace_strict(published, default=None, return_dtype=pl.String),
            pl.col("asn").replace_strict(edge_asns(), default=None, return_dtype=pl.String),
        ).alias("provider"),
        pl.col("asn").replace_strict(provider_of_as(), default=None, return_dtype=pl.String).alias("network_of"),
    )
