"""Parquet shards of a study's tables: ``tables/<table>/<shard>.parquet``, written beside their place, then renamed."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from originset.data.schema import TABLES
from originset.data.study import Study


def shard_path(study: Study, table: str, shard: str) -> Path:
    """Where a shard lies."""
    return study.tables / table / f"{shard}.parquet"


def shard_paths(study: Study, table: str) -> list[Path]:
    """All shards of a table, in a stable order."""
    return sorted((study.tables / table).glob("[!.]*.parquet"))


def write_shard(study: Study, table: str, shard: str, rows: pl.DataFrame) -> Path:
    """Write or replace one shard.

    ``rows`` must have the table's columns with its types; their order does not matter.

    Raises:
        polars.exceptions.PolarsError: a column is missing or has another type (a programming error).
    """
    rows = rows.match_to_schema(TABLES[table].polars_schema) if rows.width else TABLES[table].polars_schema.to_frame()
    rows = rows.select(TABLES[table].polars_schema.names())
    path = shard_path(study, table, shard)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        rows.write_parquet(beside, compression="zstd", compression_level=1, statistics=True)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return path


def scan(study: Study, table: str) -> pl.LazyFrame:
    """All rows of a table, lazily; an empty frame of the right schema where there is no shard."""
    paths = shard_paths(study, table)
    if not paths:
        return TABLES[table].polars_schema.to_frame(eager=False)
    return pl.scan_parquet(paths, schema=TABLES[table].polars_schema, cache=False)
