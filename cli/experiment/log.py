"""``originset experiment log``: an operator's own log of an experiment, evaluated as the paper's figure 8."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE, make_folder
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.common.ring_options import inventory_option
from originset.cli.experiment.experiment_options import out_folder_option
from originset.data.errors import UsageError
from originset.models.plans.inventory.ring_changes import groups_of_sites, ring_changes
from originset.queries.experiment_periods import over_time, periods_of, window_of
from originset.queries.figures.all_figures import Drawn, draw_own
from originset.queries.figures.paper_figure import PaperFigure

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Period(click.ParamType[int]):
    """A length of time such as 30s, 5m, 1h or 1d, as seconds."""

    name = "period"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"([1-9][0-9]{0,4})([smhd])", str(value))
        if found is None:
            self.fail(f"{value!r} is no length of time such as 30s, 5m, 1h or 1d", param, ctx)
        return int(found[1]) * _UNITS[found[2]]


@click.command(cls=Command)
@click.argument("log", metavar="LOG", type=FILE)
@click.option(
    "--window",
    nargs=2,
    required=True,
    metavar="FROM TO",
    help="When the change was in force: two days or times in UTC. TO is included if it is a day.",
)
@click.option(
    "--every",
    "every_s",
    type=Period(),
    help="Length of a period, such as 30s, 5m, 1h or 1d.  [default: the longest of 1d, 1h, 10m, 1m, 10s and 1s of "
    "which "
    "the window holds 7]",
)
@click.option("--host", metavar="HOST", help="Count connections opened for this host.  [default: for all hosts]")
@click.option(
    "--rollout",
    type=FILE,
    metavar="FILE",
    help="Take the groups from a rollout: lines have a site, the host of the page that asks, in the place of a group.",
)
@inventory_option
@out_folder_option
@format_option
def command(
    *,
    log: Path,
    window: tuple[str, str],
    every_s: int | None,
    host: str | None,
    rollout: Path | None,
    inventory: Path | None,
    out: Path,
    output_format: str,
) -> None:
    """Evaluate an experiment from the logs of servers.

    LOG is JSON Lines, or CSV with a header, of any length, perhaps compressed by gzip or zstandard, with a line for
    each request or handshake: time, group (control or experiment), connection (an id that is unique in its group) and
    host (the name asked for). A connection counts when its earliest line does, and for that line's host.

    Prints the mean number of new connections per period, the change against the control group, and the difference in
    differences with its 95 % interval. Draws figure 8 of the paper.

    Example: originset experiment log tls.jsonl --window 2026-01-11 2026-01-24 --host cdn.example.com
    """
    if (rollout is None) != (inventory is None):
        raise click.UsageError("--rollout and --inventory belong together.")
    group_of = None
    if rollout is not None and inventory is not None:
        group_of = groups_of_sites(ring_changes(rollout, inventory, None))
    found = periods_of(log, window_of(*window), host=host, every_s=every_s, group_of=group_of)
    drawn = draw_into(out, [(over_time(found, "change in force"), found.rows)])
    write_rows(drawn.numbers.select("number", "unit", value="ours"), output_format)
    note(f"{len(drawn.paths)} files in {out}")


def draw_into(out: Path, figures: Sequence[tuple[PaperFigure, pl.DataFrame]]) -> Drawn:
    """Draw figures and their numbers into the folder ``out``, which is made if it does not exist.

    Raises:
        UsageError: it cannot be written.
    """
    make_folder(out)
    try:
        return draw_own(figures, out)
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({error.strerror})", "name another folder with --out") from error
