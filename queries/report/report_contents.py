"""The contents of a report, read from a study's database: numbers, advice, tables, pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import duckdb
import polars as pl

from originset.queries.catalogue import named_query, run
from originset.queries.ladder import Group, group_name, groups, ladder, rests_on, rows_of_group
from originset.queries.report.backtest_sentences import rung_notes
from originset.queries.report.cause_sentences import as_of, who, why
from originset.queries.report.change_sentences import PageChange, Preconnect
from originset.queries.report.connection_lanes import PageTimeline
from originset.queries.report.connection_reasons import seen_sentences, short_reason
from originset.queries.report.printable_text import printable_excerpt
from originset.queries.report.report_advice import ADVISED, Advice, advice
from originset.queries.report.rules_sentences import BrowserNeeds
from originset.queries.report.undecided_sharing import Undecided, undecided

# Tables beneath the pages: the catalogue's query, its title, and how many rows are of use to a reader.
_TABLES = {
    "hosts_top_summary": ("Hosts", {"top": 100}),
    "asns_top_summary": ("Networks (ASes)", {"top": 50}),
    "issuers_summary": ("Certificate issuers", {}),
    "additions_provider_summary": ("Names that save most, by provider", {"providers": 10}),
    "failures_error_summary": ("Visits that failed", {}),
}
_TABLE_ROWS = 100

_PAGES = """
SELECT v.visit_id, v.site, v.url, v.final_url, v.status, v.error, v.quality, v.load_ms, v.recorder, v.browser,
    v.browser_version, v.vantage, v.round, v.third_party_cookies, c.*, t.origin_ms, t.paper_origin_ms,
    t.left_out_reason, k.browser AS checked_browser, k.tls_low AS checked_low, k.tls_likely AS checked_likely,
    k.tls_high AS checked_high, k.recorded AS checked_recorded, k.error AS checked_error,
    k.error_cause AS checked_cause, b.browser AS predicted_browser, b.tls_low, b.tls_likely, b.tls_high,
    b.lacks_answers, b.lacks_certificates, b.lacks_credentials, b.rules_version AS today_rules, b.tls_low AS today_low,
    b.tls_likely AS today_likely, b.tls_high AS today_high, b.dns AS today_dns, o.rules_version AS own_rules,
    o.tls_low AS own_low, o.tls_likely AS own_likely, o.tls_high AS own_high, o.dns AS own_dns
FROM selected_visits AS s JOIN visits AS v USING (visit_id)
LEFT JOIN page_counts AS c USING (visit_id) LEFT JOIN page_load_times AS t USING (visit_id)
LEFT JOIN checked_pages AS k USING (visit_id)
LEFT JOIN browser_predictions AS b
    ON b.visit_id = v.visit_id AND b.model = 'today' AND b.browser = regexp_extract(v.browser, '^[a-z]+')
LEFT JOIN browser_predictions AS o ON o.visit_id = v.visit_id AND o.model = 'recorded'
ORDER BY c.measured_tls - c.paired_ideal_deployable DESC NULLS LAST, c.measured_tls DESC NULLS LAST, v.site, v.visit_id
LIMIT $pages
"""

_CONNECTIONS = f"""
SELECT n.connection_id, n.first_host, n.hosts, n.protocol, n.opened_ms, n.closed_ms, n.used, n.server_ip,
    r.cause, r.detail, r.causes, r.needs, r.host, r.reusable_host, r.reusable_connection_id, r.fixable_by, r.fix,
    r.based_on_live, coalesce(r.given, false) AS advised,
    q.requests, q.first_ms, q.last_ms
FROM connections AS n
LEFT JOIN ({ADVISED}) AS r USING (visit_id, connection_id)
LEFT JOIN (
    SELECT connection_id, count(*) AS requests, min(started_ms) AS first_ms,
        max(started_ms + coalesce(blocked_ms, 0) + coalesce(dns_ms, 0) + coalesce(connect_ms, 0) + coalesce(send_ms, 0)
            + coalesce(wait_ms, 0) + coalesce(receive_ms, 0)) AS last_ms
    FROM requests WHERE visit_id = $visit GROUP BY connection_id
) AS q USING (connection_id)
WHERE n.visit_id = $visit ORDER BY coalesce(n.opened_ms, q.first_ms), n.connection_id
"""  # noqa: S608 - from here

_BY = """
WITH of_sites AS (
    SELECT v.question, v.vantage, v.browser, p.{by} AS name, v.site,
        avg(c.measured_dns) AS dns, avg(c.measured_tls) AS tls,
        avg(c.paired_ideal_deployable) AS deployable, avg(c.paired_ideal_origin) AS origin
    FROM counted_visits AS v JOIN visits AS p USING (visit_id) JOIN page_counts AS c USING (visit_id)
    WHERE v.question IN ('connections', 'lookups') AND p.{by} IS NOT NULL
    GROUP BY ALL
)
SELECT name, browser, count(DISTINCT site) AS sites, median(dns) FILTER (question = 'lookups') AS dns,
    median(tls) FILTER (question = 'connections') AS tls,
    median(deployable) FILTER (question = 'connections') AS deployable,
    median(origin) FILTER (question = 'connections') AS origin
FROM of_sites GROUP BY ALL ORDER BY name, browser
"""

_SUMS = """
SELECT count(*), count(*) FILTER (b.reason = 'failed'), count(DISTINCT v.site), min(v.started_at), max(v.started_at),
    list_distinct(list(v.vantage)), list_distinct(list(v.recorder))
FROM selected_visits AS s JOIN visits AS v USING (visit_id)
JOIN page_basis AS b ON b.visit_id = v.visit_id AND b.question = 'causes'
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


@dataclass(frozen=True, slots=True)
class Live:
    """Live answers: ``as_of`` which days (None: there are none), and how many ``names`` and ``certificates``.

    ``moved``: hosts whose recorded address was no longer among their DNS answers.
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
    """One visit: its counts, and its connections with a sentence on each.

    ``changes``: what its owner can change, ``further_changes``: how many were not tried by themselves, ``together``:
    all of that; None: nothing. ``timeline``: None: not drawn. ``as_browser``: None: nobody asked.
    """

    facts: dict[str, Any]
    connections: list[dict[str, Any]]
    changes: list[PageChange] = field(default_factory=list)
    further_changes: int = 0
    together: PageChange | None = None
    preconnects: list[Preconnect] = field(default_factory=list)
    timeline: PageTimeline | None = None
    as_browser: BrowserNeeds | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """A report's contents. Texts of strangers are safe to print (:func:`shown`), but not yet escaped for HTML.

    ``backtest``: by the name of a ladder and the rung, how well that browser is predicted, as a sentence.
    """

    title: str
    facts: dict[str, Any]
    ladders: list[tuple[str | None, pl.DataFrame]]
    backtest: dict[str | None, dict[str, str]]
    rests_on: list[str]
    advice: dict[str, list[Advice]]
    undecided: Undecided
    live: Live
    pages: list[Page]
    all_pages: int
    distributions: list[tuple[str, list[tuple[float, float, float]]]]
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
        title=printable_excerpt(title),
        facts={
            "visits": visits,
            "failed": failed,
            "sites": sites,
            "first": first,
            "last": last,
            "vantages": [printable_excerpt(one) for one in sorted(filter(None, vantages or []))],
            "recorders": [printable_excerpt(one) for one in sorted(filter(None, recorders or []))],
        },
        ladders=_ladders(rungs),
        backtest={name: rung_notes(connection, rungs, group) for group, name in _ladder_names(rungs)},
        rests_on=rests_on(rungs),
        advice=advice(connection),
        undecided=undecided(connection),
        live=live,
        pages=[_page(connection, row, live.as_of) for row in _dicts(connection, _PAGES, {"pages": most_pages})],
        all_pages=visits,
        distributions=_distributions(connection),
        groups={by: _groups(connection, by) for by in ("vantage", "round")},
        tables=[table for table in (_table(connection, name) for name in _TABLES) if table.rows],
        rejects=[
            (printable_excerpt(source), printable_excerpt(detail or reason))
            for source, reason, detail in connection.execute(
                "SELECT source, reason, detail FROM rejects ORDER BY source LIMIT 100"
            ).fetchall()
        ],
    )


def _ladders(rungs: pl.DataFrame) -> list[tuple[str | None, pl.DataFrame]]:
    """The ladder of each vantage and browser that measured something, with its name if there are several."""
    return [(name, rows_of_group(rungs, group)) for group, name in _ladder_names(rungs)]


def _ladder_names(rungs: pl.DataFrame) -> list[tuple[Group, str | None]]:
    several = len(groups(rungs)) > 1
    measured = rungs.filter(pl.col("rung") == "measured", pl.col("total") > 0)
    return [(group, printable_excerpt(group_name(group)) if several else None) for group in groups(measured)]


def _page(connection: duckdb.DuckDBPyConnection, row: dict[str, Any], asked_live: str | None) -> Page:
    for name in ("site", "url", "final_url", "error", "recorder", "browser", "browser_version", "vantage"):
        row[name] = None if row[name] is None else printable_excerpt(row[name])
    rows = _dicts(connection, _CONNECTIONS, {"visit": row["visit_id"]})
    for number, entry in enumerate(rows, 1):
        entry["number"] = number
        entry["why"] = None if entry["cause"] is None else why(entry, asked_live)
        entry["who"] = who(entry["fixable_by"])
        entry["fix"] = printable_excerpt(entry["fix"], 400) if entry["advised"] else None
        entry["hosts"] = [printable_excerpt(host) for host in entry["hosts"] or [entry["first_host"] or "?"]]
    earlier_ones = {entry["connection_id"]: entry for entry in rows}
    for entry in rows:
        earlier = earlier_ones.get(entry["reusable_connection_id"])
        entry["could_be"] = None if earlier is None else earlier["number"]
        entry["short_reason"] = None if entry["cause"] is None else short_reason(entry)
        entry["seen"] = [] if entry["cause"] is None else seen_sentences(entry, earlier)
    return Page(row, rows)


def _distributions(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, list[tuple[float, float, float]]]]:
    """For each vantage and browser with five sites or more the quantiles of TLS connections: share, measured, ideal."""
    rows = run(connection, named_query("connections_page_dist").sql).filter(pl.col("tls").is_not_null())
    shares = [step / 50 for step in range(51)]
    distributions = []
    for group in groups(rows):
        of_one = rows_of_group(rows, group)
        if of_one.height >= 5:
            points = [
                (share, float(of_one["tls"].quantile(share) or 0), float(of_one["origin_dns_tls"].quantile(share) or 0))
                for share in shares
            ]
            distributions.append((printable_excerpt(group_name(group)), points))
    return distributions


def _groups(connection: duckdb.DuckDBPyConnection, by: str) -> list[dict[str, Any]]:
    rows = _dicts(connection, _BY.format(by=by))
    several = len({row["browser"] for row in rows}) > 1
    names = [f"{row['name']}, {row['browser'] or 'unknown browser'}" if several else str(row["name"]) for row in rows]
    return (
        [{**row, "name": printable_excerpt(name)} for row, name in zip(rows, names, strict=True)]
        if len(rows) > 1
        else []
    )


def _table(connection: duckdb.DuckDBPyConnection, name: str) -> Table:
    title, parameters = _TABLES[name]
    query = named_query(name)
    rows = run(connection, query.sql, parameters).head(_TABLE_ROWS)
    columns = [(column, query.columns.get(column, ""), kind.is_numeric()) for column, kind in rows.schema.items()]
    return Table(name, title, query.description, columns, [tuple(map(_cell, row)) for row in rows.iter_rows()])


def _cell(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    return printable_excerpt(value) if isinstance(value, str) else value


def _dicts(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    cursor = connection.execute(sql, parameters or {})
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
