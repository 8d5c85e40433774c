"""Rows as CSV, for spreadsheets and terminals as well: what a stranger wrote is a text in both, and stays one.

A text that a spreadsheet would take for a formula gets an apostrophe before it, as OWASP recommends ("CSV Injection"):
one that begins with ``=``, ``+``, ``-`` or ``@``, or with their full-width forms. Control characters are written as
:mod:`originset.data.sanitising.printable` does, tabs and ends of lines too. Numbers, dates and truth values are as they
were. Who wants texts as they were recorded takes Parquet or JSON.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from originset.data.sanitising.printable import printable

_FORMULA = ("=", "+", "-", "@", "\N{FULLWIDTH EQUALS SIGN}", "\N{FULLWIDTH PLUS SIGN}",
            "\N{FULLWIDTH HYPHEN-MINUS}", "\N{FULLWIDTH COMMERCIAL AT}")  # fmt: skip

# The texts that may need a change; most do not.
_SUSPECT = r"^[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]|[\p{C}\p{Zl}\p{Zp}]"


def csv_text(rows: pl.DataFrame) -> str:
    """The whole table with a header. NULL is empty, an empty text is ``""``; lists are JSON, those of texts words."""
    header = pl.DataFrame([[_cell(name)] for name in rows.columns], schema=[str(n) for n in range(rows.width)])
    columns = [_harmless(_flat_column(column)) for column in rows.iter_columns()]
    return header.write_csv(include_header=False) + pl.DataFrame(columns).write_csv(include_header=False)


def _flat_column(column: pl.Series) -> pl.Series:
    kind = column.dtype
    if isinstance(kind, pl.List) and not kind.inner.is_nested():
        return column.cast(pl.List(pl.String)).list.join(" ")
    if kind.is_nested():
        return pl.Series(column.name, [_json(value) for value in column.to_list()], pl.String)
    return column.cast(pl.String) if isinstance(kind, pl.Enum | pl.Categorical) else column


def _json(value: Any) -> str | None:  # noqa: ANN401 - whatever a nested column holds
    return None if value is None else json.dumps(value, default=str, ensure_ascii=False)


def _harmless(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String or not column.str.contains(_SUSPECT).any():
        return column
    return pl.Series(column.name, [None if text is None else _cell(text) for text in column], pl.String)


def _cell(text: str) -> str:
    printable_text = printable(text)
    return f"'{printable_text}" if printable_text.startswith(_FORMULA) else printable_text
