"""Options that plans for a site, a provider and an inventory have in common."""

from __future__ import annotations

from pathlib import Path

import click

max_additions_option = click.option(
    "--max-additions",
    type=click.IntRange(min=0),
    metavar="N",
    help="Propose at most N names to add to a certificate.  [default: no limit]",
)

exclude_option = click.option(
    "--exclude", multiple=True, metavar="HOST", help="Neither announce nor add this host. Can be repeated."
)

plan_out_option = click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write the plan there as JSON; - writes it to stdout instead of the table.",
)
