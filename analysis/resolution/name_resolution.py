"""Every distinct host and address of a study, looked up once: hosts, addresses, vantages; providers beside them."""

from __future__ import annotations

import polars as pl

from originset.analysis.har.urls import map_distinct
from originset.analysis.resolution.addresses import address_rows
from originset.analysis.resolution.edges import host_edges
from originset.analysis.resolution.hosts import host_rows
from originset.analysis.resolution.yearly_origins import YearlyOrigins, addresses_by_year
from originset.data.host_names import canonical_ip
from originset.data.reference import providers as provider_table
from originset.data.reference.ip_to_as import IpToAs
from originset.data.reference.snapshot import Reference, built_in_reference
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import RESOLVED, scan, write_shard
from originset.data.studies.study import Study

_PART = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"^(?:{_PART}\.){{3}}{_PART}$"


def resolve_names(study: Study, reference: Reference | None = None) -> dict[str, int]:
    """Write the tables again, and the reference data into the manifest, in a study that the caller has locked.

    ``reference``: the built-in one by default. Counts: hosts, addresses, addresses without an AS.
    """
    reference = reference or built_in_reference()
    providers = provider_table.providers()
    located = _host_addresses(study)
    addresses = address_rows(
        pl.concat([located["ip"], _other_addresses(study)]),
        _table(study, reference),
        reference.as_names,
        provider_table.provider_of_as(),
    )
    names = pl.concat([located["host"], _other_hosts(study)]).drop_nulls().unique()
    aliases = pl.concat([_aliases(study), pl.DataFrame({"host": names, "alias": names})])
    edges = host_edges(aliases, located.drop_nulls(), addresses, providers)
    hosts = host_rows(names, edges, reference.suffix_list)
    write_shard(study, "hosts", RESOLVED, hosts)
    write_shard(study, "addresses", RESOLVED, addresses)
    write_shard(study, "providers", RESOLVED, providers)
    write_shard(study, "vantages", RESOLVED, _vantages(study, addresses))
    study.update_manifest(reference_data={**reference.facts, "providers": provider_table.described()})
    return {
        "hosts": hosts.height,
        "addresses": addresses.height,
        "addresses_without_as": addresses["asn"].null_count(),
    }


def _table(study: Study, reference: Reference) -> IpToAs | YearlyOrigins:
    if not reference.of_years:
        return reference.ip_to_as
    seen = addresses_by_year(study)
    seen = seen.with_columns(_canonical_addresses(seen["ip"])).drop_nulls("ip").unique()
    return YearlyOrigins(reference.ip_to_as, reference.of_years, seen)


def _host_addresses(study: Study) -> pl.DataFrame:
    """Each ``host`` with each ``ip`` of its connections, requests and DNS answers; NULL where one is not known."""
    pairs = _distinct_rows(
        scan(study, "requests").select("host", pl.col("server_ip").alias("ip")),
        _answers(study).select("host", pl.col("answers").alias("ip")).explode("ip"),
        scan(study, "dns_queries").select("host", pl.lit(None, pl.String).alias("ip")),
    )
    return pairs.with_columns(_canonical_addresses(pairs["ip"]))


def _other_hosts(study: Study) -> pl.Series:
    connections = scan(study, "connections")
    return _distinct_rows(
        connections.select(pl.col("first_host").alias("host")),
        connections.select(pl.col("hosts").explode().alias("host")),
    ).to_series()


def _other_addresses(study: Study) -> pl.Series:
    other_addresses = _distinct_rows(
        scan(study, "connections").select(pl.col("server_ip").alias("ip")),
        scan(study, "visits").select(pl.col("vantage_ip").alias("ip")),
    ).to_series()
    return _canonical_addresses(other_addresses)


def _canonical_addresses(addresses: pl.Series) -> pl.Series:
    """Recorded addresses in canonical text; NULL for other texts. Most are canonical IPv4 addresses already."""
    in_order = addresses.str.contains(_IPV4)
    others = map_distinct(addresses.filter(~in_order), canonical_ip)
    return addresses.scatter((~in_order).arg_true(), others)


def _vantages(study: Study, addresses: pl.DataFrame) -> pl.DataFrame:
    """Each vantage with each of its public addresses."""
    visits = scan(study, "visits").filter(pl.col("vantage").is_not_null())
    places = visits.group_by("vantage", pl.col("vantage_ip").alias("ip")).agg(pl.len().cast(pl.Int32).alias("visits"))
    networks = addresses.select("ip", "asn", "as_name", "organisation")
    rows = places.collect(engine="streaming").join(networks, on="ip", how="left").sort("vantage", "ip", nulls_last=True)
    return rows.select(TABLES["vantages"].polars_schema.names())


def _aliases(study: Study) -> pl.DataFrame:
    """Each ``host`` with each name of its alias chains."""
    chains = scan(study, "dns_queries").select("host", pl.col("cname_chain").alias("alias"))
    return _distinct_rows(chains.explode("alias")).drop_nulls()


def _answers(study: Study) -> pl.LazyFrame:
    return scan(study, "dns_queries").filter(pl.col("rtype").is_in(["A", "AAAA"]))


def _distinct_rows(*columns: pl.LazyFrame) -> pl.DataFrame:
    return pl.concat([column.unique() for column in columns]).unique().collect(engine="streaming")
