"""``originset study reference update``: newer or older reference data, fetched."""

from __future__ import annotations

from datetime import datetime

import click

from originset.cli.common.command_tree import Command
from originset.cli.common.output import format_option, note
from originset.cli.common.reference_data import write_facts
from originset.crawler.downloads.reference_tables import ReferenceSources, update_reference
from originset.data.reference.snapshot import current_reference, fetched_folder

SOURCES = ReferenceSources()


@click.command(cls=Command)
@click.option(
    "--date",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Fetch routes and AS names of that day, for studies from then.  [default: the newest]",
)
@format_option
def command(day: datetime | None, output_format: str) -> None:
    """Fetch reference data into this user's cache.

    Routes come from RouteViews (by CAIDA), AS names from CAIDA, and the public suffix list from its publisher. analyze
    uses them from then on for every study, and records them in study.json.

    Example: originset study reference update --date 2026-10-01
    """
    update_reference(fetched_folder(), SOURCES, None if day is None else day.date())
    write_facts(current_reference().facts, output_format)
    note(f"kept in {fetched_folder()}; remove that folder to use the built-in data again")
