"""``originset dev``: for those who work on originset itself."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "doctor": "originset.cli.dev.doctor",
        "testbed": "originset.cli.dev.testbed_command",
        "scenario": "originset.cli.dev.scenario_command",
    }
)
def command() -> None:
    """Check this machine, use the testbed, export scenarios.

    The testbed is a small internet in a network namespace: DNS servers, a private CA and TLS servers. A scenario is the
    TOML file that says which hosts are in it.

    Example: originset dev doctor
    """
