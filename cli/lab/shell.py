"""``originset lab shell``: a shell inside a running testbed."""

from __future__ import annotations

import os

import click

from originset.cli.common.command_namespace import enter_namespace
from originset.cli.common.command_tree import Command
from originset.cli.common.output import note
from originset.cli.lab.lab_options import SCENARIO, LabOptions, lab_options
from originset.crawler.testbed.testbed_command import run_command


@click.command(cls=Command)
@click.argument("scenario", type=SCENARIO, default="thirty_sites")
@lab_options
@click.pass_context
def command(ctx: click.Context, *, scenario: str, lab: LabOptions) -> None:
    """Open a shell inside the lab.

    SCENARIO is as for lab run, and thirty_sites if none is given. The shell is that of the variable SHELL. It has job
    control: Ctrl-C and Ctrl-Z reach what runs in it. The lab ends with the shell.

    Example: originset lab shell
    """
    enter_namespace()
    note("the lab's sites are listed in $ORIGINSET_TESTBED/sites.txt; exit ends the lab")
    shell = os.environ.get("SHELL") or "/bin/sh"
    ctx.exit(run_command([shell], scenario, lab.out, lab.latency, job_control=True))
