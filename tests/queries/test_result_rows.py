"""Every type of DuckDB, as rows."""

from __future__ import annotations

from datetime import date

import duckdb
import polars as pl
import pytest

from originset.queries.result_rows import rows_of_relation


def rows(sql: str) -> pl.DataFrame:
    with duckdb.connect() as connection:
        return rows_of_relation(connection.sql(sql))


def test_types_that_all_formats_have_stay() -> None:
    found = rows("SELECT 1::UTINYINT a, [1.5::DOUBLE] b, {'x': 'y'} c, 'z'::BLOB d, DATE '2026-01-02' e, ['q'] f")
    assert found.row(0) == (1, [1.5], {"x": "y"}, b"z", date(2026, 1, 2), ["q"])


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("INTERVAL 1 DAY", "1 day"),
        ("'0101'::BIT", "0101"),
        ("[INTERVAL 1 DAY]", "[1 day]"),
        ("union_value(k := 1)", "1"),
        ("'infinity'::TIMESTAMP", "infinity"),
        ("DATE '290309-12-22 (BC)'", "290309-12-22 (BC)"),
        ("{'when': ['-infinity'::DATE]}", "{'when': [-infinity]}"),
    ],
)
def test_others_are_what_duckdb_writes(sql: str, text: str) -> None:
    found = rows(f'SELECT 7 AS n, {sql} AS "a ""name""", \'x\' AS n')
    assert found.row(0) == (7, text, "x")
    assert found.columns[1] == 'a "name"'


def test_the_order_of_rows_stays() -> None:
    found = rows("SELECT i, INTERVAL (i) DAY AS days FROM range(5000) t(i) ORDER BY i DESC")
    assert found["i"].to_list() == list(range(4999, -1, -1))
