"""Files of the user's that ``query --attach`` makes tables of, beside those of the study."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import duckdb
import pyarrow as pa

from originset.data.errors import InputError, UsageError
from originset.data.studies.database_file import SHUT_IN
from originset.data.studies.shards import identifier

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_SHOWN = 300
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main' ORDER BY table_name"


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

    They are read into memory by another connection, so that this one reaches no file.

    Raises:
        InputError: a file cannot be read as one of these.
        UsageError: the study has a table of that name, or two files have the same.
    """
    known = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    known |= {name for (name,) in connection.execute("SELECT view_name FROM duckdb_views()").fetchall()}
    for wanted, path in files:
        for name, rows in _read(wanted, path):
            if name in known:
                raise UsageError(f"--attach {path}: there is a table {name} already", "write --attach NAME=FILE")
            known.add(name)
            connection.register(name, rows)


def _read(name: str, path: Path) -> Iterator[tuple[str, pa.Table]]:
    if not path.is_file():
        raise InputError(str(path), "unreadable", "there is no such file")
    try:
        if path.suffix in {".duckdb", ".db"}:
            with duckdb.connect(str(path), read_only=True, config=SHUT_IN) as other:
                for (table,) in other.execute(_TABLES).fetchall():
                    yield f"{name}_{table}", other.table(identifier(table)).to_arrow_table()
        else:
            with duckdb.connect(config=SHUT_IN) as other:
                read = other.read_parquet if path.suffix == ".parquet" else other.read_csv
                yield name, read(str(path)).to_arrow_table()
    except duckdb.Error as error:
        raise InputError(
            str(path), "unreadable", f"it cannot be read ({' '.join(str(error).split())[:300]})"
        ) from error
