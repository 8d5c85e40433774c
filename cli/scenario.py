"""``originset scenario``: a page of a study as a scenario of the testbed."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from originset.cli.files import out_option, write_text
from originset.cli.output import note
from originset.crawler.testbed import scenario_file
from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.models.experiments.site_scenario import site_scenario

_VISIT = """
    SELECT v.* FROM visits AS v
    JOIN page_basis AS c ON c.visit_id = v.visit_id AND c.question = 'causes'
    JOIN page_basis AS s ON s.visit_id = v.visit_id AND s.question = 'servers'
    WHERE v.site = ? AND c.reason IS DISTINCT FROM 'failed' AND v.page_kind IS DISTINCT FROM 'internal'
    ORDER BY s.counted DESC, v.started_at DESC, v.visit_id LIMIT 1"""

_TABLES = {
    "requests": "SELECT * FROM requests WHERE visit_id = ?",
    "network_requests": "SELECT * FROM network_requests WHERE visit_id = ?",
    "documents": "SELECT * FROM documents WHERE visit_id = ?",
    "connections": "SELECT * FROM connections WHERE visit_id = ?",
    "dns_queries": "SELECT * FROM dns_queries WHERE visit_id = ?",
    "certificate_names": """
        SELECT * FROM certificate_names
        WHERE certificate_id IN (SELECT certificate_id FROM connections WHERE visit_id = ?)""",
    "addresses": "SELECT * FROM addresses",
}


@click.command()
@click.option("--site", required=True, metavar="HOST", help="The site, as the study's list has it.")
@out_option
@click.pass_obj
def command(study: Study, *, site: str, out: Path | None) -> None:
    """Write a page of the study as a scenario: same hosts, addresses, certificate names, sizes and waits, no contents.

    The site's latest visit is taken. A scenario is brought up, and visited, inside a network namespace by
    python -m originset.crawler.testbed --scenario FILE -- COMMAND

    Example: originset --study S scenario --site www.example.com --out example.toml
    """
    with open_database(study) as connection:

        def rows(statement: str, *values: str) -> pl.DataFrame:
            return pl.DataFrame(connection.sql(statement, params=list(values)).to_arrow_table())

        visit = rows(_VISIT, site)
        if visit.is_empty():
            raise UsageError(
                f"the study has no visit of {site} that did not fail", "list its visits: query --sql 'FROM visits'"
            )
        visit_id = visit["visit_id"].item()
        tables = {name: rows(statement, *([visit_id] * statement.count("?"))) for name, statement in _TABLES.items()}
    made = site_scenario(visit.row(0, named=True), tables)
    if made is None:
        raise UsageError(
            f"the visit of {site} shows no document over https at a public address", "crawl it, or import another HAR"
        )
    scenario_file.parse(made.text, f"the scenario of {site}")
    for sentence in made.left_out:
        note(f"not in it: {sentence}")
    if out is None:
        click.echo(made.text, nl=False)
    else:
        write_text(out, made.text)
