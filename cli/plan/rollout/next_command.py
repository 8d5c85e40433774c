"""``originset plan rollout next``: the next ring of a rollout, from its first check to the comparison of traffic."""

from __future__ import annotations

from typing import Any

import click

from originset.cli.common.command_tree import Command
from originset.cli.common.output import note
from originset.cli.plan.rollout.ring_execution import carry_out
from originset.cli.plan.rollout.rollout_options import files_of, rollout_options
from originset.cli.plan.rollout.rollout_state import StateFile
from originset.data.errors import UsageError
from originset.models.plans.inventory.rollout_file import read_rollout


@click.command(cls=Command)
@rollout_options
@click.option("--again", is_flag=True, help="Begin a ring that was taken back again.")
@click.pass_context
def command(ctx: click.Context, /, *, again: bool, **options: Any) -> None:  # noqa: ANN401 - the options of every command here
    """Carry out the next ring, or the rest of it.

    ROLLOUT is a file that plan inventory --rollout wrote. The hosts of a ring are checked, requests for its
    certificates are written, and the program deploys them. The hosts are checked again, ORIGIN configurations are
    written and deployed. The hosts are checked once more, the program measures the ring's traffic, and that is
    compared. Each command and what it exited with is in state.json in the folder --out.

    What finds a fault takes the ring back. Exit codes: 0 the ring is done, 1 it was taken back, 2 a command cannot be
    run, 3 something is not decided yet: run the same again.

    Example: originset plan rollout next rings.json --inventory certificates.csv --before traffic.csv --program ./deploy
    """
    files = files_of(**options)
    if files.before is None or files.program is None:
        raise click.UsageError("plan rollout next takes --before and --program.")
    rings = len(read_rollout(files.rollout).rings)
    file = StateFile(files, rings)
    with file.locked() as state:
        if state.direction == "backward":
            raise UsageError(f"ring {state.ring} is not taken back yet", "run: originset plan rollout back")
        if state.direction == "rest":
            if state.problem is not None and not again:
                problem = f"ring {state.ring + 1} was taken back: {state.problem}"
                raise UsageError(problem, "once that is mended, begin it again with --again")
            if state.ring == rings:
                note(f"all {rings} rings are done")
                return
            state.ring, state.place, state.direction, state.problem = state.ring + 1, 0, "forward", None
            file.save()
        ctx.exit(carry_out(file, files))
