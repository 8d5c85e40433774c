"""``originset analyze``: captures into tables, names and addresses resolved, the database and its models built."""

from __future__ import annotations

from pathlib import Path

import click

from originset.analysis.captures import read_captures
from originset.analysis.resolution import resolve
from originset.cli.output import note, progress
from originset.cli.rebuild import rebuild
from originset.cli.reference import warn_of_age
from originset.data.reference.snapshot import Reference, current
from originset.data.study import Study
from originset.models.parameters import Parameters


@click.command()
@click.option(
    "--ip-to-as",
    "table",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An IP-to-AS table of your own: pyasn's .dat, CAIDA's pfx2as, or an MRT table dump; gzip or bzip2 or neither.",
)
@click.pass_obj
def command(study: Study, table: Path | None) -> None:
    """Read new captures, resolve names and addresses, build study.duckdb with all models.

    Run it after crawl or import, as often as you like: what has been read already is not read again. Names and
    addresses are resolved anew each time, with the data that `originset reference show` names.

    Example: originset --study S analyze
    """
    study.manifest()  # an empty folder is a mistake here, not a new study
    reference = current() if table is None else current().with_table(table)
    warn_of_age(reference)
    counts = analyze(study, reference)
    note(", ".join(f"{number} {what.replace('_', ' ')}" for what, number in counts.items()))
    note(f"database: {study.database_path}")


def analyze(study: Study, reference: Reference) -> dict[str, int]:
    """Bring tables, database and models up to date with what was crawled and imported; says how much there was."""
    with study.changing("analyze", {}) as counts:
        with progress() as display:
            counts.update(read_captures(study, display, reference.suffix_list))
        counts.update(resolve(study, reference))
        counts.update(rebuild(study, Parameters()))
    return dict(counts)
