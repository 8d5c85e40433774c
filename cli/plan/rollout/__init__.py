"""``originset plan rollout``: a rollout carried out ring by ring, stopped and taken back by what is measured."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "status": "originset.cli.plan.rollout.status_command",
        "next": "originset.cli.plan.rollout.next_command",
        "back": "originset.cli.plan.rollout.back_command",
        "compare": "originset.cli.plan.rollout.compare_command",
    }
)
def command() -> None:
    """Carry out a rollout, ring by ring.

    next carries out the next ring, and takes it back if a check fails. back takes back the last one. status shows how
    far it is, and each command that is run. compare holds a ring's traffic against that of before and of a control.

    Example: originset plan rollout status rings.json --inventory certificates.csv
    """
