"""Where a command takes its plan from: a site of the study, or the file that ``plan --out`` wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from originset.cli.files import FILE
from originset.cli.site_plan import site_plan
from originset.data.errors import InputError
from originset.data.studies.study import Study
from originset.models.plans.origin_plan import VERSION, Plan

# A plan has some 200 bytes a host; nothing honest comes near this.
_MAX_PLAN_BYTES = 64 << 20


def plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``site`` and ``plan_path``, for :func:`chosen_plan`."""
    site = click.option("--site", metavar="HOST", help="Plan for this site of the study.")
    plan = click.option(
        "--plan",
        "plan_path",
        type=FILE,
        metavar="FILE",
        help="Take the plan that plan --out wrote.",
    )
    return site(plan(command))


def chosen_plan(study: Study, site: str | None, path: Path | None) -> Plan:
    """The plan of a site of the study, or from a file.

    Raises:
        click.UsageError: both are given, or neither.
        UsageError: the study has no such site.
        InputError: as :func:`read_plan`.
    """
    if site is not None and path is None:
        return site_plan(study, site)
    if path is not None and site is None:
        return read_plan(path)
    raise click.UsageError("Give either --site or --plan.")


def read_plan(path: Path) -> Plan:
    """A plan from a file.

    Raises:
        InputError: it cannot be read, or is not a plan of a version that is known here.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_PLAN_BYTES + 1)
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    if len(content) > _MAX_PLAN_BYTES:
        raise InputError(str(path), "too-large", "is too large for a plan")
    try:
        made = msgspec.json.decode(content, type=Plan)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(str(path), "not-a-plan", f"is not a plan ({error})") from error
    if made.version > VERSION:
        raise InputError(
            str(path), "newer-plan", f"is a plan of version {made.version}; use the originset that wrote it"
        )
    return made
