"""Rows of a DuckDB relation as a polars frame; values that polars or a file format cannot hold become texts."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl

# Types that each output format has. Dates and times are apart: DuckDB's go beyond the years that others know.
_PLAIN = {
    "boolean", "tinyint", "smallint", "integer", "bigint", "hugeint",
    "utinyint", "usmallint", "uinteger", "ubigint", "uhugeint",
    "float", "double", "decimal", "varchar", "uuid", "enum",
}  # fmt: skip
_TIMES = {
    "date", "time", "time_ns", "time with time zone", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
    "timestamp with time zone", "timestamptz_ns",
}  # fmt: skip

# The years 1 to 9999 in days from 1970, a day less at either end, as a time zone may shift it.
_DAYS = (-719_161, 2_932_895)
_A_DAY = {"ms": 86_400_000, "us": 86_400_000_000}


def rows_of_relation(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """All rows. Columns of a type that not every output format has, and of dates outside years 1 to 9999, are texts.

    Raises:
        duckdb.Error: the relation's SQL fails.
    """
    as_text = {place for place, kind in enumerate(relation.types) if not _is_held(kind)}
    rows: pl.DataFrame = _with_texts(relation, as_text).pl()
    beyond = {place for place, column in enumerate(rows.iter_columns()) if _is_beyond(column)}
    return _with_texts(relation, as_text | beyond).pl() if beyond else rows


def _with_texts(relation: duckdb.DuckDBPyRelation, places: set[int]) -> duckdb.DuckDBPyRelation:
    if not places:
        return relation
    columns = [
        f"CAST(#{place + 1} AS VARCHAR) AS {_quoted_identifier(name)}" if place in places else f"#{place + 1}"
        for place, name in enumerate(relation.columns)
    ]
    return relation.project(", ".join(columns))


def _quoted_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_held(kind: Any, *, nested: bool = False) -> bool:  # noqa: ANN401 - DuckDB's types of types are not public
    match kind.id:
        case "list" | "array":
            return _is_held(kind.children[0][1], nested=True)
        case "struct":
            return bool(kind.children) and all(_is_held(child, nested=True) for _, child in kind.children)
        case "map":
            return all(child.id in _PLAIN for _, child in kind.children)
        case "blob":
            return not nested
        case name:
            return name in _PLAIN or name in _TIMES


def _is_beyond(column: pl.Series) -> bool:
    kind = column.dtype
    if isinstance(kind, pl.List | pl.Array):
        return _is_beyond(column.explode())
    if isinstance(kind, pl.Struct):
        return any(_is_beyond(column.struct.field(field.name)) for field in kind.fields)
    if isinstance(kind, pl.Date):
        a_day = 1
    elif isinstance(kind, pl.Datetime) and kind.time_unit != "ns":  # those end in 2262
        a_day = _A_DAY[kind.time_unit]
    else:
        return False
    first, last = (days * a_day for days in _DAYS)
    return bool((~column.to_physical().is_between(first, last)).any())
