"""``originset query``: a named query of the catalogue, or SQL of one's own, over study.duckdb."""

from __future__ import annotations

import click
import polars as pl

from originset.cli.output import format_option, write_rows
from originset.data.database import open_database
from originset.data.errors import UsageError
from originset.data.study import Study
from originset.queries import catalogue


@click.command()
@click.argument("name", required=False)
@click.option("--sql", help="A statement of your own; it can neither write nor read outside the database.")
@click.option("--show", is_flag=True, help="Print the named query's SQL instead of running it.")
@format_option
@click.pass_obj
def command(study: Study, name: str | None, sql: str | None, show: bool, output_format: str) -> None:
    """Run a named query, or --sql; without either list the catalogue.

    Example: originset --study S query ladder_tls_summary --format csv
    """
    if name is not None and sql is not None:
        raise UsageError("a name and --sql at once", "give one of them")
    if show:
        if name is None:
            raise UsageError("--show needs a name", "list them with: originset query")
        click.echo(catalogue.named(name).sql, nl=False)
        return
    if name is None and sql is None:
        write_rows(_listing(), output_format)
        return
    statement = catalogue.named(name).sql if name is not None else sql or ""
    with open_database(study) as connection:
        rows = catalogue.run(connection, statement)
    write_rows(rows, output_format)


def _listing() -> pl.DataFrame:
    queries = catalogue.catalogue().values()
    return pl.DataFrame(
        [(query.name, query.paper, query.summary, list(query.columns)) for query in queries],
        schema={"name": pl.String, "paper": pl.String, "summary": pl.String, "columns": pl.List(pl.String)},
        orient="row",
    )
