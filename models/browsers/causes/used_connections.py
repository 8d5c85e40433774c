"""The TLS connections that each page used, with what decides whether another could have been used instead."""

from __future__ import annotations

import numpy as np
import polars as pl

from originset.models.browsers.batch import Part, matched
from originset.models.browsers.connection_facts import answers_of, literals, name_ready

_KEY = ["visit_id", "connection_id"]
_CARRIED = (
    *("visit_id", "connection_id", "host", "port", "protocol", "socket", "credentialed", "third_party", "top_site"),
    *("at_home", "cross_site", "cookies_blocked", "rules", "site", "main_site", "first"),
)
_TOLD = (
    *("certificate_id", "opened_ms", "established_ms", "closed_ms", "privacy_mode", "misdirected"),
    *("server_ip", "origin_set", "source"),
)


def used_connections(part: Part, rows: pl.DataFrame) -> pl.DataFrame:
    """One row per connection that carried https or wss requests, ordered by visit and time of opening.

    Columns: ``number`` (the row's), visit_id, connection_id, host, port, protocol, socket (its first request's),
    credentialed, third_party, top_site, at_home, cross_site, cookies_blocked, rules, speaks_http2 (its recorder),
    privacy_mode, peer, asn, site (of the host), main_site (of the page's document), opened_ms, ready_ms,
    established_ms, last_ms (when its last answer ended), closed_ms, lasting (NULL: when it closed is not known; else
    whether it outlived the page), certificate_id, names_known, origins, misdirected (hosts answered 421), answers.

    ``rows``: of :func:`originset.models.browsers.request_groups.modes_of`.
    """
    of = rows["connection"].to_numpy()
    known = np.flatnonzero(of >= 0)
    first = np.full(int(of.max(initial=-1)) + 1, -1)
    first[of[known][::-1]] = known[::-1]
    last = np.full(first.size, -np.inf)
    np.maximum.at(last, of[known], rows["ended_ms"].fill_null(-np.inf).to_numpy()[known])
    firsts = np.sort(first[first >= 0])
    carried = rows.select(*_CARRIED, "server_ip", "started_ms", "ready_ms", "connected_ms", "connection")[firsts]
    last_ms = pl.Series("last_ms", last[of[firsts]])
    told = matched(carried, part.connections, _KEY, *_TOLD)
    answers = matched(carried, answers_of(part), ["visit_id", "host"])
    facts = (
        carried.select("host", "server_ip", "started_ms", "ready_ms", "connected_ms")
        .rename({"server_ip": "first_ip"})
        .hstack([*told, *answers, last_ms, part.facts.is_ip_literal(carried["host"]).alias("literal")])
        .with_columns(literals(part))
        .select(
            "certificate_id",
            "closed_ms",
            "privacy_mode",
            "answers",
            _misdirected_hosts(rows, carried, told["misdirected"]),
            pl.col("origin_set").alias("origins"),
            pl.coalesce("server_ip", "first_ip").alias("peer"),
            pl.coalesce("opened_ms", "started_ms").alias("opened_ms"),
            pl.coalesce("established_ms", "connected_ms").alias("established_ms"),
            pl.when(pl.col("last_ms") != -np.inf).then("last_ms").alias("last_ms"),
            pl.when(pl.col("source") == "netlog").then(pl.col("closed_ms").is_null()).alias("lasting"),
            name_ready().alias("ready_ms"),
        )
    )
    facts = facts.with_columns(
        part.facts.names_known(facts["certificate_id"]).alias("names_known"),
        part.facts.asns(facts["peer"]).alias("asn"),
    )
    own = carried.select(_CARRIED).hstack(facts).hstack([part.visits["speaks_http2"][carried["visit_id"]]])
    order = own.select(pl.arg_sort_by("visit_id", "opened_ms", "first", "connection_id"))["visit_id"]
    return own[order].drop("first").with_row_index("number")


def _misdirected_hosts(rows: pl.DataFrame, carried: pl.DataFrame, told: pl.Series) -> pl.Series:
    """Hosts that each connection answered 421 for, by its requests and by what its recorder says; NULL for none."""
    refused = rows.filter("refused", pl.col("connection") >= 0).select("connection", "host")
    several = told.list.len().fill_null(0) > 0
    if refused.is_empty() and not several.any():
        return pl.Series("misdirected", [None], dtype=told.dtype).new_from_index(0, told.len())
    lists = refused.group_by("connection").agg(pl.col("host").unique())
    seen = matched(carried, lists, ["connection"])["host"]
    both = pl.concat_list(pl.lit(seen).fill_null([]), pl.lit(told).fill_null([])).list.unique()
    some = pl.Series(seen.is_not_null() | several)
    return pl.select(pl.when(some).then(both).alias("misdirected")).to_series()
