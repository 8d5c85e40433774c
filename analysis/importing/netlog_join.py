"""A HAR and a NetLog of one page load become one visit: the HAR's requests, the NetLog's connections and lookups.

They are of one load if they name one page, and begin within some seconds of one another on the same clock. The visit
keeps the HAR's id. Its rows are written before those of the NetLog's own visit are removed, and writing them again
changes nothing, so that an import that was killed in between is completed by the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from originset.analysis.har.recorders import NETLOG
from originset.data.studies.shards import IMPORT, is_usable, read_shard, shard_path, shard_paths, write_shard
from originset.data.studies.study import Study

# Beyond this two loads of one page are two. Recorders begin to count at different moments of a navigation.
_SAME_LOAD_MS = 5_000
# visits comes last: as long as it holds the NetLog's visit, the next import joins it again.
_TABLES = ("requests", "connections", "dns_queries", "certificates", "certificate_names", "visits")
_OF_HAR_ALONE = ("warm_sockets", "warm_start", "no_connection_ids", "no_addresses")


@dataclass(frozen=True, slots=True)
class _Pair:
    """The visits of one load, and their shards. ``later_ms``: how much later the NetLog's clock begins."""

    har: str
    har_shard: str
    netlog: str
    netlog_shard: str
    later_ms: float


def join_netlogs(study: Study) -> int:
    """Join the imported NetLogs' page loads with those of imported HARs; returns how many."""
    pairs = _pairs(study)
    for pair in pairs:
        _join(study, pair)
        _remove_netlog_visit(study, pair)
    return len(pairs)


def _pairs(study: Study) -> list[_Pair]:
    """Each HAR's page with the NetLog's load that began nearest to it; each in one pair."""
    visits = _imported_visits(study)
    is_netlog = pl.col("recorder") == NETLOG.name
    netlogs = visits.filter(is_netlog)
    hars = visits.filter(~is_netlog & (pl.col("browser").is_null() | (pl.col("browser") == "chromium")))
    candidates = (
        netlogs.join(hars, on="page", suffix="_har")
        .with_columns((pl.col("started_at") - pl.col("started_at_har")).dt.total_microseconds().alias("later_us"))
        .filter(pl.col("later_us").abs() <= _SAME_LOAD_MS * 1000)
        .sort(pl.col("later_us").abs(), "visit_id_har", "visit_id")
        .unique("visit_id", keep="first", maintain_order=True)
        .unique("visit_id_har", keep="first", maintain_order=True)
    )
    columns = ("visit_id_har", "shard_har", "visit_id", "shard", "later_us")
    return [
        _Pair(har, har_shard, netlog, netlog_shard, later / 1000)
        for har, har_shard, netlog, netlog_shard, later in candidates.select(columns).iter_rows()
    ]


def _imported_visits(study: Study) -> pl.DataFrame:
    frames = [
        read_shard(study, "visits", path).select(
            "visit_id", "recorder", "browser", "started_at",
            pl.col("url").str.replace("#.*", "").alias("page"), pl.lit(path.stem).alias("shard"),
        )
        for path in shard_paths(study, "visits")
        if path.stem.startswith(IMPORT) and is_usable(study, "visits", path.stem)
    ]  # fmt: skip
    kept = [frame.filter(pl.col("page").is_not_null() & pl.col("started_at").is_not_null()) for frame in frames]
    none = pl.DataFrame(schema=dict.fromkeys(("visit_id", "recorder", "browser", "page", "shard"), pl.String))
    return pl.concat(kept) if kept else none.with_columns(pl.lit(None, pl.Datetime("us")).alias("started_at"))


def _shard(study: Study, table: str, name: str) -> pl.DataFrame:
    path: Path = shard_path(study, table, name)
    return read_shard(study, table, path)


def _join(study: Study, pair: _Pair) -> None:
    ours = {table: _shard(study, table, pair.har_shard) for table in _TABLES}
    theirs = {table: _shard(study, table, pair.netlog_shard) for table in _TABLES}
    is_har, is_netlog = pl.col("visit_id") == pair.har, pl.col("visit_id") == pair.netlog
    logged = {table: theirs[table].filter(is_netlog) for table in ("requests", "connections", "dns_queries", "visits")}
    joined = {
        "requests": _requests(ours["requests"].filter(is_har), logged["requests"]),
        "connections": _on_clock_of_har(
            logged["connections"], pair, "opened_ms", "established_ms", "closed_ms", "origin_ms"
        ),
        "dns_queries": _on_clock_of_har(logged["dns_queries"], pair, "asked_ms"),
        "visits": _visit(ours["visits"].filter(is_har), logged["visits"]),
    }
    for table in _TABLES:
        if table in joined:
            rows = pl.concat([ours[table].filter(~is_har), joined[table].select(ours[table].columns)])
        else:  # certificates, whose rows are nobody's own
            known = ours[table]["certificate_id"].implode()
            rows = pl.concat([ours[table], theirs[table].filter(~pl.col("certificate_id").is_in(known))])
        write_shard(study, table, pair.har_shard, rows)


def _requests(ours: pl.DataFrame, logged: pl.DataFrame) -> pl.DataFrame:
    """The HAR's requests with what the NetLog says of their connections; of one URL the n-th answer with the n-th."""
    sent = pl.col("from_cache").fill_null(value=False).not_()
    facts = ("connection_id", "connection_source", "server_ip", "protocol", "credentials")
    keys = ["url", "method", "nth"]
    nth = pl.int_range(pl.len()).over("url", "method").alias("nth")
    asked = (
        ours.filter(sent & pl.col("status").is_not_null())
        .sort("started_ms", "request_id")
        .with_columns(nth)
        .select("request_id", *keys)
    )
    answered = (
        logged.filter(sent & pl.col("connection_id").is_not_null()).sort("started_ms", "request_id").with_columns(nth)
    )
    found = asked.join(answered.select(*keys, *facts), on=keys).drop(keys)
    rows = ours.join(found, on="request_id", how="left", maintain_order="left", suffix="_logged")
    told = pl.col("connection_id_logged").is_not_null()
    return rows.with_columns(
        pl.col("connection_id_logged").alias("connection_id"),
        pl.col("connection_source_logged").alias("connection_source"),
        pl.when(told).then("credentials_logged").otherwise("credentials").alias("credentials"),
        *(pl.coalesce(f"{name}_logged", name).alias(name) for name in ("server_ip", "protocol")),
    )


def _on_clock_of_har(rows: pl.DataFrame, pair: _Pair, *times: str) -> pl.DataFrame:
    """Rows of the NetLog's visit as the HAR's, on its clock."""
    return rows.with_columns(pl.lit(pair.har).alias("visit_id"), *(pl.col(name) + pair.later_ms for name in times))


def _visit(ours: pl.DataFrame, logged: pl.DataFrame) -> pl.DataFrame:
    words = [word for word in ours["quality"].to_list()[0] or () if word not in _OF_HAR_ALONE]
    words += [word for word in logged["quality"].to_list()[0] or () if word not in words]
    names = ("browser", "browser_version", "ip_families")
    known = {name: logged[name][0] for name in names if name in ours.columns and ours[name][0] is None}
    return ours.with_columns(
        pl.Series("quality", [words], dtype=pl.List(pl.String)),
        *(pl.lit(value, ours.schema[name]).alias(name) for name, value in known.items()),
    )


def _remove_netlog_visit(study: Study, pair: _Pair) -> None:
    for table in ("requests", "connections", "dns_queries", "visits"):
        rows = _shard(study, table, pair.netlog_shard)
        write_shard(study, table, pair.netlog_shard, rows.filter(pl.col("visit_id") != pair.netlog))
