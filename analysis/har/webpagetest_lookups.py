"""Rows of ``dns_queries`` from what entries tell of the lookups of their hosts: WebPageTest's ``_dns_info``."""

from __future__ import annotations

import polars as pl

from originset.analysis.har.decoding.structs import DnsInfo
from originset.analysis.har.entry_columns import EntryColumns
from originset.data.host_names import canonical_ip, normalise_host
from originset.data.schema.study_tables import TABLES

_FAMILIES = (("A", "."), ("AAAA", ":"))


def lookup_rows(entry_columns: EntryColumns, requests: pl.DataFrame) -> pl.DataFrame:
    """One row per visit, host and record type. ``requests``: the result of request_rows.

    The recorder does not have the queries on the wire, so ``attempts`` is NULL; nor the answers of queries
    without an address.
    """
    schema = TABLES["dns_queries"].polars_schema
    if not entry_columns.lookups:
        return schema.to_frame()
    requested = requests.select(
        "visit", "place", "visit_id", "host", pl.col("started_ms") + pl.col("blocked_ms").fill_null(0)
    )
    by_place = {(visit, place): facts for visit, place, *facts in requested.iter_rows()}
    rows: list[dict[str, object]] = []
    numbers: dict[int, dict[str, int]] = {}
    for lookup in entry_columns.lookups:
        visit_id, host, asked_ms = by_place[lookup.visit, lookup.place]
        hosts_of_visit = numbers.setdefault(lookup.visit, {})
        if host is None or host in hosts_of_visit or canonical_ip(host) is not None:
            continue
        hosts_of_visit[host] = len(hosts_of_visit)
        aliases = _aliases(host, lookup.info)
        rows += [
            {
                "visit_id": visit_id,
                "lookup_id": hosts_of_visit[host],
                "host": host,
                "rtype": rtype,
                "status": "NOERROR" if answers else None,
                "answers": answers,
                "cname_chain": aliases,
                "source": "browser",
                "asked_ms": asked_ms,
            }
            for rtype, answers in _answers(lookup.info)
        ]
    return pl.DataFrame(rows, schema=schema)


def _answers(info: DnsInfo) -> list[tuple[str, list[str] | None]]:
    results = info.results
    endpoints = (results.endpoints or []) if results is not None else []
    addresses = [address for endpoint in endpoints if (address := canonical_ip(endpoint.address or "")) is not None]
    answers_by_type: dict[str, list[str] | None] = {
        transaction.rtype: None
        for transaction in info.transactions or ()
        if transaction.rtype in {"A", "AAAA", "HTTPS"}
    }
    for rtype, mark in _FAMILIES:
        if of_family := [address for address in addresses if mark in address]:
            answers_by_type[rtype] = of_family
    return list(answers_by_type.items())


def _aliases(host: str, info: DnsInfo) -> list[str] | None:
    if info.results is None or info.results.names is None:
        return None
    names = [normalise_host(name) for name in info.results.names]
    return [name for name in names if name is not None and name != host]
