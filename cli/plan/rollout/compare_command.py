"""``originset plan rollout compare``: a ring's traffic, during its change against before, beside its control."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE
from originset.cli.common.finite_range import FiniteRange
from originset.cli.common.output import format_option, note, write_rows
from originset.data.errors import UsageError
from originset.models.plans.inventory.inventory_files import scan_traffic
from originset.models.plans.inventory.ring_changes import ring_changes
from originset.models.plans.inventory.ring_comparison import COUNTERS, LEAST_CONNECTIONS, compare_ring

_HOLDS, _WORSE, _UNDECIDED = 0, 1, 3


@click.command(cls=Command)
@click.argument("rollout", type=FILE)
@click.option("--inventory", type=FILE, required=True, metavar="FILE", help="The certificates, as for plan inventory.")
@click.option("--ring", type=click.IntRange(min=1), required=True, metavar="N", help="The ring.")
@click.option("--before", type=FILE, required=True, metavar="FILE", help="Traffic of before the ring's change.")
@click.option("--during", type=FILE, required=True, metavar="FILE", help="Traffic since the ring's change.")
@click.option(
    "--most-ratio",
    type=FiniteRange(0.01, 100),
    default=1.0,
    show_default=True,
    metavar="RATIO",
    help="New connections are to be below this ratio of ratios. Above 1 it bounds a rise, if few clients coalesce.",
)
@click.option(
    "--most-points",
    type=FiniteRange(0, 100),
    default=0.1,
    show_default=True,
    metavar="POINTS",
    help="How much a share, such as errors among requests, may rise against the control: percentage points.",
)
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    rollout: Path,
    inventory: Path,
    ring: int,
    before: Path,
    during: Path,
    most_ratio: float,
    most_points: float,
    output_format: str,
) -> None:
    """Compare a ring's traffic with that before and a control.

    Traffic is a CSV or Parquet file with the columns site, host and connections, and requests, errors, misdirected
    (answers of 421), handshakes and handshake_failures as far as they are counted. What goes to the names that the ring
    adds counts: during against before in the experiment group, divided by the same in the control group, with the 95 %
    interval; of shares the differences. The periods need not be equally long. The remarks say what takes the place of a
    control that a ring has not.

    Exit codes: 0 connections are fewer, 1 connections are more or a share is worse, 3 undecided.

    Example: originset plan rollout compare rings.json --inventory certificates.csv --ring 1 --before t --during u
    """
    changes = ring_changes(rollout, inventory, None)
    if ring not in changes:
        raise UsageError(f"{rollout} has no ring {ring}", f"it has {len(changes)}")
    found = compare_ring(
        changes,
        ring,
        scan_traffic(before, COUNTERS),
        scan_traffic(during, COUNTERS),
        most_ratio=most_ratio,
        most_points=most_points,
    )
    write_rows(found.rows, output_format)
    if found.instead is not None:
        note(f"ring {ring} is compared {found.instead}")
    note(f"to tell a change of 10 %, each group needs {found.needed} connections before and during")
    note(f"an interval takes {LEAST_CONNECTIONS} at least")
    ctx.exit(_WORSE if found.is_worse else _HOLDS if found.connections == "fewer" else _UNDECIDED)
