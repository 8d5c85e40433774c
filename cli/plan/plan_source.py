"""Where a command takes its plan from: a site of the study, or the file that ``plan site --out`` wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from originset.cli.common.files import FILE
from originset.data.studies.study import Study
from originset.models.plans.origin_plan import Plan
from originset.models.plans.plan_file import read_plan
from originset.models.plans.site_plan import site_plan


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``site`` and ``plan_path``, for :func:`chosen_plan`."""
    site = click.option("--site", metavar="HOST", help="Make the plan of this site of the study.")
    plan = click.option(
        "--plan",
        "plan_path",
        type=FILE,
        metavar="FILE",
        help="The plan: a file that plan site --out wrote.",
    )
    return site(plan(command))


def chosen_plan(study: Study, site: str | None, path: Path | None) -> Plan:
    """The plan of a site of the study, or from a file.

    Raises:
        click.UsageError: both are given, or neither.
        UsageError: the study has no such site.
        InputError: as :func:`originset.models.plans.plan_file.read_plan`.
    """
    if site is not None and path is None:
        return site_plan(study, site)
    if path is not None and site is None:
        return read_plan(path)
    raise click.UsageError("Give either --site or --plan.")
