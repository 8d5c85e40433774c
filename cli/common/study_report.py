"""A study's report, with what its pages' owners can change, and their requests before and after that."""

from __future__ import annotations

import dataclasses

from originset.cli.common.page_changes import with_changes
from originset.cli.common.selection import apply_selection
from originset.data.studies.database import open_database
from originset.data.studies.shards import require_unchanged
from originset.data.studies.study import Study
from originset.queries.report.printable_text import printable_excerpt
from originset.queries.report.report_contents import Contents, contents
from originset.queries.visit_selection import Selection

# The most requests that are drawn, over all pages: some 80 bytes each. Further pages have only their connections.
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
    drawn: list[str] = []
    room = _MOST_REQUESTS
    for page in made.pages:
        room -= page.facts["requests"] or 0
        if room >= 0:
            drawn.append(page.facts["visit_id"])
    if not drawn:
        return made
    changed = {
        page.facts["visit_id"]: page
        for page in with_changes(study, [page for page in made.pages if page.facts["visit_id"] in drawn])
    }
    return dataclasses.replace(made, pages=[changed.get(page.facts["visit_id"], page) for page in made.pages])
