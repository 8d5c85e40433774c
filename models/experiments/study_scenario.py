"""The latest visit of a site in a study, as a scenario of the testbed."""

from __future__ import annotations

import polars as pl

from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.models.experiments.site_scenario import SiteScenario, site_scenario

_VISIT = """
    SELECT v.* FROM visits AS v
    JOIN page_basis AS c ON c.visit_id = v.visit_id AND c.question = 'causes'
    JOIN page_basis AS s ON s.visit_id = v.visit_id AND s.question = 'servers'
    WHERE v.site = ? AND c.reason IS DISTINCT FROM 'failed' AND v.page_kind IS DISTINCT FROM 'internal'
    ORDER BY s.counted DESC, v.started_at DESC, v.visit_id LIMIT 1"""

_TABLES = {
    "requests": "SELECT * FROM requests WHERE visit_id = ?",
    "network_requests": "SELECT * FROM network_requests WHERE visit_id = ?",
    "documents": "SELECT * FROM documents WHERE visit_id = ?",
    "connections": "SELECT * FROM connections WHERE visit_id = ?",
    "dns_queries": "SELECT * FROM dns_queries WHERE visit_id = ?",
    "certificate_names": """
        SELECT * FROM certificate_names
        WHERE certificate_id IN (SELECT certificate_id FROM connections WHERE visit_id = ?)""",
    "addresses": "SELECT * FROM addresses",
}


def study_scenario(study: Study, site: str) -> SiteScenario:
    """The scenario of the site's landing page, by its latest visit that did not fail.

    Raises:
        StudyError: there is no study, or no database yet.
        UsageError: the study has no such visit, or the visit shows too little.
    """
    with open_database(study) as connection:

        def rows(statement: str, *values: str) -> pl.DataFrame:
            return pl.DataFrame(connection.sql(statement, params=list(values)).to_arrow_table())

        visit = rows(_VISIT, site)
        if visit.is_empty():
            raise UsageError(
                f"the study has no visit of {site} that did not fail",
                "list its visits: originset query --sql 'FROM visits'",
            )
        visit_id = visit["visit_id"].item()
        tables = {name: rows(statement, *([visit_id] * statement.count("?"))) for name, statement in _TABLES.items()}
    scenario = site_scenario(visit.row(0, named=True), tables)
    if scenario is None:
        raise UsageError(
            f"the visit of {site} shows no document over https at a public address", "crawl it, or import another HAR"
        )
    return scenario
