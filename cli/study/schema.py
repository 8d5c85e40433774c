"""``originset study schema``: what tables a study has, and what their columns mean."""

from __future__ import annotations

from difflib import get_close_matches

import click
import polars as pl

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import format_option, write_rows
from originset.data.errors import UsageError
from originset.data.schema.columns import Table
from originset.data.schema.described_study import STUDY_COLUMNS, STUDY_TABLES
from originset.data.schema.study_tables import TABLES


@click.command(cls=Command)
@click.argument("table", required=False)
@format_option
@study_option
def command(table: str | None, output_format: str) -> None:
    """List the tables of every study, or the columns of one.

    All studies have the same tables and views. Those that a study fills, and when, docs/schema.md says.

    Example: originset study schema visits
    """
    write_rows(_tables() if table is None else _columns(_table_named(table)), output_format)


def _tables() -> pl.DataFrame:
    rows = [(one.name, "table" if one.view is None else "view", one.description) for one in TABLES.values()]
    return pl.DataFrame(rows, schema=STUDY_TABLES, orient="row")


def _columns(table: Table) -> pl.DataFrame:
    rows = [(one.name, one.type, one.unit, one.name in table.key, one.description) for one in table.columns]
    return pl.DataFrame(rows, schema=STUDY_COLUMNS, orient="row")


def _table_named(name: str) -> Table:
    if name in TABLES:
        return TABLES[name]
    near = get_close_matches(name, TABLES)
    advice = f"did you mean {' or '.join(near)}?" if near else "list them with: originset study schema"
    raise UsageError(f"there is no table {name!r}", advice)
