"""study.duckdb: built in a temporary folder and renamed into place, opened read-only by all others.

DuckDB allows one writer and no readers at the same time, so the file is never opened for writing under its own name.

With views, the largest tables are not copied: they are views over the study's shards, whose paths are kept relative to
the study's folder. So the folder can be moved, :func:`open_database` works from anywhere, and other programs open such
a database with the study's folder as their working directory.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import polars as pl

from originset.data.errors import StudyError
from originset.data.files.atomic_files import disk_fault
from originset.data.files.nofollow import descriptor_path, open_folder, private_folder
from originset.data.schema.sql_macros import macro_statements
from originset.data.schema.study_tables import TABLES, Table
from originset.data.studies.database_file import (
    LARGE,
    SHUT_IN,
    connect_confined,
    foreign_content,
    unusable_file,
    viewed_shards,
)
from originset.data.studies.shards import columns_missing, identifier, literal, select_sql, shard_paths
from originset.data.studies.study import Study
from originset.data.studies.study_sweep import BUILDING

# The oldest DuckDB that can read study.duckdb, because other programs have their own versions.
STORAGE_VERSION = "v1.2.0"

# The name of the database in a connection.
_NAME = "study"

# One row a key: a certificate seen by two shards is still one certificate.
_ONE_A_KEY = {"certificates", "certificate_names", "rejects"}


def ddl(table: Table, select: str | None = None, *, temporary: bool = False) -> list[str]:
    """The statements that create a table, with comments on it and its columns; with ``select`` a view.

    ``temporary``: a view of this connection alone, which hides one of the same name in the database.
    """
    select = select or table.view
    kind = "TABLE" if select is None else "VIEW"
    name = f"temp.{identifier(table.name)}" if temporary else identifier(table.name)
    lines = [f"  {identifier(column.name)} {column.type}" for column in table.columns]
    statements = [
        f"CREATE TABLE {name} (\n" + ",\n".join(lines) + "\n)"
        if select is None
        else f"CREATE {'TEMP ' if temporary else ''}VIEW {identifier(table.name)} AS {select}",
        f"COMMENT ON {kind} {name} IS {literal(table.description)}",
    ]
    statements += [
        f"COMMENT ON COLUMN {name}.{identifier(column.name)} IS {literal(column.comment)}" for column in table.columns
    ]
    return statements


def build_database(study: Study, modelled: Mapping[str, Sequence[Path]], *, views: bool = False) -> dict[str, int]:
    """Build study.duckdb from the study's shards, the manifest's runs and the modelled tables.

    ``modelled`` maps each table of stage MODELLED to the Parquet files of its rows. ``views``: the tables of
    :data:`LARGE` are views over their shards. Readers of the old file keep it until they close it. Returns the number
    of rows of each modelled table.

    Raises:
        StudyError: the folder cannot be written, or a shard is damaged.
    """
    with open_folder(study.root) as root, private_folder(study.root, BUILDING) as folder:
        # Its write-ahead log and temporary files are in the same folder.
        temporary = f"{descriptor_path(folder)}/study.duckdb"
        config = {**SHUT_IN, "storage_compatibility_version": STORAGE_VERSION}
        with duckdb.connect(temporary, config=config) as connection:
            if views:
                _resolve_paths_below(study, connection)
            viewed = {name: _shards_select(study, name, viewed=True) for name in LARGE if views}
            _define(
                connection, (*macro_statements(), *(s for t in TABLES.values() for s in ddl(t, viewed.get(t.name))))
            )
            for table in TABLES.values():
                if viewed.get(table.name) is None:
                    _fill(study, connection, table, modelled.get(table.name, ()))
            connection.execute("CHECKPOINT")
            counts = {name: connection.table(name).shape[0] for name in modelled}
        # A stale write-ahead log beside a new file makes it unopenable.
        study.database_path.with_name("study.duckdb.wal").unlink(missing_ok=True)
        os.rename("study.duckdb", study.database_path.name, src_dir_fd=folder, dst_dir_fd=root)
    return counts


def _define(connection: duckdb.DuckDBPyConnection, statements: Iterable[str]) -> None:
    """Run statements in one transaction: each commit waits for the disk, and a study has 500 of them."""
    connection.begin()
    for statement in statements:
        connection.execute(statement)
    connection.commit()


def _fill(study: Study, connection: duckdb.DuckDBPyConnection, table: Table, files: Sequence[Path]) -> None:
    """Insert a table's rows: of ``files`` if there are any, else of its shards."""
    if table.name == "runs":
        connection.register("_runs", _runs(study))
        select: str | None = "FROM _runs"
    else:
        select = select_sql(table, files, ()) if files else _shards_select(study, table.name, viewed=False)
    if select is not None:
        connection.execute(f"INSERT INTO {identifier(table.name)} {select}")


def _shards_select(study: Study, name: str, *, viewed: bool) -> str | None:
    """A SELECT of a table's rows from its shards, for views by paths relative to the study's; None without shards."""
    shards = shard_paths(study, name)
    paths = [path.relative_to(study.root) if viewed else path.absolute() for path in shards]
    return _select(TABLES[name], paths, columns_missing(study, name, shards)) if shards else None


def _select(table: Table, paths: list[Path], lacking: set[str]) -> str:
    """A SELECT of a table's rows from its shards."""
    select = select_sql(table, paths, lacking)
    if table.name not in _ONE_A_KEY:
        return select
    # Which row is kept depends on their values, not on the shards that they are in.
    keys = ", ".join(identifier(name) for name in table.key)
    by = sorted(table.columns, key=lambda column: column.name != "chain")
    ordered = ", ".join(f"{identifier(column.name)} NULLS LAST" for column in by)
    return f"{select} QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY {ordered}) = 1"


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

    Somebody else may have made it. So DuckDB opens it only if it is a regular file with DuckDB's magic, reaches no
    other file from then on, fetches no extension for it, and runs none of its SQL: a file with another function or view
    is refused before it is the default database, and the schema's macros and views are made again for this connection,
    over shards that are regular files of the study and have their checksums. A read-only connection alone would still
    let ``COPY ... TO`` write files. ``memory``: what DuckDB may take of it, such as ``500MB``; what needs more goes
    through ``study.duckdb.tmp``.

    Raises:
        StudyError: there is no database yet, it or a shard is damaged, or another version made the study or the
            database.
    """
    study.manifest()  # says so if there is no study at all
    analyze = f"run: {shlex.join(['originset', '--study', str(study.root), 'analyze'])}"
    if problem := unusable_file(study.database_path):
        raise StudyError(study.root, problem, analyze)
    root = study.root.resolve()
    shards = [root / path.relative_to(study.root) for name in LARGE for path in shard_paths(study, name)]
    try:
        connection = connect_confined(root / study.database_path.name, _NAME, shards, memory=memory)
    except duckdb.Error as error:
        problem = f"study.duckdb cannot be opened ({' '.join(str(error).split())})"
        raise StudyError(study.root, problem, analyze) from error
    with connection:
        try:
            if problem := _prepare_connection(study, connection):
                raise StudyError(study.root, problem, analyze)
            yield connection
        except duckdb.Error as error:
            if not is_of_the_file(error):
                raise
            damage = f"study.duckdb is damaged ({' '.join(str(error).split())})"
            raise StudyError(study.root, *(disk_fault(error) or (damage, analyze))) from error


def is_of_the_file(error: duckdb.Error) -> bool:
    """Whether the error is one of the database file or the disk, and not of the statement."""
    damaged = type(error) is duckdb.Error and str(error).startswith("Corrupt database file")
    return damaged or isinstance(error, duckdb.IOException | duckdb.FatalException)


def _prepare_connection(study: Study, connection: duckdb.DuckDBPyConnection) -> str | None:
    """Make the study's database the default one, with the schema's macros and views made again.

    Returns what is wrong with the database, or None.

    Raises:
        StudyError: a shard is damaged, a link, or not there any more.
    """
    if problem := foreign_content(connection, _NAME):
        return problem
    views: dict[str, str] = {}
    for name, paths in viewed_shards(study, connection, _NAME).items():
        if not paths:
            return f"study.duckdb holds a view, {name}, which no originset made"
        missing_columns = columns_missing(study, name, paths)
        # Whole paths: DuckDB would look for others in the working directory first.
        whole_paths = [study.root.resolve() / path.relative_to(study.root) for path in paths]
        views[name] = _select(TABLES[name], whole_paths, missing_columns)
    connection.execute(f"USE {_NAME}")
    for name, select in views.items():
        for statement in ddl(TABLES[name], select, temporary=True):
            connection.execute(statement)
    # The schema's views can be created once all tables are as in the schema.
    if problem := _missing_from(connection, [table for table in TABLES.values() if table.view is None]):
        return problem
    views_of_tables = [table for table in TABLES.values() if table.view is not None]
    statements = [statement for table in views_of_tables for statement in ddl(table, temporary=True)]
    for statement in [*macro_statements(temporary=True), *statements]:
        connection.execute(statement)
    return _missing_from(connection, views_of_tables)


def _missing_from(connection: duckdb.DuckDBPyConnection, wanted: Iterable[Table]) -> str | None:
    """A sentence on the first table or column that the database lacks or has with another type; None if none."""
    # What was made for this connection comes later, and hides what the file has under the same name.
    columns = """SELECT table_name, column_name, data_type FROM system.main.duckdb_columns()
        WHERE NOT internal ORDER BY database_name = 'temp'"""
    types_by_column = {(table, column): kind for table, column, kind in connection.execute(columns).fetchall()}
    tables = {table for table, _ in types_by_column}
    for table in wanted:
        if table.name not in tables:
            return f"an earlier originset made study.duckdb, which lacks {table.name}"
        for column in table.columns:
            kind = types_by_column.get((table.name, column.name))
            if kind is None:
                return f"an earlier originset made study.duckdb, which lacks {table.name}.{column.name}"
            if kind != column.type:
                return f"study.duckdb has {table.name}.{column.name} as {kind}, not {column.type}"
    return None


def _resolve_paths_below(study: Study, connection: duckdb.DuckDBPyConnection) -> None:
    """Let the connection resolve the views' relative paths below the study's folder."""
    folder = str(study.root.resolve())
    if "," in folder or '"' in folder:  # the setting is a list, and knows no quoting that helps
        advice = "rename it, or analyze without --views"
        raise StudyError(study.root, "DuckDB finds no views' files below a folder with a comma or quote", advice)
    connection.execute(f"SET file_search_path = {literal(folder)}")
