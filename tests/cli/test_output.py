"""Rows in every format; nothing a stranger wrote reaches the terminal as a command."""

import io
import json

import polars as pl
import pytest

from originset.cli.output import write_rows

ROWS = pl.DataFrame({"host": ["a.test", None], "n": [3, 4], "hosts": [["x", "y"], []]})


def test_json_keeps_nulls_and_lists(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(ROWS, "json")
    assert json.loads(capsys.readouterr().out) == [
        {"host": "a.test", "n": 3, "hosts": ["x", "y"]},
        {"host": None, "n": 4, "hosts": []},
    ]


def test_jsonl_is_a_row_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(ROWS, "jsonl")
    assert [json.loads(line)["n"] for line in capsys.readouterr().out.splitlines()] == [3, 4]


def test_csv_flattens_lists_and_tells_empty_from_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(ROWS, "csv")
    assert capsys.readouterr().out == 'host,n,hosts\na.test,3,x y\n,4,""\n'


def test_parquet_round_trip(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write_rows(ROWS, "parquet")
    assert pl.read_parquet(io.BytesIO(capsysbinary.readouterr().out)).equals(ROWS)


def test_a_table_row_is_one_line_and_obeys_no_stranger(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(pl.DataFrame({"host": ["\x1b[2Jevil\nsecond [bold]line[/bold]"], "n": [None]}), "table")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2
    assert "[bold]line[/bold]" in out
    assert out.splitlines()[1].endswith("-")
