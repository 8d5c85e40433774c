"""study.duckdb: built beside its place in one go and renamed over it, opened read-only by everybody else.

DuckDB lets one process write and nobody read meanwhile, so nobody ever opens the file under its own name for writing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from originset.data.errors import StudyError
from originset.data.schema import TABLES, Table
from originset.data.shards import shard_paths
from originset.data.study import Study


def ddl(table: Table) -> list[str]:
    """The statements that make a table and say what it and its columns mean."""
    kind = "TABLE" if table.view is None else "VIEW"
    lines = [f"  {_identifier(column.name)} {column.type}" for column in table.columns]
    statements = [
        f"CREATE TABLE {_identifier(table.name)} (\n" + ",\n".join(lines) + "\n)"
        if table.view is None
        else f"CREATE VIEW {_identifier(table.name)} AS {table.view}",
        f"COMMENT ON {kind} {_identifier(table.name)} IS {literal(table.description)}",
    ]
    statements += [
        f"COMMENT ON COLUMN {_identifier(table.name)}.{_identifier(column.name)} IS {literal(column.comment)}"
        for column in table.columns
    ]
    return statements


def build(study: Study, modelled: Mapping[str, pl.DataFrame]) -> None:
    """Build study.duckdb from the study's shards, the manifest's runs and the modelled tables.

    ``modelled`` maps each table of stage MODELLED to its rows. Readers of the old file keep it until they close it.

    Raises:
        StudyError: the folder cannot be written.
    """
    beside = study.root / ".study.duckdb.building"
    _remove(beside)
    try:
        with duckdb.connect(str(beside)) as connection:
            for table in TABLES.values():
                for statement in ddl(table):
                    connection.execute(statement)
                if table.name == "runs":
                    _insert(connection, table, _runs(study))
                elif table.name in modelled:
                    _insert(connection, table, modelled[table.name])
                elif paths := shard_paths(study, table.name):
                    _load(connection, table, paths)
            connection.execute("CHECKPOINT")
        # A stale write-ahead log beside a new file makes it unopenable.
        study.database_path.with_name("study.duckdb.wal").unlink(missing_ok=True)
        beside.replace(study.database_path)
    except duckdb.IOException as error:
        raise StudyError(study.root, f"study.duckdb cannot be built ({error})") from error
    finally:
        _remove(beside)


def _load(connection: duckdb.DuckDBPyConnection, table: Table, paths: list[Path]) -> None:
    names = ", ".join(_identifier(column.name) for column in table.columns)
    # One row a key: a certificate seen by two shards is still one certificate.
    unique = ""
    if table.key and table.name in {"certificates", "certificate_names", "rejects"}:
        keys = ", ".join(_identifier(name) for name in table.key)
        unique = f" QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY filename, file_row_number) = 1"
    connection.execute(
        f"INSERT INTO {_identifier(table.name)} SELECT {names} "  # noqa: S608 - names come from the schema
        f"FROM read_parquet(?, filename = true, file_row_number = true){unique}",
        [[str(path) for path in paths]],
    )


def _insert(connection: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame) -> None:
    if rows.is_empty():
        return
    rows = rows.match_to_schema(table.polars_schema).select(table.polars_schema.names())
    connection.register("_rows", rows)
    connection.execute(f"INSERT INTO {_identifier(table.name)} SELECT * FROM _rows")  # noqa: S608 - from the schema
    connection.unregister("_rows")


def _runs(study: Study) -> pl.DataFrame:
    rows = [
        {
            **run,
            "parameters": json.dumps(run["parameters"], ensure_ascii=False),
            "counts": json.dumps(run["counts"], ensure_ascii=False),
        }
        for run in study.manifest()["runs"]
    ]
    times = [
        pl.col(name).str.to_datetime("%+", time_unit="us", time_zone="UTC").dt.replace_time_zone(None)
        for name in ("started_at", "ended_at")
    ]
    schema = pl.Schema({**TABLES["runs"].polars_schema, "started_at": pl.String(), "ended_at": pl.String()})
    return pl.DataFrame(rows, schema=schema).with_columns(times)


@contextmanager
def open_database(study: Study, memory: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """The study's database, read-only and with no way to the network or to files but its own.

    A read-only connection alone would still let ``COPY ... TO`` write files. ``memory``: what DuckDB may take of it,
    such as ``500MB``; what needs more goes through ``study.duckdb.tmp``.

    Raises:
        StudyError: there is no database yet.
    """
    if not study.database_path.exists():
        study.manifest()  # says so if there is no study at all
        raise StudyError(study.root, "it has no database yet", "run: originset analyze")
    config: dict[str, Any] = {"enable_external_access": "false", "lock_configuration": "true"}
    if memory is not None:
        config["memory_limit"] = memory
    try:
        connection = duckdb.connect(str(study.database_path), read_only=True, config=config)
    except duckdb.Error as error:
        raise StudyError(study.root, f"study.duckdb cannot be opened ({error})", "run: originset analyze") from error
    with connection:
        yield connection


def literal(text: str) -> str:
    """A SQL string literal: for statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _remove(database: Path) -> None:
    database.unlink(missing_ok=True)
    database.with_name(database.name + ".wal").unlink(missing_ok=True)
