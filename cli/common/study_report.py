"""A study's report, with its pages' requests as measured and as the timeline model has them."""

from __future__ import annotations

import dataclasses

import polars as pl

from originset.cli.common.page_timeline import times_of
from originset.cli.common.selection import apply_selection
from originset.data.studies.database import open_database
from originset.data.studies.shards import require_unchanged, scan
from originset.data.studies.study import Study
from originset.queries.report.report_contents import Contents, contents
from originset.queries.report.report_page import request_rows
from originset.queries.report.shown_text import printable_excerpt
from originset.queries.visit_selection import Selection

# The most requests that are drawn, over all pages: some 60 bytes each. Further pages have only their connections.
_MOST_REQUESTS = 30_000


def report_contents(study: Study, title: str, pages: int, selection: Selection | None = None) -> Contents:
    """The contents of the report; ``selection``: of these visits, by default landing pages.

    Raises:
        StudyError: there is no study, or no database yet; or a shard of requests is damaged.
        UsageError: no visit is selected.
    """
    require_unchanged(study, "requests")  # read last, for the waterfalls
    with open_database(study) as connection:
        selected = apply_selection(connection, selection or Selection())
        report = contents(connection, title, pages)
    if selected is not None:
        report = dataclasses.replace(report, rests_on=[printable_excerpt(selected), *report.rests_on])
    return _with_requests(study, report)


def _with_requests(study: Study, made: Contents) -> Contents:
    with_waterfall: list[str] = []
    room = _MOST_REQUESTS
    for page in made.pages:
        room -= page.facts["requests"] or 0
        if room >= 0:
            with_waterfall.append(page.facts["visit_id"])
    if not with_waterfall:
        return made
    times = times_of(study, with_waterfall)
    connections = scan(study, "requests").filter(pl.col("visit_id").is_in(with_waterfall))
    keys = ["visit_id", "request_id"]
    rows = times.join(connections.select(*keys, "connection_id").collect(), on=keys, how="left", maintain_order="left")
    of_visit = {str(name[0]): part for name, part in rows.partition_by("visit_id", as_dict=True).items()}
    pages = [
        dataclasses.replace(page, requests=request_rows(of_visit[page.facts["visit_id"]]))
        if page.facts["visit_id"] in of_visit
        else page
        for page in made.pages
    ]
    return dataclasses.replace(made, pages=pages)
