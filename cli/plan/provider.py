"""``originset plan provider``: the names that a provider would best add to all its sites' certificates."""

from __future__ import annotations

import json
from pathlib import Path

import click

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import write_text_or_print
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.plan.options import (
    exclude_from_option,
    exclude_option,
    exclusions,
    max_additions_option,
    plan_out_option,
    zero_savings_option,
)
from originset.data.quantity import quantity
from originset.data.studies.study import Study
from originset.models.plans.provider_plan import provider_plan, with_savings


@click.command(cls=Command)
@click.argument("name")
@max_additions_option
@exclude_option
@exclude_from_option
@zero_savings_option
@plan_out_option
@study_option
@format_option
@click.pass_obj
def command(
    study: Study,
    *,
    name: str,
    max_additions: int | None,
    exclude: tuple[str, ...],
    exclude_from: Path | None,
    zero_savings: bool,
    out: Path | None,
    output_format: str,
) -> None:
    """Plan names for the certificates of a provider's sites.

    NAME is a CDN or hosting provider as the study's table provider_changes has it. A row is a name that the provider
    would add to the certificates of all its sites in one of its ASes; the name that saves most comes first.

    Example: originset --study S plan provider Cloudflare
    """
    excluded = exclusions(exclude, exclude_from)
    found = provider_plan(study, name, excluded)
    kept = found if zero_savings else with_savings(found)
    rows = kept.slice(0, max_additions)
    if out is None:
        write_rows(rows, output_format)
    else:
        write_text_or_print(out, json.dumps(rows.rows(named=True), indent=2, ensure_ascii=True) + "\n")
    if idle := found.height - kept.height:
        note(f"left out: {quantity(idle, 'name')} that would save no connection in any browser")
