"""``originset plan diff``: what came and went between two plans."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.writers.origin_set import quoted
from originset.data.errors import UsageError
from originset.data.quantity import quantity
from originset.models.plans.inventory.inventory_plan_file import is_inventory_plan, read_inventory_plan
from originset.models.plans.plan_difference import inventory_difference, site_difference
from originset.models.plans.plan_file import read_plan


@click.command(cls=Command)
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@format_option
def command(*, old: Path, new: Path, output_format: str) -> None:
    """Show what came and went between two plans.

    OLD and NEW are files that plan site --out wrote, of one site, or that plan inventory --out wrote. A row is a
    server, an origin, a certificate, a certificate's name or a name to add that makes NEW of OLD. The way back is the
    same with the files exchanged.

    Example: originset plan diff old.json new.json --format json
    """
    rows = _difference(old, new)
    write_rows(rows, output_format)
    added, removed = (rows.filter(change=change).height for change in ("added", "removed"))
    note(f"{quantity(rows.height, 'difference')}: {added} added, {removed} removed")


def _difference(old: Path, new: Path) -> pl.DataFrame:
    if is_inventory_plan(old) or is_inventory_plan(new):
        return inventory_difference(read_inventory_plan(old).additions, read_inventory_plan(new).additions)
    before, after = read_plan(old), read_plan(new)
    if before.site != after.site:
        raise UsageError(f"{old} is a plan of {quoted(before.site)}, and {new} of {quoted(after.site)}")
    return site_difference(before, after)
