"""``originset study reference show``: which reference data is in use."""

from __future__ import annotations

import click

from originset.cli.common.command_tree import Command
from originset.cli.common.output import format_option
from originset.cli.common.reference_data import warn_of_age, write_facts
from originset.data.reference import providers
from originset.data.reference.snapshot import current_reference


@click.command(cls=Command)
@format_option
def command(output_format: str) -> None:
    """Show what analyze uses: source, date and SHA-256.

    Example: originset study reference show --format json
    """
    reference = current_reference()
    write_facts({**reference.facts, "providers": providers.described()}, output_format)
    warn_of_age(reference)
