"""``originset analyze``: captures into tables, names and addresses resolved, the database and its models built."""

from __future__ import annotations

import click

from originset.analysis.captures import read_captures
from originset.analysis.resolution import resolve
from originset.cli.output import note, progress
from originset.cli.rebuild import rebuild
from originset.data.study import Study
from originset.models.parameters import Parameters


@click.command()
@click.pass_obj
def command(study: Study) -> None:
    """Read new captures, resolve names and addresses, build study.duckdb with all models.

    Run it after crawl or import, as often as you like: what has been read already is not read again.

    Example: originset --study S analyze
    """
    study.manifest()  # an empty folder is a mistake here, not a new study
    counts = analyze(study)
    note(", ".join(f"{number} {what.replace('_', ' ')}" for what, number in counts.items()))
    note(f"database: {study.database_path}")


def analyze(study: Study) -> dict[str, int]:
    """Bring tables, database and models up to date with what was crawled and imported; says how much there was."""
    with study.changing("analyze", {}) as counts:
        with progress() as display:
            counts.update(read_captures(study, display))
        counts.update(resolve(study))
        counts.update(rebuild(study, Parameters()))
    return dict(counts)
