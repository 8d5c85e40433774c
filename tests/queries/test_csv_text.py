"""CSV that spreadsheets and terminals take for what it is: texts and numbers."""

import csv
import io
from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.queries.csv_text import csv_text

HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\x1b]0;x\x07",
    "\uff1d1",
    '=cmd|"/c calc"!A1',
    'a","=1',
]


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.promise("csv-has-no-formulas")
@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_is_a_formula(text: str) -> None:
    rows = pl.DataFrame({text: [text], "list": [[text, "b"]], "struct": [{"a": text}]})
    for line in read(csv_text(rows)):
        for cell in line:
            assert cell[0] not in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
            assert cell.isprintable()


def test_the_apostrophe_stands_where_a_formula_would() -> None:
    assert csv_text(pl.DataFrame({"issuer": ["=1+1", "Let's Encrypt", None, ""]})) == (
        "issuer\n'=1+1\nLet's Encrypt\n\n\"\"\n"
    )


def test_numbers_and_dates_stay_what_they_are() -> None:
    rows = pl.DataFrame({"n": [-1, 2], "x": [-0.5, None], "d": [date(2026, 1, 2), None], "b": [True, None]})
    assert csv_text(rows) == "n,x,d,b\n-1,-0.5,2026-01-02,true\n2,,,\n"


def test_what_is_nested_is_json_and_lists_of_texts_are_words() -> None:
    rows = pl.DataFrame({"hosts": [["a", "b"], []], "pair": [{"a": 1, "b": ["x"]}, None]})
    assert read(csv_text(rows)) == [["hosts", "pair"], ["a b", '{"a": 1, "b": ["x"]}'], ["", ""]]


def test_no_rows_and_no_columns() -> None:
    assert csv_text(pl.DataFrame(schema={"a": pl.String, "b": pl.Int64})) == "a,b\n"
    assert csv_text(pl.DataFrame()).strip() == ""


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_every_text_is_one_cell_of_one_line(texts: list[str]) -> None:
    written = csv_text(pl.DataFrame({"text": texts}, schema={"text": pl.String}))
    assert [len(line) for line in read(written)] == [1] * (1 + len(texts))
