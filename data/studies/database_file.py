"""What must hold of a study.duckdb before anything in it is read: somebody else may have made it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import duckdb

from originset.data.files.nofollow import open_regular, stat_regular
from originset.data.schema.sql_macros import MACROS
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import identifier, literal
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


def unusable_file(path: Path) -> str | None:
    """Why DuckDB must not open a database; None if it may.

    Raises:
        NotRegularError: it, or what has the name of its write-ahead log, is no regular file.
    """
    if stat_regular(path.parent, path.name) is None:
        return "it has no database yet"
    with open(open_regular(path.parent, path.name), "rb") as file:  # noqa: PTH123 - it is open already
        if file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] != _MAGIC:
            return f"{path.name} cannot be opened (it is no database of DuckDB's)"
    # No database is written in its place, so a write-ahead log beside it is not from this program.
    log = f"{path.name}.wal"
    if stat_regular(path.parent, log) is not None:
        return f"beside {path.name} lies a write-ahead log, {log}"
    return None


def connect_confined(
    path: Path, name: str, readable: Iterable[Path] = (), *, memory: str | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection with a database attached under ``name``, read-only, which reaches no other file but ``readable``.

    An empty database in memory is the default one, until ``USE name``. Only then do names of functions lead to those in
    the file, which precede DuckDB's own: until then nothing that a stranger wrote can answer for the catalog. The
    settings are locked before the file is opened.

    Raises:
        duckdb.Error: it cannot be opened.
    """
    # DuckDB asks for the write-ahead log of whatever it attaches.
    paths = [str(path), f"{path}.wal", *map(str, readable)]
    config = SHUT_IN if memory is None else {**SHUT_IN, "memory_limit": memory}
    connection = duckdb.connect(config={**config, "temp_directory": f"{path}.tmp"})
    try:
        connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        connection.execute(f"ATTACH {literal(str(path))} AS {identifier(name)} (READ_ONLY)")
    except BaseException:
        connection.close()
        raise
    return connection


def foreign_content(connection: duckdb.DuckDBPyConnection, name: str) -> str | None:
    """A sentence on SQL in the study's database, attached as ``name``, that this program did not write; None if none.

    What has a name and kind that this program gives is not read either: it is made again for each connection.
    """
    ours = f"database_name = {literal(name)} AND NOT internal"
    schemas = f"SELECT schema_name FROM system.main.duckdb_schemas() WHERE {ours} AND schema_name <> 'main'"  # noqa: S608 - a constant
    for (schema,) in connection.execute(schemas).fetchall():
        return f"study.duckdb holds a schema, {schema}, which no originset made"
    functions = f"SELECT function_name, function_type FROM system.main.duckdb_functions() WHERE {ours}"  # noqa: S608 - a constant
    for function, kind in connection.execute(functions).fetchall():
        if function not in MACROS or kind != "macro":
            return f"study.duckdb holds a function, {function}, which no originset made"
    types = f"SELECT type_name FROM system.main.duckdb_types() WHERE {ours}"  # noqa: S608 - a constant
    for (kind,) in connection.execute(types).fetchall():
        return f"study.duckdb holds a type, {kind}, which no originset made"
    views = f"SELECT view_name FROM system.main.duckdb_views() WHERE {ours}"  # noqa: S608 - a constant
    for (view,) in connection.execute(views).fetchall():
        if view not in TABLES or (view not in LARGE and TABLES[view].view is None):
            return (
                f"study.duckdb holds a view, {view}, which no originset made; keep views of yours in a database of "
                "your own that attaches this one, and make this one anew"
            )
    if table := computed_column(connection, name):
        return f"study.duckdb holds a computed column in {table}, which no originset made"
    return None


def computed_column(connection: duckdb.DuckDBPyConnection, name: str) -> str | None:
    """A table of the database attached as ``name`` that has a computed column; None if none has."""
    tables = "SELECT table_name, sql FROM system.main.duckdb_tables() WHERE database_name = ? AND NOT internal"
    for table, statement in connection.execute(tables, [name]).fetchall():
        if re.search(r"\bGENERATED\s+ALWAYS\b", str(statement)):
            return str(table)
    return None


def viewed_shards(study: Study, connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, list[Path]]:
    """The shards of each view over shards in the database; only their names are taken from the view's SQL."""
    views = "SELECT view_name, sql FROM system.main.duckdb_views() WHERE database_name = ? AND NOT internal"
    shards_by_table: dict[str, list[Path]] = {}
    for view, text in connection.execute(views, [name]).fetchall():
        if view in LARGE:
            shards = re.findall(rf"'tables/{view}/((?:[^'/]|'')+\.parquet)'", str(text))
            shards_by_table[view] = [study.tables / view / shard.replace("''", "'") for shard in dict.fromkeys(shards)]
    return shards_by_table
