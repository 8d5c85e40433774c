"""All model tables of rows in memory: for few pages, and for tests."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from originset.data.schema import TABLES
from originset.models.definitions import PAGE_INPUTS, STUDY_INPUTS, modelled_tables
from originset.models.inputs import Inputs, Select
from originset.models.parameters import Parameters
from originset.models.runner import Run, one_after_another, run_models


def model_tables(
    tables: Mapping[str, pl.LazyFrame], parameters: Parameters, batches: int = 1, *, browsers: bool = True
) -> dict[str, pl.DataFrame]:
    """Every table that the models fill, by name, by key, from the tables of the stages before (all of them, by name).

    The same rows give the same tables, whatever their order and the number of ``batches``. Without ``browsers`` the
    tables and columns of the browsers' rules are empty; the others do not depend on them. ``model_sensitivity`` is
    empty (:mod:`originset.models.sensitivity` fills it).
    """
    with tempfile.TemporaryDirectory() as folder:
        inputs = _inputs(tables, Path(folder), batches)
        run = Run(inputs, parameters, Path(folder), modelled_tables(), browsers)
        run_models(run, one_after_another)
        rows = {name: pl.read_parquet(run.files(name)).sort(TABLES[name].key) for name in modelled_tables()}
    return rows | {"model_sensitivity": TABLES["model_sensitivity"].polars_schema.to_frame()}


def _inputs(tables: Mapping[str, pl.LazyFrame], folder: Path, batches: int) -> Inputs:
    study = {}
    for name in (*PAGE_INPUTS, *STUDY_INPUTS):
        path = Path(f"{name}.parquet")
        tables[name].collect().write_parquet(folder / path)
        study[name] = Select.all_of(path)
    return Inputs(
        folder,
        study,
        {
            batch: {
                name: replace(study[name], sql=f"{study[name].sql} WHERE hash(visit_id) % {batches} = {batch}")
                for name in PAGE_INPUTS
            }
            for batch in range(batches)
        },
    )
