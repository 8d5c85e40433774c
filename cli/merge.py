"""``originset merge``: studies into one."""

from __future__ import annotations

from pathlib import Path

import click

from originset.analysis.study_merge import merge
from originset.cli.output import note, progress
from originset.data.study import Study


@click.command()
@click.argument("studies", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.pass_obj
def command(study: Study, studies: tuple[Path, ...]) -> None:
    """Merge studies into --study, which is made if need be: parts of a sharded crawl, vantages, or imports.

    A visit that is in several is kept once. The studies merged stay as they are. Run analyze afterwards.

    Example: originset --study whole merge part1 part2 part3
    """
    with study.changing("merge", {"studies": [str(path) for path in studies]}) as counts, progress() as display:
        summary = merge(study, [Study(path) for path in studies], display)
        counts.update(vars(summary))
    note(f"{summary.captures} captures and {summary.imported_visits} imported visits are new")
    if summary.visits_in_both:
        note(f"{summary.visits_in_both} visits were there already and stay as they were")
    if summary.links_left_out:
        note(f"{summary.links_left_out} symbolic links among the captures were left out")
    note(f"next: originset --study {study.root} analyze")
