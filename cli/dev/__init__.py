"""``originset dev``: for those who work on originset itself."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "doctor": "originset.cli.dev.doctor",
        "scenario": "originset.cli.dev.scenario_command",
    }
)
def command() -> None:
    """Check this machine, export scenarios of the testbed.

    A scenario is the TOML file that says which hosts are in the testbed, the small internet of originset lab.

    Example: originset dev doctor
    """
