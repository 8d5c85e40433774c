"""Advice: the changes by which redundant connections would be shared, and who can make them."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from originset.queries.report.cause_sentences import who
from originset.queries.report.printable_text import printable_excerpt, without_fraction

_WHO_FIRST = ["site", "host_owner", "cdn", "browser"]

#: Rows of ``redundant_connections``; ``given``: the fix is advised. It is not if by the site's plan no browser would
#: save a connection by it, or the name should not be added (``in_vain``).
ADVISED = """
WITH planned AS (
    SELECT
        site, name AS host,
        blocked_reason IS NOT NULL OR (
            connections_saved_chromium = 0 AND connections_saved_chromium_h3 = 0 AND connections_saved_firefox = 0
        ) AS in_vain
    FROM certificate_additions
), servers AS (
    SELECT DISTINCT site, server FROM origin_sets
)
SELECT
    r.*, v.site, v.page, v.weight,
    r.fix IS NOT NULL AND r.fixable_by <> 'nobody' AND NOT coalesce(p.in_vain, false) AS given,
    coalesce(p.in_vain, false) AS in_vain
FROM redundant_connections AS r
JOIN counted_visits AS v ON v.visit_id = r.visit_id AND v.question = 'causes'
LEFT JOIN servers AS s ON s.site = v.site AND s.server = r.reusable_host
LEFT JOIN planned AS p ON p.site = s.site AND p.host = r.host AND r.cause IN ('CERT', 'CERT+IP')
"""

_ADVICE = f"""
SELECT fixable_by, fix, any_value(cause) AS cause, round(sum(weight), 2) AS connections,
    count(DISTINCT (site, page)) AS pages, bool_or(based_on_live) AS live,
    round(coalesce(sum(weight) FILTER (len(causes) > 1), 0), 2) AS more,
    round(coalesce(sum(weight) FILTER (len(needs) > 0), 0), 2) AS unsure
FROM ({ADVISED}) WHERE given
GROUP BY fixable_by, fix ORDER BY connections DESC, fix
"""  # noqa: S608 - from here


@dataclass(frozen=True, slots=True)
class Advice:
    """One fix: who can make it, what it is, and how many connections and pages it is for.

    Connections are counted over all sites, each with its average page. ``live``: it is based on live answers;
    ``more``: connections that have another cause too; ``unsure``: connections that may have another cause.
    """

    who: str
    fix: str
    cause: str
    connections: float
    pages: int
    live: bool
    more: float
    unsure: float


def advice(connection: duckdb.DuckDBPyConnection) -> dict[str, list[Advice]]:
    """The fixes by ``fixable_by``, the site's own first; of each those with most connections first."""
    by_owner: dict[str, list[Advice]] = {}
    for by, fix, *facts in connection.execute(_ADVICE).fetchall():
        advice = Advice(who(by) or by, printable_excerpt(fix, 400), *map(without_fraction, facts))
        by_owner.setdefault(by, []).append(advice)
    return {by: by_owner[by] for by in sorted(by_owner, key=lambda by: _WHO_FIRST.index(by) if by in _WHO_FIRST else 9)}
