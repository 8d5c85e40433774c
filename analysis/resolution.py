"""Every distinct host and address of a study, looked up once: tables ``hosts`` and ``addresses``."""

from __future__ import annotations

import polars as pl

from originset.analysis.addresses import address_rows
from originset.analysis.har.urls import canonical_ip, map_distinct
from originset.analysis.hosts import host_rows, suffix_list
from originset.data.reference.ip_to_as import IpToAs
from originset.data.shards import scan, write_shard
from originset.data.study import Study

_SHARD = "all"


def resolve(study: Study, table: IpToAs | None = None) -> dict[str, int]:
    """Write both tables anew and the reference data used into the manifest, in a study that the caller holds.

    ``table`` is the IP-to-AS table; the built-in one by default. Counts: hosts, addresses, addresses without an AS.
    """
    table = table or IpToAs.builtin()
    hosts = host_rows(_hosts(study))
    addresses = address_rows(_addresses(study), table)
    write_shard(study, "hosts", _SHARD, hosts)
    write_shard(study, "addresses", _SHARD, addresses)
    reference = {"ip_to_as": table.described(), "public_suffix_list": suffix_list()}
    study.update_manifest(reference_data=reference)
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
    )


def _addresses(study: Study) -> pl.Series:
    answers = scan(study, "dns_queries").filter(pl.col("rtype").is_in(["A", "AAAA"]))
    found = _distinct(
        scan(study, "requests").select(pl.col("server_ip")),
        scan(study, "connections").select(pl.col("server_ip")),
        answers.select(pl.col("answers").explode().alias("server_ip")),
    )
    return map_distinct(found, canonical_ip)


def _distinct(*columns: pl.LazyFrame) -> pl.Series:
    return (
        pl.concat([column.unique() for column in columns]).unique().drop_nulls().collect(engine="streaming").to_series()
    )
