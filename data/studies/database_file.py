"""What must hold of a study.duckdb before anything in it is read: somebody else may have made it."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from originset.data.files.nofollow import open_regular, stat_regular
from originset.data.schema.sql_macros import MACROS
from originset.data.schema.study_tables import TABLES
from originset.data.studies.study import Study

# Otherwise DuckDB would fetch extensions over plain HTTP, such as for a SQLite file, and run them.
SHUT_IN: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

# The tables that grow with every page; each of their rows is in one shard only.
LARGE = ("visits", "requests", "connections", "dns_queries")

# After the checksum of a file's first block.
_MAGIC_AT, _MAGIC = 8, b"DUCK"


def unusable_file(study: Study) -> str | None:
    """Why DuckDB must not open a study's database; None if it may."""
    name = study.database_path.name
    if stat_regular(study.root, name) is None:
        return "it has no database yet"
    with open(open_regular(study.root, name), "rb") as file:  # noqa: PTH123 - it is open already
        if file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] != _MAGIC:
            return "study.duckdb cannot be opened (it is no database of DuckDB's)"
    # No database is written in its place, so a write-ahead log beside it is not from this program.
    if stat_regular(study.root, f"{name}.wal") is not None:
        return "beside study.duckdb lies a write-ahead log, study.duckdb.wal"
    return None


def foreign_content(connection: duckdb.DuckDBPyConnection) -> str | None:
    """A sentence on SQL in the database that this program did not write and that queries would run; None if none."""
    ours = "database_name = current_database() AND NOT internal"
    functions = f"SELECT function_name FROM duckdb_functions() WHERE {ours}"  # noqa: S608 - a constant
    for (name,) in connection.execute(functions).fetchall():
        if name not in MACROS:
            return f"study.duckdb holds a function, {name}, which no originset made"
    views = f"SELECT view_name FROM duckdb_views() WHERE {ours}"  # noqa: S608 - a constant
    for (name,) in connection.execute(views).fetchall():
        if name in TABLES and name not in LARGE and TABLES[name].view is None:
            return f"study.duckdb holds a view, {name}, where originset makes a table"
    tables = f"SELECT table_name, sql FROM duckdb_tables() WHERE {ours}"  # noqa: S608 - a constant
    for name, statement in connection.execute(tables).fetchall():
        if name in TABLES and re.search(r"\bGENERATED\s+ALWAYS\b", str(statement)):
            return f"study.duckdb holds a computed column in {name}, which no originset made"
    return None


def viewed_shards(study: Study, connection: duckdb.DuckDBPyConnection) -> dict[str, list[Path]]:
    """The shards of each view over shards in the database; only their names are taken from the view's SQL."""
    views = "SELECT view_name, sql FROM duckdb_views() WHERE database_name = current_database() AND NOT internal"
    shards_by_table: dict[str, list[Path]] = {}
    for name, text in connection.execute(views).fetchall():
        if name in LARGE:
            shards = re.findall(rf"'tables/{name}/((?:[^'/]|'')+\.parquet)'", str(text))
            shards_by_table[name] = [study.tables / name / shard.replace("''", "'") for shard in dict.fromkeys(shards)]
    return shards_by_table
