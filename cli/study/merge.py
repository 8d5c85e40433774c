"""``originset study merge``: studies into one."""

from __future__ import annotations

from pathlib import Path

import click

from originset.analysis.merging.study_merge import merge_studies
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import note, progress
from originset.data.captures.capture_place import confirm_place
from originset.data.errors import UsageError
from originset.data.studies.rounds import mixed_rounds
from originset.data.studies.study import Study


@click.command(cls=Command)
@click.argument("studies", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--captures",
    "places",
    multiple=True,
    metavar="PLACE",
    help="Confirm that one of the studies keeps its captures there, as its study.json says. Can be repeated; needed "
    "once.",
)
@study_option
@click.pass_obj
def command(study: Study, studies: tuple[Path, ...], places: tuple[str, ...]) -> None:
    """Merge studies into the one that --study names.

    The studies may be parts of a sharded crawl, vantage points, or imports. A visit that is in several is kept once.
    The studies themselves do not change. Run analyze afterwards.

    Example: originset --study whole study merge part1 part2 part3
    """
    sources = [Study(path) for path in studies]
    _confirm(places, [study, *sources] if study.manifest_path.exists() else sources)
    with study.changing("merge", {"studies": [str(path) for path in studies]}) as counts, progress() as display:
        summary = merge_studies(study, sources, display)
        counts.update(vars(summary))
    note(f"{summary.captures} captures and {summary.imported_visits} imported visits are new")
    if summary.visits_in_both:
        note(f"{summary.visits_in_both} visits were there already and stay as they were")
    if summary.links_left_out:
        note(f"{summary.links_left_out} symbolic links among the captures were left out")
    for vantage, number in mixed_rounds(study.manifest()["rounds"]):
        note(f"round {number} of vantage {vantage} was visited with different settings; see rounds in study.json")
    note(f"next: originset --study {study.root} analyze")


def _confirm(places: tuple[str, ...], studies: list[Study]) -> None:
    places_of_studies = [(study, study.manifest().get("captures")) for study in studies] if places else []
    for place in places:
        if not any(place == its for _, its in places_of_studies):
            raise UsageError(f"none of the studies keeps its captures in {place}", "leave --captures out")
    for study, its in places_of_studies:
        if its in places:
            confirm_place(study, its)
