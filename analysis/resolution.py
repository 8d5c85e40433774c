"""Every distinct host and address of a study, looked up once: hosts, addresses, vantages; providers beside them."""

from __future__ import annotations

import polars as pl

from originset.analysis.addresses import address_rows
from originset.analysis.edges import host_edges
from originset.analysis.har.urls import map_distinct
from originset.analysis.hosts import host_rows
from originset.data.host_names import canonical_ip
from originset.data.reference import providers as provider_table
from originset.data.reference.snapshot import Reference, built_in
from originset.data.schema import TABLES
from originset.data.shards import scan, write_shard
from originset.data.study import Study

_SHARD = "all"


def resolve(study: Study, reference: Reference | None = None) -> dict[str, int]:
    """Write the tables anew and the reference data used into the manifest, in a study that the caller holds.

    ``reference``: the built-in one by default. Counts: hosts, addresses, addresses without an AS.
    """
    reference = reference or built_in()
    providers = provider_table.providers()
    addresses = address_rows(_addresses(study), reference.ip_to_as, reference.as_names, provider_table.provider_of_as())
    edges = host_edges(_aliases(study), _located(study), addresses, providers)
    hosts = host_rows(_hosts(study), edges, reference.suffix_list)
    write_shard(study, "hosts", _SHARD, hosts)
    write_shard(study, "addresses", _SHARD, addresses)
    write_shard(study, "providers", _SHARD, providers)
    write_shard(study, "vantages", _SHARD, _vantages(study, addresses))
    study.update_manifest(reference_data={**reference.facts, "providers": provider_table.described()})
    return {
        "hosts": hosts.height,
        "addresses": addresses.height,
        "addresses_without_as": addresses["asn"].null_count(),
    }


def _hosts(study: Study) -> pl.Series:
    connections = scan(study, "connections")
    return _distinct(
        scan(study, "requests").select(pl.col("host")),
        connections.select(pl.col("first_host").alias("host")),
        connections.select(pl.col("hosts").explode().alias("host")),
        scan(study, "dns_queries").select(pl.col("host")),
    ).to_series()


def _addresses(study: Study) -> pl.Series:
    found = _distinct(
        scan(study, "requests").select(pl.col("server_ip")),
        scan(study, "connections").select(pl.col("server_ip")),
        _answers(study).select(pl.col("answers").explode().alias("server_ip")),
        scan(study, "visits").select(pl.col("vantage_ip").alias("server_ip")),
    ).to_series()
    return map_distinct(found, canonical_ip)


def _vantages(study: Study, addresses: pl.DataFrame) -> pl.DataFrame:
    """Each place that visits were made from, with each address that it was said to have."""
    visits = scan(study, "visits").filter(pl.col("vantage").is_not_null())
    places = visits.group_by("vantage", pl.col("vantage_ip").alias("ip")).agg(pl.len().cast(pl.Int32).alias("visits"))
    known = addresses.select("ip", "asn", "as_name", "organisation")
    rows = places.collect(engine="streaming").join(known, on="ip", how="left").sort("vantage", "ip", nulls_last=True)
    return rows.select(TABLES["vantages"].polars_schema.names())


def _located(study: Study) -> pl.DataFrame:
    """Each host with each address that it was seen or said to be at."""
    pairs = _distinct(
        scan(study, "requests").select("host", pl.col("server_ip").alias("ip")),
        _answers(study).select("host", pl.col("answers").alias("ip")).explode("ip"),
    )
    return pairs.with_columns(map_distinct(pairs["ip"], canonical_ip).alias("ip")).drop_nulls()


def _aliases(study: Study) -> pl.DataFrame:
    """Each host with each name that its alias chains led through; itself too, as it may be in a provider's zone."""
    return _distinct(
        scan(study, "dns_queries").select("host", pl.col("cname_chain").alias("alias")).explode("alias"),
        scan(study, "requests").select("host", pl.col("host").alias("alias")),
    )


def _answers(study: Study) -> pl.LazyFrame:
    return scan(study, "dns_queries").filter(pl.col("rtype").is_in(["A", "AAAA"]))


def _distinct(*columns: pl.LazyFrame) -> pl.DataFrame:
    return pl.concat([column.unique() for column in columns]).unique().drop_nulls().collect(engine="streaming")
