"""``originset check``: a live server, a server's configuration, or pages, against what was decided."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "server": "originset.cli.check.server",
        "lint": "originset.cli.check.lint",
        "pairs": "originset.cli.check.pairs",
        "budget": "originset.cli.check.budget",
    }
)
def command() -> None:
    """Check a live server, a configuration, or pages.

    server is for before and after a change of a server's ORIGIN set or certificate, lint for before a configuration is
    deployed, pairs for how far a study's evidence about servers holds, budget for continuous integration.

    Example: originset check budget budget.toml page.har
    """
