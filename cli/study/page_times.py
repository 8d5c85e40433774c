"""The requests of a study's pages as the timeline model has them."""

from __future__ import annotations

import polars as pl

from originset.data.studies.shards import scan_visits
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.models.runner.runner import batch_rows
from originset.models.timeline.changed_timelines import TIMELINE_READS, request_times


def times_of(study: Study, visits: list[str]) -> pl.DataFrame:
    """The requests of some visits as :func:`originset.models.timeline.changed_timelines.request_times` gives them."""
    parameters = Parameters.from_manifest(study.manifest())
    return request_times(batch_rows(scan_visits(study, visits), TIMELINE_READS, parameters), parameters)
