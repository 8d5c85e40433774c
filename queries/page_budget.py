"""A budget for pages: limits for connections, redundant ones, names missing from certificates, and third parties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import duckdb
import msgspec
import polars as pl

# What a budget can limit, and what it means; names as in the file.
MEASURES = {
    "connections": "TLS connections that carried the page's requests",
    "redundant_connections": "of these, connections whose requests an earlier connection of the page could have served",
    "missing_names": "hosts in the site's AS that its certificate does not cover, over all its visits",
    "third_party_ases": "ASes that served only hosts with another registrable domain than the page's",
}

WITHIN, OVER, UNKNOWN = "within", "over", "unknown"

# ``least``: how many are certain; ``why``: why there may be more, or NULL.
_VALUES = """
WITH
pages AS (
    SELECT v.visit_id, v.site, coalesce(v.url, v.final_url) AS url, c.measured_tls,
        any_value(b.reason) FILTER (b.question = 'connections') AS connections_why,
        any_value(b.reason) FILTER (b.question = 'causes') AS causes_why,
        any_value(b.reason) FILTER (b.question = 'certificates') AS certificates_why,
        any_value(b.reason) FILTER (b.question = 'servers') AS servers_why
    FROM visits AS v
    JOIN page_counts AS c ON c.visit_id = v.visit_id
    JOIN page_basis AS b ON b.visit_id = v.visit_id
    GROUP BY ALL
),
served AS (
    SELECT r.visit_id, a.asn, r.server_ip,
        h.owner_domain IS DISTINCT FROM o.owner_domain AS third_party
    FROM network_requests AS r
    JOIN documents AS d USING (visit_id)
    JOIN host_owners AS o ON o.host = d.host
    LEFT JOIN host_owners AS h ON h.host = r.host
    LEFT JOIN addresses AS a ON a.ip = r.server_ip
),
of_as AS (
    -- An address in no known AS is one of its own.
    SELECT visit_id, coalesce(asn::VARCHAR, server_ip) AS network, bool_and(third_party) AS third_party
    FROM served WHERE server_ip IS NOT NULL GROUP BY ALL
),
third_parties AS (
    SELECT visit_id, count(*) FILTER (third_party) AS least FROM of_as GROUP BY visit_id
),
unlocated AS (
    SELECT visit_id, count(*) AS requests FROM served WHERE server_ip IS NULL GROUP BY visit_id
),
redundant AS (
    SELECT visit_id, count(*) AS least FROM redundant_connections GROUP BY visit_id
)
SELECT p.visit_id, p.site, p.url, 'connections' AS measure, p.measured_tls::BIGINT AS least, p.connections_why AS why
FROM pages AS p
UNION ALL
SELECT p.visit_id, p.site, p.url, 'redundant_connections',
    CASE WHEN p.causes_why IS NULL THEN coalesce(r.least, 0) END, coalesce(p.causes_why, p.connections_why)
FROM pages AS p LEFT JOIN redundant AS r USING (visit_id)
UNION ALL
SELECT p.visit_id, p.site, p.url, 'missing_names', s.additions,
    coalesce(
        p.certificates_why,
        CASE WHEN s.additions IS NULL THEN 'the names of the site''s certificate are not recorded' END)
FROM pages AS p LEFT JOIN site_certificates AS s USING (site)
UNION ALL
SELECT p.visit_id, p.site, p.url, 'third_party_ases', t.least,
    CASE WHEN p.servers_why IS NOT NULL THEN p.servers_why
        WHEN u.requests > 0 THEN u.requests || ' requests went to addresses that are not recorded'
        WHEN t.least IS NULL THEN 'no address is recorded' END
FROM pages AS p LEFT JOIN third_parties AS t USING (visit_id) LEFT JOIN unlocated AS u USING (visit_id)
ORDER BY site, url, visit_id, measure
"""


class BudgetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One page load and one of its limits, as :func:`judged` gives it in a row.

    ``value``: the certain number, None if nothing could be counted; ``why``: why there may be more.
    """

    site: str
    url: str | None
    visit_id: str
    measure: Literal["connections", "redundant_connections", "missing_names", "third_party_ases"]
    budget: int
    value: int | None
    verdict: Literal["within", "over", "unknown"]
    why: str | None


@dataclass(frozen=True, slots=True)
class PageBudget:
    """Limits by measure, for the pages of a site or for one URL; for all pages if both are None."""

    limits: dict[str, int]
    site: str | None = None
    url: str | None = None


def budget_verdicts(
    connection: duckdb.DuckDBPyConnection, default: PageBudget, overrides: list[PageBudget]
) -> pl.DataFrame:
    """One row per visit and limit: site, url, visit_id, measure, budget, value, verdict and why.

    ``value`` is the certain number, NULL if nothing could be counted. ``why`` says why there may be more. A value over
    the limit is ``over`` in any case; one that is not over it is ``unknown`` if there may be more, else ``within``. The
    limits of an override replace the default's; those for a URL replace those for a site.
    """
    rows = []
    for visit, site, url, measure, least, why in connection.execute(_VALUES).fetchall():
        limit = _limit(measure, site, url, default, overrides)
        if limit is None:
            continue
        over = least is not None and least > limit
        verdict = OVER if over else WITHIN if why is None and least is not None else UNKNOWN
        rows.append((site, url, visit, measure, limit, least, verdict, why))
    schema = {"site": pl.String, "url": pl.String, "visit_id": pl.String, "measure": pl.String, "budget": pl.Int64,
              "value": pl.Int64, "verdict": pl.String, "why": pl.String}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _limit(
    measure: str, site: str | None, url: str | None, default: PageBudget, overrides: list[PageBudget]
) -> int | None:
    budgets = [one for one in overrides if (one.url is not None and one.url == url)]
    budgets += [one for one in overrides if one.url is None and one.site == site]
    return next((one.limits[measure] for one in [*budgets, default] if measure in one.limits), None)
