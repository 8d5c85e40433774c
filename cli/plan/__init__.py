"""``originset plan``: what to announce and which names to add, and the files that bring it about."""

from __future__ import annotations

from originset.cli.common.command_tree import subgroup


@subgroup(
    {
        "site": "originset.cli.plan.site",
        "provider": "originset.cli.plan.provider",
        "inventory": "originset.cli.plan.inventory",
        "predict": "originset.cli.plan.predict",
        "diff": "originset.cli.plan.diff",
        "config": "originset.cli.plan.config",
        "certificate": "originset.cli.plan.certificate",
        "requests": "originset.cli.plan.requests_command",
        "rollout": "originset.cli.plan.rollout",
    }
)
def command() -> None:
    """Plan ORIGIN frames and certificate names; write them.

    site, provider and inventory make a plan for a site, a CDN or hosting provider, or a CDN's own certificates. predict
    says what browsers would do with a site's plan, diff what came and went since an older plan. config and certificate
    write the files that deploy it, requests those of all certificates of a rollout, which rollout carries out.

    Example: originset --study S plan site www.example.com
    """
