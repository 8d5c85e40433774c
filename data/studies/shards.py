"""Parquet shards of a study's tables: ``tables/<table>/<shard>.parquet``, written to a temporary file, then renamed.

Later versions read the shards of earlier ones. Columns that were added later are NULL, which is "not known", unless the
schema says that NULL would have another meaning (``Table.needed``). Then, and if a shard is damaged, reading
ends with an error that says which command makes it whole.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

import polars as pl

from originset.data.errors import StudyError
from originset.data.files.atomic_files import NOT_REGULAR, replacing
from originset.data.files.nofollow import NotRegularError, list_folder, open_regular, remove_file
from originset.data.schema.study_tables import TABLES, Stage, Table
from originset.data.studies.shard_checksum import KEY, UNKNOWN, is_unchanged, seal
from originset.data.studies.study import Study

# The name of a shard says what it was made from, and so what can make it again.
CAPTURES = "captures-"
IMPORT = "import-"
IMPORTS = "imports"
LIVE = "live"
RESOLVED = "all"


def shard_path(study: Study, table: str, shard: str) -> Path:
    """The path of a shard."""
    return study.tables / table / f"{shard}.parquet"


def shard_paths(study: Study, table: str) -> list[Path]:
    """All shards of a table, in a stable order; what is no regular file is refused when it is read.

    Raises:
        StudyError: the table's folder is a link or no folder.
    """
    try:
        listing = list_folder(study.root, "tables", table)
    except NotRegularError as error:
        raise StudyError(study.root, f"{error.filename} {error.strerror}", NOT_REGULAR) from error
    names = (*listing.files, *listing.folders, *listing.others)
    return [study.tables / table / name for name in sorted(names) if name.endswith(".parquet") and name[0] != "."]


def write_shard(study: Study, table: str, shard: str, rows: pl.DataFrame) -> Path:
    """Write or replace one shard.

    ``rows`` must have the table's columns with its types; their order does not matter.

    Raises:
        polars.exceptions.PolarsError: a column is missing or has another type (a programming error).
    """
    rows = rows.match_to_schema(TABLES[table].polars_schema) if rows.width else TABLES[table].polars_schema.to_frame()
    rows = rows.select(TABLES[table].polars_schema.names())
    path = shard_path(study, table, shard)
    # Not directly into the file: polars does not always report a full disk.
    buffer = io.BytesIO()
    rows.write_parquet(buffer, compression="zstd", compression_level=1, statistics=True, metadata={KEY: UNKNOWN})
    seal(buffer.getbuffer())
    with replacing(path, below=study.root) as temporary:
        temporary.write_bytes(buffer.getbuffer())
    return path


def remove_shard(study: Study, table: str, shard: str) -> None:
    """Remove one shard, if it exists; what is done after it is on the disk after it.

    Raises:
        OSError: it cannot be removed.
    """
    remove_file(study.root, *shard_path(study, table, shard).relative_to(study.root).parts)


def columns_missing(study: Study, table: str, paths: Iterable[Path]) -> set[str]:
    """Columns that at least one of a table's shards lacks; what they hold is then not known for its rows.

    Each shard's bytes are held against its checksum first, once by each process: Parquet takes changed bits for others.

    Raises:
        StudyError: a shard is damaged, is none of this table, or lacks what its rows cannot do without.
    """
    schema = TABLES[table].polars_schema
    resolved = TABLES[table].stage is Stage.RESOLVED
    missing: set[str] = set()
    for path in paths:
        schema_of_shard = _schema_of_whole(study, path)
        lacks = [name for name in schema if name not in schema_of_shard]
        if other := [name for name in schema if schema_of_shard.get(name, schema[name]) != schema[name]]:
            raise _not_whole(study, path, f"holds {schema_of_shard[other[0]]} as {other[0]}, not {schema[other[0]]}")
        if needed := [name for name in lacks if resolved or name in TABLES[table].needed]:
            raise _not_whole(study, path, f"was written by an earlier originset and lacks {', '.join(needed)}")
        missing.update(lacks)
    return missing


def _schema_of_whole(study: Study, path: Path) -> pl.Schema:
    try:
        opened = open_regular(study.root, *path.relative_to(study.root).parts)
    except NotRegularError as error:
        raise _not_whole(study, path, str(error.strerror)) from error
    except OSError as error:
        raise _not_whole(study, path, f"is damaged ({error})") from error
    with open(opened, "rb") as file:  # noqa: PTH123 - it is open already
        try:
            if not is_unchanged(file):
                raise _not_whole(study, path, "is damaged (its checksum is of other bytes)")
            file.seek(0)
            return pl.Schema(pl.read_parquet_schema(file))
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _not_whole(study, path, f"is damaged ({' '.join(str(error).split())})") from error


def is_usable(study: Study, table: str, shard: str) -> bool:
    """Whether a shard is there and can be read; columns that came later may be missing."""
    try:
        columns_missing(study, table, [shard_path(study, table, shard)])
    except StudyError:
        return False
    return True


def is_whole(study: Study, table: str, shard: str) -> bool:
    """Whether a shard can be read and has every column of today's schema."""
    path = shard_path(study, table, shard)
    try:
        return path.exists() and not columns_missing(study, table, [path])
    except StudyError:
        return False


def require_unchanged(study: Study, table: str) -> None:
    """Check all shards of a table once against their checksums: results from changed shards would be silently wrong.

    Raises:
        StudyError: a shard is not what was written.
    """
    columns_missing(study, table, shard_paths(study, table))


def _not_whole(study: Study, path: Path, problem: str) -> StudyError:
    command = ["originset", "--study", str(study.root)]
    if path.stem.startswith(IMPORT) or path.stem == IMPORTS:
        advice = f"import the files again that it was made of: {shlex.join([*command, 'import'])} FILE..."
    elif path.stem == LIVE:
        advice = f"run: {shlex.join(['rm', str(path)])} && {shlex.join([*command, 'study', 'enrich', '--live'])}"
    else:
        advice = f"run: {shlex.join([*command, 'analyze'])}"
    return StudyError(study.root, f"{path.relative_to(study.root)} {problem}", advice)


def read_shards_sql(study: Study, table: str, paths: Sequence[Path], folder: str) -> str:
    """A SELECT of the rows of some shards of a table; columns that a shard lacks are NULL.

    ``folder``: SQL of the study's folder where the SELECT runs.

    Raises:
        StudyError: a shard is damaged, or was written by an earlier version and lacks what it needs.
    """
    missing = columns_missing(study, table, paths)
    files = [f"{folder} || {literal(f'/{path.relative_to(study.root)}')}" for path in paths]
    return _select_sql(TABLES[table], files, missing)


def select_sql(table: Table, paths: Sequence[Path], lacking: Container[str]) -> str:
    """As :func:`read_shards_sql`, for any paths, with the columns that the shards lack."""
    return _select_sql(table, [literal(str(path)) for path in paths], lacking)


def _select_sql(table: Table, files: Sequence[str], lacking: Container[str]) -> str:
    names = ", ".join(identifier(column.name) for column in table.columns)
    # An empty relation with today's columns adds those that no shard has.
    nothing = ", ".join(f"NULL::{column.type} AS {identifier(column.name)}" for column in table.columns)
    empty = f"SELECT {nothing} WHERE false"
    if not files:
        return empty
    rows = f"read_parquet([{', '.join(files)}], hive_partitioning = false, union_by_name = {bool(lacking)})"
    if lacking:
        rows = f"({empty} UNION ALL BY NAME SELECT * FROM {rows})"  # noqa: S608 - paths are literals
    return f"SELECT {names} FROM {rows}"  # noqa: S608 - names come from the schema, paths are literals


def literal(text: str) -> str:
    """A SQL string literal: for statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A SQL identifier in quotes."""
    return '"' + name.replace('"', '""') + '"'


def scan(study: Study, table: str) -> pl.LazyFrame:
    """All rows of a table, lazily; an empty frame of the right schema where there is no shard.

    Raises:
        StudyError: a shard is damaged, or was written by an earlier version and lacks what it needs.
    """
    paths = shard_paths(study, table)
    if not paths:
        return TABLES[table].polars_schema.to_frame(eager=False)
    columns_missing(study, table, paths)
    return _scan(paths, table)


def scan_visits(study: Study, visits: Sequence[str]) -> dict[str, pl.LazyFrame]:
    """The tables that models read, lazily, by name: of those with visits only the rows of ``visits`` (visit ids).

    Raises:
        StudyError: as :func:`scan`.
    """
    return {
        name: scan(study, name).filter(pl.col("visit_id").is_in(visits))
        if "visit_id" in table.polars_schema
        else scan(study, name)
        for name, table in TABLES.items()
        if table.stage in (Stage.ROWS, Stage.RESOLVED)
    }


def read_shard(study: Study, table: str, path: Path) -> pl.DataFrame:
    """One shard's rows, with all columns of the table in order.

    Raises:
        StudyError: as :func:`scan`.
    """
    columns_missing(study, table, [path])
    return _scan([path], table).collect()


def _scan(paths: list[Path], table: str) -> pl.LazyFrame:
    return pl.scan_parquet(
        paths,
        schema=TABLES[table].polars_schema,
        missing_columns="insert",
        extra_columns="ignore",
        glob=False,
        cache=False,
    )
