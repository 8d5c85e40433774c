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
    in a network that is nothing but edge. Any other address of a provider's network is no evidence of an edge, as
    customers' own machines are there too. It does not speak against that provider's edges, nor against those that are
    known by aliases alone, as they have no network of their own; against any other edge it does, and means "elsewhere".
    So does any other public address, unless an alias into an edge's zone explains it: caches stand in other people's
    networks.
    """
    zones = providers.select("provider", pl.col("cname_zones").alias("zone")).explode("zone").drop_nulls()
    by_alias = _in_zones(aliases, zones)
    public = located.join(
        _edges_of_addresses(addresses.filter(pl.col("kind") == "public").select("ip", "asn")), on="ip"
    )
    at_edges = public.filter(pl.col("provider").is_not_null()).select("host", "provider")
    elsewhere = public.filter(pl.col("provider").is_null())
    without_network = providers.filter(pl.col("asns").list.len() == 0)
    edges_of_hosts = pl.concat(
        [
            by_alias,
            at_edges,
            _hosts_without_aliases(elsewhere.filter(pl.col("network_of").is_null()), by_alias),
            _hosts_without_aliases(
                elsewhere.join(at_edges, left_on=["host", "network_of"], right_on=["host", "provider"], how="anti")
                .join(by_alias, left_on=["host", "network_of"], right_on=["host", "provider"], how="anti")
                .filter(pl.col("network_of").is_not_null()),
                by_alias.join(without_network, on="provider", how="semi"),
            ),
        ]
    ).unique()
    edges = pl.col("provider").filter(pl.col("provider") != ELSEWHERE).sort()
    return (
        edges_of_hosts.group_by("host")
        .agg(edges.alias("edges"), pl.col("provider").n_unique().alias("places"))
        .filter(pl.col("edges").list.len() > 0)
        .select(
            "host",
            pl.when(pl.col("edges").list.len() == 1).then(pl.col("edges").list.first()).alias("edge"),
            "edges",
            (pl.col("places") > 1).alias("multi_cdn"),
        )
    )


def _hosts_without_aliases(located: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
    """``host`` and, as its provider, ``ELSEWHERE`` for the hosts of ``located`` that have none of ``aliases``."""
    return located.join(aliases, on="host", how="anti").select("host", pl.lit(ELSEWHERE).alias("provider"))


def _in_zones(aliases: pl.DataFrame, zones: pl.DataFrame) -> pl.DataFrame:
    """``host`` and ``provider`` where an alias is a zone or below one."""
    of_any = r"(?:^|\.)(" + "|".join(re.escape(zone) for zone in zones["zone"]) + r")\.?$"
    zones_of_hosts = aliases.select("host", pl.col("alias").str.extract(of_any).alias("zone")).drop_nulls()
    return zones_of_hosts.join(zones, on="zone").select("host", "provider").unique()


def _edges_of_addresses(addresses: pl.DataFrame) -> pl.DataFrame:
    """``ip``, ``provider`` (whose edge server has the address) and ``network_of`` (whose AS it is in), or NULL."""
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
