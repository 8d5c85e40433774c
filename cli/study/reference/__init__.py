"""``originset study reference``: the reference data that studies are analysed with."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup({"show": "originset.cli.study.reference.show", "update": "originset.cli.study.reference.update"})
def command() -> None:
    """Show or fetch IP-to-AS tables and other reference data.

    The program carries a dated IP-to-AS table, AS names and the public suffix list. Newer ones are fetched only by
    update.

    Example: originset study reference show
    """
