"""Files of the user's that ``query --attach`` makes tables of, beside those of the study."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import duckdb

from originset.data.errors import InputError, UsageError
from originset.data.files.nofollow import NotRegularError
from originset.data.studies.database_file import SHUT_IN, computed_column, connect_confined, unusable_file
from originset.data.studies.shards import identifier

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_BATCH_ROWS = 100_000
_MOST_BYTES = 2 << 30  # of all rows of a file, in memory
# A file can have functions of its own by the names of DuckDB's: only those of the system's schema are asked.
_TABLES = """
    SELECT table_name FROM system.main.duckdb_tables()
    WHERE database_name = 'attached' AND schema_name = 'main' AND NOT internal ORDER BY table_name
"""


class AttachedFile(click.ParamType[tuple[str, Path]]):
    """``[NAME=]FILE``: the table's name and the file."""

    name = "[NAME=]FILE"

    def convert(
        self,
        value: str | tuple[str, Path],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, Path]:
        if isinstance(value, tuple):
            return value
        name, equals, file = value.partition("=")
        path = Path(file if equals else value)
        name = name if equals else path.name.partition(".")[0]
        if _NAME.fullmatch(name) is None:
            self.fail(f"{name!r} is no name of a table; write --attach NAME=FILE", param, ctx)
        return name, path


def attach(connection: duckdb.DuckDBPyConnection, files: tuple[tuple[str, Path], ...]) -> None:
    """Make a table of each file: CSV, Parquet, or of each table of a DuckDB file, as ``NAME_TABLE``.

    They are read into memory by another connection, so that this one reaches no file. What is in a DuckDB file runs
    nothing and reaches no other file.

    Raises:
        InputError: a file cannot be read as one of these.
        UsageError: the study has a table of that name, or two files have the same.
    """
    known = {name for (name,) in connection.execute("SELECT table_name FROM system.main.duckdb_tables()").fetchall()}
    known |= {name for (name,) in connection.execute("SELECT view_name FROM system.main.duckdb_views()").fetchall()}
    for wanted, path in files:
        for name, rows in _read(wanted, path):
            if name in known:
                raise UsageError(f"--attach {path}: there is a table {name} already", "write --attach NAME=FILE")
            known.add(name)
            connection.register(name, rows)


def _read(name: str, path: Path) -> Iterator[tuple[str, pa.Table]]:
    try:
        if path.suffix in {".duckdb", ".db"}:
            yield from _read_database(name, path)
        elif not path.is_file():
            raise InputError(str(path), "unreadable", "there is no such file")
        else:
            with duckdb.connect(config=SHUT_IN) as other:
                read = other.read_parquet if path.suffix == ".parquet" else other.read_csv
                yield name, _bounded_rows(read(str(path)), path, 0)
    except duckdb.Error as error:
        raise InputError(
            str(path), "unreadable", f"it cannot be read ({' '.join(str(error).split())[:300]})"
        ) from error


def _read_database(name: str, path: Path) -> Iterator[tuple[str, pa.Table]]:
    try:
        problem = unusable_file(path)
    except NotRegularError as error:
        problem = error.strerror
    if problem is not None:
        raise InputError(str(path), "unreadable", problem)
    size = 0
    with connect_confined(path, "attached") as other:
        if (computed := computed_column(other, "attached")) is not None:
            raise InputError(str(path), "unreadable", f"its table {computed} has a computed column")
        for (table,) in other.execute(_TABLES).fetchall():
            rows = _bounded_rows(other.sql(f"FROM attached.main.{identifier(table)}"), path, size)
            size += rows.nbytes
            yield f"{name}_{table}", rows


def _bounded_rows(relation: duckdb.DuckDBPyRelation, path: Path, size: int) -> pa.Table:
    """All rows; a small packed file can hold more than memory does."""
    reader = relation.to_arrow_reader(_BATCH_ROWS)
    batches = []
    for batch in reader:
        size += batch.nbytes
        if size > _MOST_BYTES:
            problem = f"its rows take more than {_MOST_BYTES >> 30} GiB of memory: attach only those that you need"
            raise InputError(str(path), "too-large", problem)
        batches.append(batch)
    import pyarrow as pa  # noqa: PLC0415 - a tenth of a second, which queries without a file do not need

    return pa.Table.from_batches(batches, reader.schema)
