"""``originset experiment``: what an experiment with a control group shows."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.experiment_log import Period, evaluated, window_of
from originset.cli.output import format_option, note, write_rows
from originset.data.errors import UsageError


@click.command()
@click.option(
    "--from-log",
    "log",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="LOG",
    help="JSON Lines, or CSV with a header, of time, group, connection, host: a line for each request or handshake.",
)
@click.option(
    "--window", nargs=2, metavar="FROM TO", help="When the change was in force, in UTC; a day as TO is in it."
)
@click.option("--every", "every_s", type=Period(), help="Length of a period, such as 30s, 5m, 1h or 1d.")
@click.option("--host", help="Count connections that were opened for this host; default: for any.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("experiment"),
    show_default=True,
    help="The folder for figures and numbers; made if it is not there.",
)
@format_option
def command(
    *,
    log: Path | None,
    window: tuple[str, str] | None,
    every_s: int | None,
    host: str | None,
    out: Path,
    output_format: str,
) -> None:
    """Compare new connections of an experiment and a control group before, during and after a change.

    --from-log takes servers' logs of any length: group is control or experiment, connection tells a group's
    connections apart, host is the name asked for. A connection counts when its earliest line does, and for that line's
    host. Prints means of periods, the change against the control, and the difference in differences with 95 %
    intervals; draws figure 8. Without --every a period is the longest of 1d, 1h, 10m, 1m, 10s, 1s of which the window
    holds 7.

    Example: originset experiment --from-log tls.jsonl --window 2026-01-11 2026-01-24 --host cdn.example.com
    """
    if log is None:
        raise UsageError("nothing says what to evaluate", "name a log with --from-log")
    if window is None:
        raise UsageError("--from-log needs the time of the change", "add --window FROM TO")
    drawn = evaluated(log, window_of(*window), out, host=host, every_s=every_s, change="change in force")
    write_rows(drawn.numbers.select("number", "unit", value="ours"), output_format)
    note(f"{len(drawn.paths)} files in {out}")
