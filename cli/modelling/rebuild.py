"""What ``analyze`` and ``study model`` share: the model tables computed again, and study.duckdb built with them."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
from rich.progress import Progress

from originset.cli.modelling.model_batches import side_by_side
from originset.cli.modelling.model_progress import CountedBatches, with_progress
from originset.data.files.nofollow import private_folder
from originset.data.schema.study_tables import MODEL_SENSITIVITY, TABLES
from originset.data.studies.database import build_database
from originset.data.studies.shards import require_unchanged
from originset.data.studies.study import Study
from originset.data.studies.study_sweep import MODELS_BUILDING
from originset.models.parameters import Parameters
from originset.models.runner.batches import inputs_of
from originset.models.runner.definitions import modelled_tables
from originset.models.runner.inputs import Select
from originset.models.runner.runner import Run, RunBatches, run_models
from originset.models.sensitivity import variants

# The columns of model_sensitivity on the parameter; the others are those of results_summary.
_CHOICE = ("parameter", "value", "chosen")

#: The name in ``model_sensitivity`` of the choice of an IP-to-AS table.
SECOND_TABLE = "ip_to_as"


def rebuild(
    study: Study,
    parameters: Parameters,
    run_batches: CountedBatches | None = None,
    *,
    sensitivity: bool = False,
    second: tuple[str, pl.DataFrame] | None = None,
    display: Progress | None = None,
) -> dict[str, int]:
    """Fill the model tables with ``parameters`` and replace the database; call under :meth:`Study.changing`.

    With ``sensitivity`` the models run once more for every choice that could have been made otherwise, and
    ``model_sensitivity`` holds what that changes, also for a ``second`` IP-to-AS table (its name, and rows of
    ``addresses`` by it); without it that table is empty. The parameters end up in the manifest too, under ``models``;
    what it says under ``views`` decides how the database is built. ``run_batches``: None for one after the other.
    ``display``: shows how many batches are done. Returns the number of rows of each model table.

    Raises:
        StudyError: the database cannot be written, or a shard is damaged.
    """
    for name in TABLES:
        require_unchanged(study, name)
    with _workspace(study) as folder:
        run = Run(inputs_of(study), parameters, folder / "models", modelled_tables())
        runs = [run, *([_summary_run(run, "")] * _summaries(run, second) if sensitivity else [])]
        counting = with_progress(run_batches or side_by_side(1), runs, display or Progress(disable=True))
        run_models(run, counting)
        modelled = {name: run.files(name) for name in modelled_tables()}
        rows = _sensitivity(run, second, counting) if sensitivity else MODEL_SENSITIVITY.polars_schema.to_frame()
        modelled["model_sensitivity"] = [folder / "model_sensitivity.parquet"]
        rows.write_parquet(*modelled["model_sensitivity"])
        counts = build_database(study, modelled, views=study.manifest().get("views", False))
    study.update_manifest(models=parameters.as_dict())
    return counts


@contextmanager
def _workspace(study: Study) -> Iterator[Path]:
    """A temporary folder for what the models write; leftovers of killed processes are removed first.

    It is below the study's: on the disk that has room for the study, and visible to a cluster that shares it. Its name
    is of this run alone: a worker may still run a batch of an earlier one that was interrupted.
    """
    with private_folder(study.root, MODELS_BUILDING):
        folder = (study.root / MODELS_BUILDING / secrets.token_hex(8)).absolute()
        folder.mkdir()
        yield folder


def _sensitivity(run: Run, second: tuple[str, pl.DataFrame] | None, run_batches: RunBatches) -> pl.DataFrame:
    """Rows of ``model_sensitivity``."""
    own = _summary(run, "own", run_batches)
    rows = []
    for variant in variants(run.parameters):
        name = f"{variant.parameter}-{variant.value}"
        changed = replace(run, parameters=variant.parameters)
        results = own if variant.chosen else _summary(changed, name, run_batches)
        rows.append(_sensitivity_rows(results, variant.parameter, variant.value, chosen=variant.chosen))
    if second is not None:
        name, addresses = second
        path = run.folder.parent / "addresses.parquet"
        addresses.write_parquet(path)
        study = {**run.inputs.study, "addresses": Select.all_of(path.relative_to(run.inputs.folder))}
        other = replace(run, inputs=replace(run.inputs, study=study))
        rows += [
            _sensitivity_rows(own, SECOND_TABLE, "the study's own", chosen=True),
            _sensitivity_rows(_summary(other, SECOND_TABLE, run_batches), SECOND_TABLE, name, chosen=False),
        ]
    return pl.concat(rows)


def _sensitivity_rows(results: pl.DataFrame, parameter: str, value: str, *, chosen: bool) -> pl.DataFrame:
    choice = {"parameter": pl.lit(parameter), "value": pl.lit(value), "chosen": pl.lit(chosen)}
    return results.with_columns(**choice).select(MODEL_SENSITIVITY.polars_schema.names())


def _summaries(run: Run, second: tuple[str, pl.DataFrame] | None) -> int:
    """How often the models run for the rows of ``model_sensitivity``."""
    return 1 + sum(not variant.chosen for variant in variants(run.parameters)) + (second is not None)


def _summary_run(run: Run, name: str) -> Run:
    return replace(run, folder=run.folder.parent / name, wanted=("results_summary",), browsers=False)


def _summary(run: Run, name: str, run_batches: RunBatches) -> pl.DataFrame:
    """Rows of results_summary."""
    summary_run = _summary_run(run, name)
    run_models(summary_run, run_batches)
    rows = pl.read_parquet(summary_run.files("results_summary")).cast(
        {column: kind for column, kind in MODEL_SENSITIVITY.polars_schema.items() if column not in _CHOICE}
    )
    shutil.rmtree(summary_run.folder)
    return rows
