"""``originset lab``: a small internet on this machine, to rehearse commands in."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "run": "originset.cli.lab.run_command",
        "shell": "originset.cli.lab.shell",
        "scenario": "originset.cli.lab.scenario_command",
        "doctor": "originset.cli.lab.doctor",
    }
)
def command() -> None:
    """Rehearse commands against sites on this machine.

    The lab is the testbed: DNS servers, a private CA and TLS servers in a network namespace. A scenario says which
    hosts are in it. Nothing that runs there reaches another network. scenario makes one of a page of a study. doctor
    lists what this machine lacks.

    Example: originset lab run thirty_sites -- getent hosts www.site7.test
    """
