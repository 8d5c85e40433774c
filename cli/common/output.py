"""What all commands share on their way out: rows on stdout in the format asked for, remarks on stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from originset.data.sanitising.printable import printable, printable_json
from originset.queries.csv_text import csv_text

FORMATS = ("table", "json", "jsonl", "csv", "parquet")

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
    click.echo("\n".join(map(printable, text.split("\n"))))


def progress() -> Progress:
    """A progress display on stderr; it shows nothing unless stderr is a terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def byte_progress() -> Progress:
    """The same for work that is measured in bytes; tasks have the fields ``files`` and ``all_files``."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[files]}/{task.fields[all_files]} files"),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


def _write_table(rows: pl.DataFrame) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, kind in rows.schema.items():
        table.add_column(Text(printable(name)), justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in rows.iter_rows():
        table.add_row(*(Text(_cell(value)) for value in row))
    # A pipe has no width: then lines are as long as their content, so that grep and awk see whole rows.
    console = Console() if sys.stdout.isatty() else Console(width=10_000)
    console.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, pl.Series | list | tuple):
        return ", ".join(_cell(part) for part in value)
    return printable(str(value))
