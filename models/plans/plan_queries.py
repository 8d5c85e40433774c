"""Queries of plans: ``plans/*.sql``, over tables that the caller has."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import duckdb
import polars as pl
from duckdb.func import SPECIAL

from originset.data.studies.database_file import SHUT_IN
from originset.data.studies.shards import literal
from originset.models.origins import why_no_name, why_no_origin

_TEXT = "VARCHAR"
_MEMORY = "1GB"  # beyond it DuckDB spills to disk


def plan_rows(query: str, tables: Mapping[str, pl.LazyFrame], parameters: Mapping[str, object]) -> pl.DataFrame:
    """The rows of ``plans/<query>.sql``, whose header says which parameters it takes.

    ``tables`` are written to disk first, in a stream: they may be larger than memory.

    Raises:
        polars.exceptions.PolarsError: one of ``tables`` cannot be read.
        duckdb.Error: the disk is full or failed.
    """
    models = resources.files("originset.models")
    sql = (models / "plans" / f"{query}.sql").read_text()
    with tempfile.TemporaryDirectory() as folder:
        config = {**SHUT_IN, "memory_limit": _MEMORY, "temp_directory": str(Path(folder, "spilled"))}
        with duckdb.connect(config=config) as connection:
            connection.execute((models / "macros.sql").read_text())
            connection.create_function(
                "is_certificate_name", lambda name: why_no_name(name) is None, [_TEXT], "BOOLEAN"
            )
            connection.create_function("why_no_origin", why_no_origin, [_TEXT, "INTEGER"], _TEXT, null_handling=SPECIAL)
            for name, rows in tables.items():
                path = Path(folder, f"{name}.parquet")
                rows.sink_parquet(path)
                connection.execute(f"CREATE TEMP VIEW {name} AS FROM read_parquet({literal(str(path))})")
            return pl.DataFrame(connection.sql(sql, params=parameters).to_arrow_table())
