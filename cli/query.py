"""``originset query``: a named query of the catalogue, or SQL of one's own, over study.duckdb."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import polars as pl

from originset.cli.common.attached_tables import AttachedFile, attach
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import format_option, write_rows
from originset.cli.common.selection import apply_selection, selection_options
from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.queries import catalogue
from originset.queries.visit_selection import Selection, reads_selection

NAMED_QUERIES = pl.Schema(
    {
        "name": pl.String(),
        "paper": pl.String(),
        "summary": pl.String(),
        "parameters": pl.List(pl.String()),
        "columns": pl.List(pl.String()),
    }
)


@click.command(cls=Command)
@click.argument("name", required=False)
@click.option("--sql", metavar="STATEMENT", help="Run this statement instead. It can only read the database.")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter of the named query. Can be repeated.",
)
@click.option(
    "--show",
    is_flag=True,
    help="Print the named query's SQL with its parameters instead of running it, for DuckDB 1.2 or later.",
)
@click.option(
    "--attach",
    "attached",
    type=AttachedFile(),
    multiple=True,
    help="Make a table NAME of a CSV or Parquet file, or NAME_TABLE of each table of a .duckdb file, to join with. Can "
    "be repeated.  [default of NAME: the file's own]",
)
@selection_options
@study_option
@format_option
@click.pass_obj
def command(
    study: Study,
    name: str | None,
    *,
    sql: str | None,
    parameters: tuple[str, ...],
    show: bool,
    attached: tuple[tuple[str, Path], ...],
    selection: Selection,
    output_format: str,
) -> None:
    """Query a study, by name or in SQL.

    Without NAME and --sql, lists the named queries and their parameters. The options that select visits apply to
    queries that read selected_visits, or a table made of it; all other queries read all visits. What --show prints runs
    in other programs too: originset query --show NAME | duckdb -readonly S/study.duckdb

    Example: originset --study S query hosts_top_summary --param top=10 --format csv
    """
    if attached and sql is None:
        raise UsageError("--attach needs a statement that reads the file", "give one with --sql")
    if name is not None and sql is not None:
        raise UsageError("a name and --sql at once", "give one of them")
    values = _parameter_values(parameters)
    if show:
        if name is None:
            raise UsageError("--show needs a name", "list them with: originset query")
        click.echo(_query_text(catalogue.named_query(name), values, selection), nl=False)
        return
    if name is None and values:
        raise UsageError("--param needs a named query", "list them with: originset query")
    if name is None and sql is None:
        _require_use("", "the catalogue", selection)
        write_rows(_listing(), output_format)
        return
    if name is not None:
        catalogue.named_query(name).values(
            values
        )  # what is wrong with the call comes before what is wrong with the study
    text = catalogue.named_query(name).sql if name is not None else sql or ""
    _require_use(text, name or "--sql", selection)
    with open_database(study) as connection:
        attach(connection, attached)
        if reads_selection(text):
            apply_selection(connection, selection)
        rows = catalogue.run(connection, text) if name is None else catalogue.rows_of(connection, name, values)
    write_rows(rows, output_format)


def _query_text(query: catalogue.NamedQuery, given: dict[str, str], selection: Selection) -> str:
    """A query's text, after the statement that selects visits if the options select some."""
    _require_use(query.sql, query.name, selection)
    text = query.standalone(query.values(given))
    return text if selection.is_default else f"{selection.statement};\n\n{text}"


def _require_use(sql: str, name: str, selection: Selection) -> None:
    if not selection.is_default and not reads_selection(sql):
        raise UsageError(
            f"{shlex.join(selection.options)}: {name} does not read selected_visits",
            "leave it out, or read selected_visits in a statement of your own with --sql",
        )


def _parameter_values(parameters: tuple[str, ...]) -> dict[str, str]:
    pairs = [parameter.partition("=") for parameter in parameters]
    for name, equals, _ in pairs:
        if not equals:
            raise UsageError(f"--param {name}: there is no value", "write --param NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _listing() -> pl.DataFrame:
    queries = catalogue.catalogue().values()
    return pl.DataFrame(
        [
            (
                query.name,
                query.paper,
                query.summary,
                [f"{name}={parameter.default}" for name, parameter in query.parameters.items()],
                list(query.columns),
            )
            for query in queries
        ],
        schema=NAMED_QUERIES,
        orient="row",
    )
