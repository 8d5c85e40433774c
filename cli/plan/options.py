"""Options that plans for a site, a provider and an inventory have in common."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.common.files import FILE
from originset.crawler.crawl.site_list import read_exclusions
from originset.models.plans.exclusions import Exclusions

max_additions_option = click.option(
    "--max-additions",
    type=click.IntRange(min=0),
    metavar="N",
    help="Propose at most N names to add to a certificate.  [default: no limit]",
)

exclude_option = click.option(
    "--exclude", multiple=True, metavar="HOST", help="Neither announce nor add this host. Can be repeated."
)

exclude_from_option = click.option(
    "--exclude-from",
    type=FILE,
    metavar="FILE",
    help="Neither announce nor add the hosts in this file, one per line, and their subdomains.",
)

zero_savings_option = click.option(
    "--zero-savings", is_flag=True, help="Also propose names that save no connection in any browser."
)

plan_out_option = click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write the plan there as JSON; - writes it to stdout instead of the table.",
)


def exclusions(hosts: tuple[str, ...], path: Path | None) -> Exclusions:
    """What ``--exclude`` and ``--exclude-from`` name.

    Raises:
        InputError: as :func:`originset.crawler.crawl.site_list.read_exclusions`.
    """
    return Exclusions(
        frozenset(host.lower().rstrip(".") for host in hosts), frozenset() if path is None else read_exclusions(path)
    )
