"""``originset plan rollout status``: how far a rollout is, and the commands that come next."""

from __future__ import annotations

import shlex
from typing import Any

import click
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.plan.rollout.rollout_options import files_of, rollout_options
from originset.cli.plan.rollout.rollout_state import RolloutState, StateFile
from originset.models.plans.inventory.rollout_file import read_rollout

RING_STATES = pl.Schema(
    {
        "ring": pl.Int64(),
        "certificates": pl.Int64(),
        "control": pl.Int64(),
        "connections_saved": pl.Int64(),
        "state": pl.String(),
    }
)


@click.command(cls=Command)
@rollout_options
@format_option
def command(*, output_format: str, **options: Any) -> None:  # noqa: ANN401 - the options of every command here
    """Show how far a rollout is, and what comes next.

    A row is a ring. Each command that rollout next, or rollout back, would run now is listed on stderr.

    Example: originset plan rollout status rings.json --inventory certificates.csv
    """
    files = files_of(**options)
    rings = read_rollout(files.rollout).rings
    state = StateFile(files, len(rings)).read()
    rows = [
        (
            one.ring,
            len(one.certificates),
            sum(change.group == "control" for change in one.certificates),
            one.connections_saved,
            _state_of(one.ring, state),
        )
        for one in rings
    ]
    write_rows(pl.DataFrame(rows, schema=RING_STATES, orient="row"), output_format)
    if state.problem is not None:
        note(f"taken back: {state.problem}")
    if state.direction == "backward":
        coming = files.backward(state.ring, state.reached)[state.place :]
    elif state.direction == "forward":
        coming = files.forward(state.ring)[state.place :]
    else:
        coming = files.forward(state.ring + 1) if state.ring < len(rings) else []
    for one in coming:
        note(f"next: {shlex.join(one.words)}")


def _state_of(ring: int, state: RolloutState) -> str:
    if ring < state.ring or (ring == state.ring and state.direction == "rest"):
        return "done"
    if ring == state.ring:
        return "under way" if state.direction == "forward" else "being taken back"
    return "taken back" if ring == state.ring + 1 and state.problem is not None else "not begun"
