"""``originset reference``: which reference data is in use, and fetching newer or older."""

from __future__ import annotations

from datetime import UTC, date, datetime

import click
import polars as pl

from originset.cli.output import format_option, note, write_rows
from originset.crawler.downloads.reference_tables import ReferenceSources, update_reference
from originset.data.reference import providers
from originset.data.reference.snapshot import Reference, current_reference, fetched_folder

SOURCES = ReferenceSources()


@click.group()
def command() -> None:
    """IP-to-AS table, AS names and public suffix list: what is in use, and how to get others.

    The program carries dated ones, so that nothing is fetched unless you ask for it.

    Example: originset reference show
    """


@command.command()
@format_option
def show(output_format: str) -> None:
    """Show what analyze would use now, with source, date and SHA-256.

    Example: originset reference show --format json
    """
    reference = current_reference()
    _write({**reference.facts, "providers": providers.described()}, output_format)
    warn_of_age(reference)


@command.command("update")
@click.option(
    "--date",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Routes and names as they were that day, for studies from then; the newest without it.",
)
@format_option
def update_command(day: datetime | None, output_format: str) -> None:
    """Fetch routes (RouteViews, by CAIDA), AS names (CAIDA) and the public suffix list into this user's cache.

    analyze uses them from then on, for every study that it resolves, and records so in study.json.

    Example: originset reference update --date 2026-10-01
    """
    update_reference(fetched_folder(), SOURCES, None if day is None else day.date())
    _write(current_reference().facts, output_format)
    note(f"kept in {fetched_folder()}; remove that folder to go back to what is built in")


def warn_of_age(reference: Reference) -> None:
    """A remark on stderr about data of more than a year ago."""
    for what, when in reference.old(_today()).items():
        note(f"{what.replace('_', ' ')} is of {when}, more than a year old: run originset reference update")


def _today() -> date:
    return datetime.now(UTC).date()


def _write(facts: dict[str, dict[str, str]], output_format: str) -> None:
    rows = [{"what": what, **entry} for what, entry in facts.items()]
    schema = dict.fromkeys(("what", "date", "source", "sha256"), pl.String)
    write_rows(pl.DataFrame(rows, schema=schema), output_format)
