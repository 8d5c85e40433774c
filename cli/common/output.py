"""What all commands share on their way out: rows on stdout in the format asked for, remarks on stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import polars as pl
from rich.cells import cell_len
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from originset.cli.common.minute_progress import MinuteProgress
from originset.data.sanitising.printable import printable, printable_json, printable_lines
from originset.queries.csv_text import csv_text

FORMATS = ("table", "json", "jsonl", "csv", "parquet")

# What rich leaves beside each column.
_GAP = 2

_F = TypeVar("_F", bound=Callable[..., Any])


def format_option(function: _F) -> _F:
    """Add ``--format``, which reaches the command as ``output_format``."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Format of the rows on stdout. csv has an apostrophe before text that a spreadsheet would run as a "
        "formula.",
    )(function)


def write_rows(rows: pl.DataFrame, output_format: str) -> None:
    """Write rows to stdout. Unknown values are null in JSON and Parquet, empty in CSV, ``-`` in a table.

    Parquet and JSON hold values as they are. A terminal obeys none of the others' texts, a spreadsheet none of CSV's;
    bytes are hexadecimal there, and in JSON.
    """
    if output_format == "parquet":
        made = io.BytesIO()  # of a disk that is full polars has an error of its own
        rows.write_parquet(made)
        click.echo(made.getvalue(), nl=False)
        return
    rows = rows.with_columns(pl.col(pl.Binary).bin.encode("hex"))
    if output_format == "table":
        _write_table(rows)
    elif output_format == "json":
        click.echo(printable_json(rows.write_json()))
    elif output_format == "jsonl":
        click.echo(printable_json(rows.write_ndjson()), nl=False)
    else:
        click.echo(csv_text(rows), nl=False)


def note(text: str) -> None:
    """One remark on stderr, in one line."""
    click.echo(printable(text), err=True)


def say(text: str) -> None:
    """A text for people on stdout, line by line."""
    click.echo(printable_lines(text))


def progress() -> Progress:
    """A progress display on stderr; a line a minute where that is no terminal."""
    return MinuteProgress(
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )


def byte_progress() -> Progress:
    """The same for work that is measured in bytes; tasks have the fields ``files`` and ``all_files``."""
    return MinuteProgress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[files]}/{task.fields[all_files]} files"),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )


def _write_table(rows: pl.DataFrame) -> None:
    cells = [[_cell(value) for value in row] for row in rows.iter_rows()]
    names = [printable(name) for name in rows.columns]
    columns = list(zip(names, *cells, strict=True))
    natural = [max(map(cell_len, column)) for column in columns]
    # A pipe has no width: then lines are as long as their content, so that grep and awk see whole rows.
    console = Console() if sys.stdout.isatty() else Console(width=max(1, sum(natural) + _GAP * len(natural)))
    widths = _column_widths(columns, natural, console.width)
    if widths is None:
        _write_records(console, names, cells)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, kind, width in zip(names, rows.dtypes, widths, strict=True):
        table.add_column(Text(name), justify="right" if kind.is_numeric() else "left", overflow="fold", width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _column_widths(columns: list[tuple[str, ...]], natural: list[int], most: int) -> list[int] | None:
    """Widths by which no word is cut, and texts have what is left of a line; None where not even words fit."""
    widths = [max(map(_longest_word, column)) for column in columns]
    left = most - sum(widths) - _GAP * len(widths)
    if left < 0:
        return None
    needs = sorted((need - width, number) for number, (need, width) in enumerate(zip(natural, widths, strict=True)))
    for position, (need, number) in enumerate(needs):
        given = min(need, left // (len(needs) - position))
        widths[number] += given
        left -= given
    return widths


def _write_records(console: Console, names: list[str], rows: list[list[str]]) -> None:
    """One line a value, for what no line of the terminal can hold."""
    width = max(map(len, names), default=0)
    for number, row in enumerate(rows, 1):
        console.print(Text(f"row {number}", "bold"))
        for name, value in zip(names, row, strict=True):
            console.print(Text(f"{name:{width}}  {value}"), soft_wrap=True)


def _longest_word(text: str) -> int:
    return max((cell_len(word) for word in text.split()), default=0)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, pl.Series | list | tuple):
        return ", ".join(_cell(part) for part in value)
    return printable(str(value))
