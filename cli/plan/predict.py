"""``originset plan predict``: what browsers need for a site's pages with and without a plan."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import FILE
from originset.cli.common.output import format_option, write_rows
from originset.data.studies.study import Study
from originset.models.plans.plan_file import read_plan
from originset.models.plans.plan_prediction import plan_prediction


@click.command(cls=Command)
@click.argument("plan_path", metavar="PLAN", type=FILE)
@study_option
@format_option
@click.pass_obj
def command(study: Study, *, plan_path: Path, output_format: str) -> None:
    """Predict what each browser needs under a plan.

    PLAN is a file that plan site --out wrote. A row gives, for a browser, the connections, lookups, handshake bytes and
    round trips for the site's pages: today, with the ORIGIN sets that can be announced now, and with the whole plan.

    Example: originset --study S plan site www.example.com --out p.json && originset --study S plan predict p.json
    """
    write_rows(plan_prediction(study, read_plan(plan_path)), output_format)
