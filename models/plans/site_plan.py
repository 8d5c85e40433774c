"""A site's plan from a study's database: what ``plan site`` shows and ``plan config`` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.models.plans.client_shares import ClientMix
from originset.models.plans.exclusions import Exclusions
from originset.models.plans.origin_plan import Basis, Plan, plan

if TYPE_CHECKING:
    import duckdb

_TABLES = {
    "origin_sets": "SELECT * FROM origin_sets WHERE site = ?",
    "certificate_additions": "SELECT * FROM certificate_additions WHERE site = ?",
    "site_certificates": "SELECT * FROM site_certificates WHERE site = ?",
    "certificate_names": """
        SELECT name FROM certificate_names
        WHERE certificate_id = (SELECT certificate_id FROM site_certificates WHERE site = ?)""",
    "chain": """
        WITH own AS (
            SELECT unnest(chain) AS certificate_id, generate_subscripts(chain, 1) AS place FROM certificates
            WHERE certificate_id = (SELECT certificate_id FROM site_certificates WHERE site = ?))
        SELECT der_bytes FROM own LEFT JOIN certificates USING (certificate_id) ORDER BY place""",
    "requests": """
        SELECT DISTINCT scheme, host, protocol, server_ip, asn
        FROM network_requests JOIN visits USING (visit_id) LEFT JOIN addresses ON ip = server_ip
        WHERE site = ?""",
}

_NONE = Exclusions()

_BASIS = """
    SELECT count(*), count(DISTINCT vantage),
        strftime(min(started_at), '%Y-%m-%d'), strftime(max(started_at), '%Y-%m-%d')
    FROM visits JOIN page_basis USING (visit_id) WHERE site = ? AND question = 'certificates' AND counted"""

_NEAR = """
    SELECT site FROM (SELECT DISTINCT site FROM visits WHERE site IS NOT NULL)
    WHERE jaro_winkler_similarity(site, $1) > 0.85 OR suffix(site, '.' || $1) OR suffix($1, '.' || site)
    ORDER BY jaro_winkler_similarity(site, $1) DESC, site LIMIT 3"""


def site_plan(
    study: Study,
    site: str,
    max_additions: int | None = None,
    *,
    excluded: Exclusions = _NONE,
    client_mix: ClientMix | None = None,
    zero_savings: bool = False,
) -> Plan:
    """The plan of ``site`` by the study's models; the rest as for :func:`originset.models.plans.origin_plan.plan`.

    Raises:
        StudyError: there is no study, or no database yet.
        UsageError: the study has no such site, or saw no server of it.
    """
    try:
        site.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the site's name has bytes that are not UTF-8") from error
    with open_database(study) as connection:
        visits, vantages, first, last = connection.execute(_BASIS, [site]).fetchall()[0]
        tables = {name: _rows(connection, statement, site) for name, statement in _TABLES.items()}
        if tables["origin_sets"].is_empty():
            raise _nothing_to_plan(connection, study, site, visits)
    basis = Basis(study=study.root.resolve().name, visits=visits, vantages=vantages, first_visit=first, last_visit=last)
    own = {server for server in tables["origin_sets"]["server"] if server in excluded}
    if own:
        raise UsageError(f"{min(own)} answers for the site's document, so it cannot be excluded")
    candidates = {*tables["origin_sets"]["host"], *tables["certificate_additions"]["name"]} - {None}
    hosts = frozenset(host for host in candidates if host in excluded) | excluded.hosts
    return plan(site, basis, tables, max_additions, excluded=hosts, client_mix=client_mix, zero_savings=zero_savings)


def _rows(connection: duckdb.DuckDBPyConnection, statement: str, site: str) -> pl.DataFrame:
    return pl.DataFrame(connection.sql(statement, params=[site]).to_arrow_table())


def _nothing_to_plan(connection: duckdb.DuckDBPyConnection, study: Study, site: str, visits: int) -> UsageError:
    if visits:
        return UsageError(
            f"no visit of {site} shows an https server and its address, so there is nothing to plan with",
            "crawl it, or import HARs that carry serverIPAddress",
        )
    if connection.execute("SELECT 1 FROM visits WHERE site = ? LIMIT 1", [site]).fetchall():
        return UsageError(f"every visit of {site} failed", "crawl it again: originset crawl --help")
    near = [row[0] for row in connection.execute(_NEAR, [site]).fetchall()]
    advice = f"near it are: {', '.join(near)}" if near else 'list its sites with: originset query --sql "FROM visits"'
    return UsageError(f"study {study.root} has no site {site}", advice)
