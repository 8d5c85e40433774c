"""``originset rollout``: a rollout carried out ring by ring, stopped and taken back by what is measured."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "status": "originset.cli.rollout.status_command",
        "next": "originset.cli.rollout.next_command",
        "back": "originset.cli.rollout.back_command",
        "compare": "originset.cli.rollout.compare_command",
    }
)
def command() -> None:
    """Carry out a rollout, ring by ring.

    next carries out the next ring, and takes it back if a check fails. back takes back the last one. status shows how
    far it is, and each command that is run. compare holds a ring's traffic against that of before and of a control.

    Example: originset rollout status rings.json --inventory certificates.csv
    """
