"""What a table and a column are, for the schema: their types, keys, units, descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import polars as pl


class Stage(Enum):
    """Which commands write a table; the text stands in docs/schema.md."""

    ROWS = "import and analyze, from captures and HARs"
    RESOLVED = "analyze, once per distinct host, address or vantage of the study"
    MODELLED = "analyze and study model, from the tables above"
    STUDY = "every command that changes the study"
    VIEW = "no command; it is a view of other tables"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``type`` is DuckDB's name of the type."""

    name: str
    type: str
    description: str
    unit: str | None = None

    @property
    def comment(self) -> str:
        """The text of the column's COMMENT in the database: description and unit."""
        return self.description if self.unit is None else f"{self.description} [{self.unit}]"


@dataclass(frozen=True, slots=True)
class Table:
    """One table; ``key`` has the names of the columns that identify a row, and is empty if none do.

    ``view``: the SELECT that makes it of other tables, if it is not stored. ``needed``: columns that every shard must
    have, because NULL in their place would have a meaning. Other columns may be missing in shards that earlier
    versions wrote, and are NULL there.
    """

    name: str
    stage: Stage
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    view: str | None = None
    needed: tuple[str, ...] = ()

    @property
    def polars_schema(self) -> pl.Schema:
        """The columns as polars types, in order: what a shard of this table must have."""
        return pl.Schema({column.name: polars_type(column.type) for column in self.columns})


_POLARS_TYPES: dict[str, pl.DataType] = {
    "VARCHAR": pl.String(),
    "INTEGER": pl.Int32(),
    "BIGINT": pl.Int64(),
    "DOUBLE": pl.Float64(),
    "BOOLEAN": pl.Boolean(),
    "TIMESTAMP": pl.Datetime("us"),
}


def polars_type(duckdb_type: str) -> pl.DataType:
    """The polars type that holds a DuckDB type of this schema."""
    if duckdb_type.endswith("[]"):
        return pl.List(polars_type(duckdb_type.removesuffix("[]")))
    return _POLARS_TYPES[duckdb_type]


def table(
    name: str,
    stage: Stage,
    key: str,
    description: str,
    *columns: Column,
    view: str | None = None,
    needed: str = "",
) -> Table:
    """A table; ``key`` and ``needed`` are column names separated by blanks. The key's columns are always needed."""
    return Table(name, stage, description, tuple(key.split()), columns, view, (*key.split(), *needed.split()))


VISIT_ID = Column("visit_id", "VARCHAR", "the visit: first 16 hex digits of SHA-256 over its source's identity")
