"""Everything that a report says, taken from a study's database in one go: numbers, advice, tables, pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import duckdb
import polars as pl

from originset.queries.catalogue import named, run
from originset.queries.ladder import ladder, rests_on
from originset.queries.report.sentences import as_of, who, why
from originset.queries.report.text import shown

# Tables beneath the pages: the catalogue's query, its title, and how many rows are of use to a reader.
_TABLES = {
    "hosts_top_summary": ("Hosts", {"top": 100}),
    "asns_top_summary": ("Networks (ASes)", {"top": 50}),
    "issuers_summary": ("Certificate issuers", {}),
    "additions_provider_summary": ("Names that save most, by provider", {"providers": 10}),
    "failures_error_summary": ("Visits that failed", {}),
}
_TABLE_ROWS = 100

_WHO_FIRST = ["site", "host_owner", "cdn", "browser"]

_ADVICE = """
SELECT fixable_by, fix, any_value(cause) AS cause, count(*) AS connections, count(DISTINCT visit_id) AS pages,
    bool_or(based_on_live) AS live, count(*) FILTER (len(causes) > 1) AS more,
    count(*) FILTER (len(needs) > 0) AS unsure
FROM redundant_connections WHERE fix IS NOT NULL AND fixable_by <> 'nobody'
GROUP BY fixable_by, fix ORDER BY connections DESC, fix
"""

_UNDECIDED = """
SELECT what, count(*) AS connections FROM (
    SELECT unnest(needs) AS what
    FROM redundant_connections WHERE cause = 'NOT_DECIDABLE'
) GROUP BY what ORDER BY connections DESC, what
"""

_NO_CAUSE = """
SELECT count(*) FILTER (cause = 'NOT_DECIDABLE'), count(*) FILTER (cause = 'UNKNOWN'),
    count(*) FILTER (fixable_by = 'nobody'), count(*)
FROM redundant_connections
"""

_PAGES = """
SELECT v.visit_id, v.site, v.url, v.final_url, v.status, v.error, v.quality, v.load_ms, v.recorder, v.browser,
    v.browser_version, v.vantage, v.round, v.third_party_cookies, c.*, t.origin_ms, t.paper_origin_ms,
    t.left_out_reason
FROM visits AS v LEFT JOIN page_counts AS c USING (visit_id) LEFT JOIN page_load_times AS t USING (visit_id)
ORDER BY c.measured_tls - c.ideal_deployable DESC NULLS LAST, c.measured_tls DESC NULLS LAST, v.site, v.visit_id
LIMIT $pages
"""

_CONNECTIONS = """
SELECT n.connection_id, n.first_host, n.hosts, n.protocol, n.opened_ms, n.closed_ms, n.used, n.server_ip,
    r.cause, r.detail, r.needs, r.host, r.reusable_host, r.reusable_connection_id, r.fixable_by, r.fix,
    r.based_on_live,
    q.requests, q.first_ms, q.last_ms
FROM connections AS n
LEFT JOIN redundant_connections AS r USING (visit_id, connection_id)
LEFT JOIN (
    SELECT connection_id, count(*) AS requests, min(started_ms) AS first_ms,
        max(started_ms + coalesce(blocked_ms, 0) + coalesce(dns_ms, 0) + coalesce(connect_ms, 0) + coalesce(send_ms, 0)
            + coalesce(wait_ms, 0) + coalesce(receive_ms, 0)) AS last_ms
    FROM requests WHERE visit_id = $visit GROUP BY connection_id
) AS q USING (connection_id)
WHERE n.visit_id = $visit ORDER BY coalesce(n.opened_ms, q.first_ms), n.connection_id
"""

_BY = """
SELECT {by} AS name, count(*) AS visits, median(c.measured_dns) AS dns, median(c.measured_tls) AS tls,
    median(c.ideal_deployable) AS deployable, median(c.ideal_origin) AS origin
FROM visits AS v JOIN page_counts AS c USING (visit_id) WHERE v.status IS DISTINCT FROM 'failed' AND {by} IS NOT NULL
GROUP BY ALL HAVING count(*) > 0 ORDER BY {by}
"""

_SUMS = """
SELECT count(*), count(*) FILTER (status = 'failed'), count(DISTINCT site), min(started_at), max(started_at),
    list_distinct(list(vantage)), list_distinct(list(recorder))
FROM visits
"""


_LIVE = """
WITH asking AS (
    SELECT started_at::DATE AS day FROM runs
    WHERE command = 'enrich' AND ((counts ->> '$.names')::BIGINT > 0 OR (counts ->> '$.handshakes')::BIGINT > 0)
)
SELECT count(DISTINCT h.certificate_id) FILTER (h.recorded),
    count(DISTINCT (h.visit_id, h.host)) FILTER (h.address_changed),
    (SELECT count(DISTINCT host) FROM dns_queries WHERE source = 'live'),
    (SELECT min(day) FROM asking), (SELECT max(day) FROM asking)
FROM live_handshakes AS h
"""

# The browsers' rules compare all connections of a page.
_CROWDED = """
SELECT count(*) FROM page_counts WHERE measured_tls IS NOT NULL AND chromium_tls_high IS NULL
"""

_WITHOUT_CONNECTIONS = """
SELECT count(*) FROM page_counts JOIN visits USING (visit_id)
WHERE measured_tls IS NULL AND status IS DISTINCT FROM 'failed' AND ideal_ip > 0
"""


@dataclass(frozen=True, slots=True)
class Advice:
    """One fix: who would make it, what it is, and how many connections and pages it is about.

    ``live``: it rests on what was asked for after a recording; ``more``: connections that something else keeps apart
    too; ``unsure``: those of which the recording leaves that open.
    """

    who: str
    fix: str
    cause: str
    connections: int
    pages: int
    live: bool
    more: int
    unsure: int


@dataclass(frozen=True, slots=True)
class Undecided:
    """Of ``redundant`` connections those without advice: cause not known, or between hosts that are strangers.

    ``lacking``: what the recordings left out, and for how many; ``without_connections``: pages of which it is not
    recorded what travelled over which connection; ``crowded``: pages of too many connections to compare them all.
    """

    undecidable: int
    unknown: int
    strangers: int
    redundant: int
    lacking: list[tuple[str, int]]
    without_connections: int
    crowded: int


@dataclass(frozen=True, slots=True)
class Live:
    """What was asked for after the recordings: ``as_of`` which days (None: nothing was), and how much came.

    ``moved``: hosts of pages whose name led elsewhere than to the recorded address by then.
    """

    as_of: str | None
    names: int
    certificates: int
    moved: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the catalogue; ``columns``: name, meaning, whether it is a number."""

    name: str
    title: str
    description: str
    columns: list[tuple[str, str, bool]]
    rows: list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Page:
    """One visit: its counts, its connections with what is said of each, and (from ``timeline``) its requests."""

    facts: dict[str, Any]
    connections: list[dict[str, Any]]
    requests: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Contents:
    """A report's contents; all texts of strangers are fit to be shown, but not yet escaped."""

    title: str
    facts: dict[str, Any]
    ladder: pl.DataFrame
    rests_on: list[str]
    advice: dict[str, list[Advice]]
    undecided: Undecided
    live: Live
    pages: list[Page]
    all_pages: int
    distribution: list[tuple[float, float, float]]
    groups: dict[str, list[dict[str, Any]]]
    tables: list[Table]
    rejects: list[tuple[str, str]]


def contents(connection: duckdb.DuckDBPyConnection, title: str, most_pages: int) -> Contents:
    """The contents for a study's database; ``most_pages`` are shown one by one, those with most to save first."""
    visits, failed, sites, first, last, vantages, recorders = connection.execute(_SUMS).fetchall()[0]
    rungs = ladder(connection)
    certificates, moved, names, began, ended = connection.execute(_LIVE).fetchall()[0]
    live = Live(as_of(began, ended), names, certificates, moved)
    return Contents(
        title=shown(title),
        facts={
            "visits": visits,
            "failed": failed,
            "sites": sites,
            "first": first,
            "last": last,
            "vantages": [shown(one) for one in sorted(filter(None, vantages or []))],
            "recorders": [shown(one) for one in sorted(filter(None, recorders or []))],
        },
        ladder=rungs,
        rests_on=rests_on(rungs),
        advice=_advice(connection),
        undecided=_undecided(connection),
        live=live,
        pages=[_page(connection, row, live.as_of) for row in _dicts(connection, _PAGES, {"pages": most_pages})],
        all_pages=visits,
        distribution=_distribution(connection),
        groups={by: _groups(connection, by) for by in ("vantage", "round")},
        tables=[table for table in (_table(connection, name) for name in _TABLES) if table.rows],
        rejects=[
            (shown(source), shown(detail or reason))
            for source, reason, detail in connection.execute(
                "SELECT source, reason, detail FROM rejects ORDER BY source LIMIT 100"
            ).fetchall()
        ],
    )


def _advice(connection: duckdb.DuckDBPyConnection) -> dict[str, list[Advice]]:
    found: dict[str, list[Advice]] = {}
    for row in _dicts(connection, _ADVICE):
        by = row["fixable_by"]
        facts = {name: row[name] for name in ("cause", "connections", "pages", "live", "more", "unsure")}
        found.setdefault(by, []).append(Advice(who(by) or by, shown(row["fix"], 400), **facts))
    return {by: found[by] for by in sorted(found, key=lambda by: _WHO_FIRST.index(by) if by in _WHO_FIRST else 9)}


def _undecided(connection: duckdb.DuckDBPyConnection) -> Undecided:
    undecidable, unknown, strangers, redundant = connection.execute(_NO_CAUSE).fetchall()[0]
    lacking = [(what, count) for what, count in connection.execute(_UNDECIDED).fetchall() if what]
    (without_connections,) = connection.execute(_WITHOUT_CONNECTIONS).fetchall()[0]
    (crowded,) = connection.execute(_CROWDED).fetchall()[0]
    return Undecided(undecidable, unknown, strangers, redundant, lacking, without_connections, crowded)


def _page(connection: duckdb.DuckDBPyConnection, row: dict[str, Any], asked_live: str | None) -> Page:
    for name in ("site", "url", "final_url", "error", "recorder", "browser", "browser_version", "vantage"):
        row[name] = None if row[name] is None else shown(row[name])
    rows = _dicts(connection, _CONNECTIONS, {"visit": row["visit_id"]})
    for number, entry in enumerate(rows, 1):
        entry["number"] = number
        entry["why"] = None if entry["cause"] is None else why(entry, asked_live)
        entry["who"] = who(entry["fixable_by"])
        known = entry["fix"] is not None and entry["fixable_by"] != "nobody"
        entry["fix"] = shown(entry["fix"], 400) if known else None
        entry["hosts"] = [shown(host) for host in entry["hosts"] or [entry["first_host"] or "?"]]
    return Page(row, rows)


def _distribution(connection: duckdb.DuckDBPyConnection) -> list[tuple[float, float, float]]:
    """Quantiles of measured and best TLS connections a page: share, measured, ORIGIN; none below five pages."""
    rows = run(connection, named("connections_page_dist").sql)
    if rows.height < 5:
        return []
    shares = [step / 50 for step in range(51)]
    return [
        (share, float(rows["tls"].quantile(share) or 0), float(rows["origin_dns_tls"].quantile(share) or 0))
        for share in shares
    ]


def _groups(connection: duckdb.DuckDBPyConnection, by: str) -> list[dict[str, Any]]:
    rows = _dicts(connection, _BY.format(by=f"v.{by}"))
    return [{**row, "name": shown(str(row["name"]))} for row in rows] if len(rows) > 1 else []


def _table(connection: duckdb.DuckDBPyConnection, name: str) -> Table:
    title, parameters = _TABLES[name]
    query = named(name)
    rows = run(connection, query.sql, parameters).head(_TABLE_ROWS)
    columns = [(column, query.columns.get(column, ""), kind.is_numeric()) for column, kind in rows.schema.items()]
    return Table(name, title, query.description, columns, [tuple(map(_cell, row)) for row in rows.iter_rows()])


def _cell(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    return shown(value) if isinstance(value, str) else value


def _dicts(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    cursor = connection.execute(sql, parameters or {})
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
