"""``originset check``: a live server, or pages, against what was decided about them."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup({"server": "originset.cli.check.server", "budget": "originset.cli.check.budget"})
def command() -> None:
    """Check a live server, or pages against a budget.

    server is for before and after a change of a server's ORIGIN set or certificate, budget for continuous integration.

    Example: originset check budget budget.toml page.har
    """
