"""``originset plan rollout back``: the ring that is under way, or the last one that is done, taken back."""

from __future__ import annotations

from typing import Any

import click

from originset.cli.common.command_tree import Command
from originset.cli.common.output import note
from originset.cli.plan.rollout.ring_execution import begin_back, take_back
from originset.cli.plan.rollout.rollout_options import files_of, rollout_options
from originset.cli.plan.rollout.rollout_state import StateFile
from originset.models.plans.inventory.rollout_file import read_rollout


@click.command(cls=Command)
@rollout_options
def command(**options: Any) -> None:  # noqa: ANN401 - the options of every command here
    """Take back the ring under way, or the last ring done.

    The program takes back ORIGIN configurations and certificates, in this order, as far as the ring had come; after
    each the hosts are checked. Exit codes: 0 the ring is taken back, 2 it is not, or in part: run the same again.

    Example: originset plan rollout back rings.json --inventory certificates.csv --program ./deploy
    """
    files = files_of(**options)
    if files.program is None:
        raise click.UsageError("plan rollout back takes --program.")
    file = StateFile(files, len(read_rollout(files.rollout).rings))
    with file.locked() as state:
        if state.ring == 0:
            note("no ring is begun")
            return
        if state.direction == "rest":
            state.place = len(files.forward(state.ring))
        if state.direction != "backward":
            begin_back(file, "as asked")
        take_back(file, files)
