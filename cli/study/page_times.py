"""The requests of a study's pages as the timeline model has them."""

from __future__ import annotations

import polars as pl

from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.models.runner.runner import batch_rows
from originset.models.timeline.load_times import REQUEST_TIMES_READS, request_times


def times_of(study: Study, visits: list[str]) -> pl.DataFrame:
    """The requests of some visits as :func:`originset.models.timeline.load_times.request_times` gives them."""
    tables = {
        name: scan(study, name).filter(pl.col("visit_id").is_in(visits))
        if "visit_id" in table.polars_schema
        else scan(study, name)
        for name, table in TABLES.items()
        if table.stage in (Stage.ROWS, Stage.RESOLVED)
    }
    parameters = Parameters.from_manifest(study.manifest())
    return request_times(batch_rows(tables, REQUEST_TIMES_READS, parameters), parameters)
