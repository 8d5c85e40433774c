"""Rows in every format; nothing a stranger wrote reaches the terminal as a command."""

import io
import json
import os
import pty
import re
import subprocess
import sys

import duckdb
import polars as pl
import pytest

from originset.cli import main
from originset.cli.common.output import FORMATS, note, say, write_rows
from originset.queries.result_rows import rows_of_relation

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
    assert r"\x1b[2Jevil\nsecond" in out
    assert len(out.splitlines()) == 2
    assert "[bold]line[/bold]" in out
    assert out.splitlines()[1].endswith("-")


WIDE = """
import polars as pl
from originset.cli.common.output import write_rows
write_rows(pl.DataFrame({"measured_tls_connections": [4], "host": ["a-host-of-some-length.cdn.example"],
    "summary": ["a text of many words that needs more than one line of a narrow terminal"]}), "table")
"""


def shown_on_a_terminal(columns: int) -> list[str]:
    ours, theirs = pty.openpty()
    try:
        environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
        subprocess.run([sys.executable, "-c", WIDE], stdout=theirs, env=environment, check=True)
        return re.sub(r"\x1b\[\d*m|\r", "", os.read(ours, 1 << 16).decode()).splitlines()
    finally:
        os.close(ours)
        os.close(theirs)


def test_no_name_is_cut_on_a_narrow_terminal() -> None:
    for columns in (200, 80):
        shown = shown_on_a_terminal(columns)
        assert shown[0].split() == ["measured_tls_connections", "host", "summary"]
        assert shown[1].split()[:2] == ["4", "a-host-of-some-length.cdn.example"]
        assert max(map(len, shown)) <= columns
    assert len(shown) > 2, "a text goes on in the next line"
    assert [line.rstrip() for line in shown_on_a_terminal(50)[:3]] == [
        "row 1",
        "measured_tls_connections  4",
        "host                      a-host-of-some-length.cdn.example",
    ]


ISSUERS = pl.DataFrame({"issuer": ["=HYPERLINK(1)", "\x1b]0;owned\x07", "\u202egnp", "\x9b2J"], "n": [-1, 2, 3, 4]})


@pytest.mark.promise("terminals-obey-nobody")
@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv"])
def test_no_format_hands_controls_to_a_terminal(output_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(ISSUERS.with_columns(ISSUERS["n"].alias("\x1b[2J\u202e")), output_format)
    assert all(line.isprintable() for line in capsys.readouterr().out.split("\n"))


@pytest.mark.promise("csv-has-no-formulas")
def test_json_and_parquet_keep_what_was_written(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write_rows(ISSUERS, "json")
    assert json.loads(capsysbinary.readouterr().out) == ISSUERS.rows(named=True)
    write_rows(ISSUERS, "parquet")
    assert pl.read_parquet(io.BytesIO(capsysbinary.readouterr().out)).equals(ISSUERS)


@pytest.mark.promise("csv-has-no-formulas")
def test_csv_has_no_formula(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(ISSUERS, "csv")
    assert capsys.readouterr().out.splitlines()[1] == "'=HYPERLINK(1),-1"


@pytest.mark.promise("terminals-obey-nobody")
def test_remarks_and_texts_obey_no_stranger(capsys: pytest.CaptureFixture[str]) -> None:
    note("a\x1b[2J\nb")
    say("one\x9b\ntwo\x1b")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("one\\x9b\ntwo\\x1b\n", "a\\x1b[2J\\nb\n")


@pytest.mark.promise("terminals-obey-nobody")
@pytest.mark.parametrize("options", [[], ["--debug"]])
def test_errors_obey_no_stranger(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["originset", *options, "query", "\x1b[2Jname\u202e"])
    with pytest.raises(SystemExit):
        main.run()
    shown = capsys.readouterr().err
    assert r"\x1b[2Jname" in shown
    assert all(line.isprintable() for line in shown.split("\n"))


@pytest.mark.parametrize("sql", ["SELECT * FROM duckdb_settings()", "SELECT * FROM test_all_types()"])
@pytest.mark.parametrize("output_format", FORMATS)
def test_every_type_can_be_written(output_format: str, sql: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with duckdb.connect() as connection:
        rows = rows_of_relation(connection.sql(sql))
    write_rows(rows, output_format)
    written = capsysbinary.readouterr().out
    if output_format == "parquet":
        assert pl.read_parquet(io.BytesIO(written)).height == rows.height
    elif output_format == "json":
        assert len(json.loads(written)) == rows.height
    else:
        assert written.count(b"\n") == rows.height + (output_format != "jsonl")
