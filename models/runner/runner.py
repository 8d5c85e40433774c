"""Models run over a study, a batch of pages at a time.

A stage is by page or over the study (:func:`originset.models.runner.definitions.stages`). One by page runs once for
each batch, in any order and side by side, and writes what later stages read as Parquet, a file a table and batch; one
over the study reads the files of all batches. Nothing else is handed on, so a batch can be run again, and anywhere::

    FOLDER/<table>/<batch>.parquet      written by page
    FOLDER/<table>/all.parquet          written over the study
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import duckdb
import polars as pl

from originset.data.schema.columns import Table
from originset.data.schema.study_tables import TABLES
from originset.data.studies.database_file import SHUT_IN
from originset.data.studies.shards import literal
from originset.models.model_types import FunctionModel, Model, Scope, SqlModel, written_by
from originset.models.parameters import Parameters
from originset.models.runner.definitions import PAGE_INPUTS, STUDY_INPUTS, macros, models, needed_for, reads, stages
from originset.models.runner.inputs import FOLDER_VARIABLE, Inputs, Selects

_ALL = "all"


@dataclass(frozen=True, slots=True)
class Limits:
    """The threads of one batch or of a stage over the study, and the memory beyond which DuckDB spills to disk."""

    threads: int = 1
    memory: str = "512MB"

    @classmethod
    def over_study(cls) -> Limits:
        """The limits of a stage over the study, which runs alone: all cores, each with more memory than a batch."""
        cores = os.cpu_count() or 1
        return cls(cores, f"{768 * max(cores, 2)}MB")


@dataclass(frozen=True, slots=True)
class Run:
    """Models to run: those that ``wanted`` tables depend on, with ``parameters``, over ``inputs``, into ``folder``.

    Without ``browsers`` the browsers' rules are left out, and the tables and columns that depend on them are empty.
    """

    inputs: Inputs
    parameters: Parameters
    folder: Path
    wanted: tuple[str, ...]
    browsers: bool = True
    limits: Limits = field(default_factory=Limits)
    study_limits: Limits = field(default_factory=Limits.over_study)

    @property
    def models(self) -> list[Model]:
        """The models to run, in their order."""
        return needed_for(self.wanted, browsers=self.browsers)

    def read_by(self, models: Iterable[Model]) -> frozenset[str]:
        """The tables that some models read."""
        return frozenset().union(*(reads(model, browsers=self.browsers) for model in models))

    def models_of(self, stage: int) -> list[Model]:
        """The models of one stage, in their order."""
        return [model for model in self.models if stages()[model.name] == stage]

    @property
    def stages(self) -> list[int]:
        """The stages that have any models."""
        return sorted({stages()[model.name] for model in self.models})

    def files(self, table: str) -> list[Path]:
        """The files with the rows of a table that a stage wrote, for all batches."""
        names = [_ALL] if _writer(table).scope is Scope.STUDY else map(_batch_name, self.inputs.batches)
        return [_result(self, table, name) for name in names]


#: Runs :func:`run_batch` with each of these arguments, in any order, side by side or not.
RunBatches: TypeAlias = Callable[[Sequence[tuple[Run, int, int]]], None]


def run_models(run: Run, run_batches: RunBatches) -> None:
    """Run all stages; then :meth:`Run.files` are the rows of each wanted table.

    Raises:
        duckdb.Error: the disk is full or failed.
    """
    for stage in run.stages:
        if stage % 2:
            run_batches([(_run_of_batch(run, stage, batch), stage, batch) for batch in run.inputs.batches])
        else:
            _run_stage(run, stage, run.inputs.study, _ALL)


def run_sequentially(calls: Sequence[tuple[Run, int, int]]) -> None:
    """Run batches one after another in this process: the simplest :data:`RunBatches`."""
    for call in calls:
        run_batch(*call)


def run_batch(run: Run, stage: int, batch: int) -> None:
    """Run the models of a stage by page on one batch; a repeated run writes the same files.

    Raises:
        duckdb.Error: the disk is full or failed.
    """
    _run_stage(run, stage, _selects(run, batch), _batch_name(batch))


def shards_read(run: Run, stage: int, batch: int) -> list[Path]:
    """The files below ``run.inputs.folder`` that :func:`run_batch` reads."""
    selects = _selects(run, batch)
    return sorted({path for table in _tables_read(run, stage) & selects.keys() for path in selects[table].files})


def results_read(run: Run, stage: int, batch: int) -> list[Path]:
    """The files below ``run.folder`` that :func:`run_batch` reads, as whole paths; earlier stages wrote them."""
    tables = sorted(_tables_read(run, stage) - _selects(run, batch).keys())
    return [path for table in tables for path in _written_before(run, table, stage, _batch_name(batch))]


def results_written(run: Run, stage: int, batch: int) -> list[Path]:
    """The files below ``run.folder`` that :func:`run_batch` writes, as whole paths."""
    return [_result(run, table, _batch_name(batch)) for table in sorted(_tables_to_write(run, stage))]


def batch_rows(
    tables: Mapping[str, pl.LazyFrame | pl.DataFrame], names: Iterable[str], parameters: Parameters | None = None
) -> dict[str, pl.DataFrame]:
    """The rows of models by page over ``tables`` as one batch.

    Only for a few visits, because all tables are kept in memory.
    """
    names = tuple(names)
    run = Run(Inputs(Path(), {}, {}), parameters or Parameters(), Path(), names)
    with _connected(run, run.limits, spill=False) as connection:
        for name in (*PAGE_INPUTS, *STUDY_INPUTS):
            connection.register(name, tables[name].lazy().collect().to_arrow())
        for model in needed_for(names):
            _make(connection, model, run)
        return {name: connection.table(name).pl() for name in names}


def _run_of_batch(run: Run, stage: int, batch: int) -> Run:
    """The run with only the inputs of one batch of a stage: a study can have too many files to send them all."""
    own = {table: select for table, select in _selects(run, batch).items() if table in _tables_read(run, stage)}
    return replace(run, inputs=Inputs(run.inputs.folder, {}, {batch: own}))


def _selects(run: Run, batch: int) -> Selects:
    return {**run.inputs.study, **run.inputs.batches[batch]}


def _run_stage(run: Run, stage: int, selects: Selects, into: str) -> None:
    limits = run.limits if stage % 2 else run.study_limits
    with _connected(run, limits) as connection:
        for table in sorted(_tables_read(run, stage)):
            if table in selects:
                rows = selects[table].sql
            else:
                files = ", ".join(literal(str(path)) for path in _written_before(run, table, stage, into))
                rows = f"FROM read_parquet([{files}], hive_partitioning = false)"
            connection.execute(f'CREATE TEMP VIEW "{table}" AS {rows}')
        for model in run.models_of(stage):
            _make(connection, model, run)
        for table in sorted(_tables_to_write(run, stage)):
            _write(connection, table, _result(run, table, into))


def _result(run: Run, table: str, name: str) -> Path:
    return run.folder / table / f"{name}.parquet"


def _written_before(run: Run, table: str, stage: int, into: str) -> list[Path]:
    """The files of a table that an earlier stage wrote; a stage by page reads only those of its batch."""
    of_batch = stage % 2 == 1 and _writer(table).scope is Scope.PAGE
    return [_result(run, table, into)] if of_batch else run.files(table)


def _tables_made(run: Run, stage: int) -> set[str]:
    return {table for model in run.models_of(stage) for table in written_by(model)}


def _tables_read(run: Run, stage: int) -> frozenset[str]:
    """The tables that a stage reads: inputs, and what earlier stages wrote."""
    return run.read_by(run.models_of(stage)) - _tables_made(run, stage)


def _tables_to_write(run: Run, stage: int) -> frozenset[str]:
    """The tables of a stage that are wanted, or read by models of other stages."""
    others = [model for model in run.models if stages()[model.name] != stage]
    return run.read_by(others).union(run.wanted) & _tables_made(run, stage)


def _make(connection: duckdb.DuckDBPyConnection, model: Model, run: Run) -> None:
    """Run one model: its rows are tables, or views, of the connection."""
    if isinstance(model, SqlModel):
        kind = "VIEW" if model.is_view else "TABLE"
        connection.execute(f'CREATE TEMP {kind} "{model.name}" AS {model.sql}')
        return
    rows = _results(connection, model, run)
    for name, schema in model.writes.items():
        connection.register("_rows", rows[name].match_to_schema(schema).to_arrow())
        connection.execute(f'CREATE TEMP TABLE "{name}" AS FROM _rows')
        connection.unregister("_rows")


def _results(connection: duckdb.DuckDBPyConnection, model: FunctionModel, run: Run) -> Mapping[str, pl.DataFrame]:
    if model.of_browsers and not run.browsers:
        return {name: schema.to_frame() for name, schema in model.writes.items()}
    return model.function({name: connection.table(name).pl() for name in model.reads}, run.parameters)


def _write(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Write a table to a temporary file and rename it, so that a file is never half written."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    select = _typed_rows(TABLES[table]) if table in TABLES else f'FROM "{table}"'
    connection.execute(
        f"COPY ({select}) TO {literal(str(temporary))} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)"
    )
    temporary.replace(path)


def _typed_rows(table: Table) -> str:
    """Rows of a table by its key, with the types of the schema."""
    columns = ", ".join(f'CAST("{column.name}" AS {column.type}) AS "{column.name}"' for column in table.columns)
    order = ", ".join(f'"{name}"' for name in table.key)
    return f'SELECT {columns} FROM "{table.name}" ORDER BY {order}'  # noqa: S608 - names from the schema


@contextmanager
def _connected(run: Run, limits: Limits, *, spill: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with the macros, and the parameters as variables."""
    # No model depends on the order of rows, and keeping it takes memory.
    config = {
        **SHUT_IN,
        "threads": limits.threads,
        "memory_limit": limits.memory,
        "preserve_insertion_order": False,
    }
    if spill:
        # Not its parents, which are removed when the run ends: a worker may live longer.
        run.folder.mkdir(exist_ok=True)
        config["temp_directory"] = str(run.folder / f".spill-{os.getpid()}")
    with duckdb.connect(config=config) as connection:
        # In a worker process DuckDB would draw a progress bar on the terminal.
        connection.execute("SET enable_progress_bar = false")
        connection.execute(macros())
        connection.execute(f"SET VARIABLE {FOLDER_VARIABLE} = {literal(str(run.inputs.folder.absolute()))}")
        for name in ("colocation", "wildcards", "coverage"):
            connection.execute(f"SET VARIABLE {name} = {literal(getattr(run.parameters, name))}")
        asns = ", ".join(map(str, run.parameters.provider_asns))
        connection.execute(f"SET VARIABLE provider_asns = [{asns}]::BIGINT[]")
        connection.execute(f"SET VARIABLE browsers = {run.browsers}")
        yield connection


def _writer(table: str) -> Model:
    return next(model for model in models().values() if table in written_by(model))


def _batch_name(batch: int) -> str:
    return f"{batch:06d}"
