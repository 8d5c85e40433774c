"""``originset experiment``: a change with a control group, and a plan in the testbed."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "run": "originset.cli.experiment.run",
        "verify": "originset.cli.experiment.verify",
        "log": "originset.cli.experiment.log",
    }
)
def command() -> None:
    """Test a change: in the testbed, or from servers' logs.

    run repeats the paper's live experiment with browsers in the testbed. verify deploys a site's plan there. log
    evaluates an experiment from the logs of servers.

    Example: originset experiment log tls.jsonl --window 2026-01-11 2026-01-24 --out evaluation
    """
