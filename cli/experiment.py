"""``originset experiment``: experiments with a control group, from the testbed or an operator's log; plans verified."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import polars as pl

from originset.cli.experiment_log import Period, draw_into, over_time, periods_of, window_of
from originset.cli.experiment_run import run_experiment
from originset.cli.experiment_verify import summary, verify_plan
from originset.cli.files import FILE
from originset.cli.output import format_option, note, write_rows
from originset.crawler.testbed.namespace import in_namespace, run_inside
from originset.data.errors import UsageError
from originset.data.studies.study import Study
from originset.models.experiments.experiment_design import Mode


@click.command()
@click.option("--sites", type=click.IntRange(2), metavar="N", help="Run one in the testbed: so many sites a group.")
@click.option(
    "--mode",
    type=click.Choice(("ip", "origin")),
    default="origin",
    show_default=True,
    help="With --sites: Chromium and one address for all hosts, or Firefox and ORIGIN frames.",
)
@click.option("--seed", type=click.IntRange(0), default=8336, show_default=True, help="With --sites: which pages.")
@click.option(
    "--from-log",
    "log",
    type=FILE,
    metavar="LOG",
    help="JSON Lines, or CSV with a header, of time, group, connection, host: a line for each request or handshake.",
)
@click.option(
    "--window",
    nargs=2,
    metavar="FROM TO",
    help="With --from-log: when the change was in force, in UTC; a day as TO is in it.",
)
@click.option(
    "--every", "every_s", type=Period(), help="With --from-log: length of a period, such as 30s, 5m, 1h or 1d."
)
@click.option("--host", help="With --from-log: count connections that were opened for this host; default: for any.")
@click.option(
    "--verify-plan",
    "plan",
    type=FILE,
    metavar="FILE",
    help="Deploy what plan --out wrote in the testbed, and compare with what was predicted.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("experiment"),
    show_default=True,
    help="The folder for figures and numbers; made if it is not there.",
)
@format_option
@click.pass_obj
def command(
    study: Study,
    *,
    sites: int | None,
    mode: Mode,
    seed: int,
    log: Path | None,
    window: tuple[str, str] | None,
    every_s: int | None,
    host: str | None,
    plan: Path | None,
    out: Path,
    output_format: str,
) -> None:
    """Compare new connections of an experiment and a control group before, during and after a change.

    --sites runs one in a network namespace of its own: sites that use one shared host, of which 36 % of pages ask it
    for something without credentials; the control's certificates have an unused name of the same length. What the
    browser's rules predict is written down first. Then every page is loaded before the change, during it, and after it
    was taken back. Prints predictions and observations; exit code 1 if one that is judged does not hold.

    --from-log takes servers' logs of any length: group is control or experiment, connection tells a group's
    connections apart, host is the name asked for. A connection counts when its earliest line does, and for that line's
    host. Prints means of periods, the change against the control, and the difference in differences with 95 %
    intervals; draws figure 8. Without --every a period is the longest of 1d, 1h, 10m, 1m, 10s, 1s of which the window
    holds 7.

    --verify-plan rebuilds the pages of the plan's site, as the study has them, in the testbed: certificates with the
    names to add, ORIGIN sets as planned. It loads them in Chromium and Firefox and prints of each host by whose
    connections it was to be served and was, and where the plan says other than the study. Exit code 1 if something
    differs. What of a page cannot be rebuilt is said.

    Example: originset experiment --from-log tls.jsonl --window 2026-01-11 2026-01-24 --host cdn.example.com
    """
    if [log, sites, plan].count(None) != 2:
        advice = "name one of --sites, --from-log and --verify-plan"
        raise UsageError("an experiment is run, or a log of one read, or a plan verified", advice)
    if log is None and (window is not None or every_s is not None or host is not None):
        raise UsageError("--window, --every and --host are for --from-log", "leave them out")
    if log is not None:
        if window is None:
            raise UsageError("--from-log needs the time of the change", "add --window FROM TO")
        found = periods_of(log, window_of(*window), host=host, every_s=every_s)
        drawn = draw_into(out, [(over_time(found, "change in force"), found.rows)])
        write_rows(drawn.numbers.select("number", "unit", value="ours"), output_format)
        note(f"{len(drawn.paths)} files in {out}")
        return
    if not in_namespace():
        sys.exit(run_inside([sys.executable, "-m", "originset", *sys.argv[1:]], os.environ))
    if plan is not None:
        rows = verify_plan(study, plan, out)
        write_rows(rows, output_format)
        note(f"{summary(rows)}; scenarios and connections.csv are in {out}")
        if not rows["agrees"].all():
            sys.exit(1)
    elif sites is not None:
        checks = run_experiment(sites, mode, seed, out)
        write_rows(checks, output_format)
        note(f"figures, loads.csv, log.jsonl and numbers.csv are in {out}")
        if checks.filter(~pl.col("holds")).height:
            note("not all is as predicted")
            sys.exit(1)
