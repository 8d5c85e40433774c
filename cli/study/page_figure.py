"""Figure 2 of one page of a study, found by what a user calls it."""

from __future__ import annotations

from pathlib import Path

import duckdb

from originset.cli.study.page_times import times_of
from originset.data.errors import UsageError
from originset.data.studies.study import Study
from originset.queries.catalogue import run
from originset.queries.figures.waterfall import Page, draw_waterfall

_FIND = """
    SELECT v.visit_id, coalesce(v.final_url, v.url, v.site) AS title, t.measured_ms, t.origin_ms
    FROM visits AS v
    LEFT JOIN page_load_times AS t USING (visit_id)
    WHERE $page IN (v.visit_id, v.site, v.url, v.final_url)
      AND (getvariable('selected_visits') IS NULL OR v.visit_id IN (SELECT visit_id FROM selected_visits))
    ORDER BY t.left_out_reason IS NOT NULL, v.visit_id
    LIMIT 1
"""


def draw_page(study: Study, connection: duckdb.DuckDBPyConnection, page: str, out: Path) -> list[Path]:
    """Write figure 2 of a page into ``out`` and return the files; ``page`` is a visit_id, a site or a URL.

    Of several visits the first that the timeline model could model; if some were selected, of these.

    Raises:
        UsageError: there is no such page, or it has no requests.
        OSError: a file cannot be written.
    """
    matching_visits = run(connection, _FIND, {"page": page})
    if matching_visits.is_empty():
        raise UsageError(f"no page of this study is {page!r}", "name a visit_id, site or url of the table visits")
    visit, title, load, load_after = matching_visits.row(0)
    rows = times_of(study, [visit])
    if rows.is_empty():
        raise UsageError(f"the page {page!r} asked for nothing over the network")
    return draw_waterfall(rows, Page(title, load, load_after), out)
