"""``originset lab doctor``: is this machine ready, and if not, which command makes it so."""

from __future__ import annotations

import sys

import click
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.output import format_option, note, write_rows
from originset.crawler.readiness import examine

FINDINGS = pl.Schema(dict.fromkeys(("what", "found", "needed_for", "remedy"), pl.String()))


@click.command(cls=Command)
@format_option
def command(output_format: str) -> None:
    """List what this machine has for crawls, the demo and tests.

    A row is a program or a right, what needs it, and, if it is missing, the command that provides it. Exit codes: 0
    nothing is missing, 1 something is missing.

    Example: originset lab doctor
    """
    findings = list(examine())
    rows = pl.DataFrame(
        [(f.what, f.found, ", ".join(f.needed_for), None if f.found else f.remedy) for f in findings],
        schema=FINDINGS,
        orient="row",
    )
    write_rows(rows, output_format)
    if any(finding.found is None for finding in findings):
        note("something is missing: the column remedy has the commands that provide it")
        sys.exit(1)
