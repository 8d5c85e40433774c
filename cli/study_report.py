"""A study's report, with its pages' requests as measured and as the timeline model has them."""

from __future__ import annotations

from originset.data.database import open_database
from originset.data.study import Study
from originset.queries.report.contents import Contents, contents


def report_contents(study: Study, title: str, pages: int) -> Contents:
    """What the report says.

    Raises:
        StudyError: there is no study, or no database yet.
    """
    with open_database(study) as connection:
        return contents(connection, title, pages)
