"""What one plan has and another has not: servers, origins, certificates, and their names."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from originset.models.plans.inventory.inventory_plan_file import PlannedAddition
from originset.models.plans.origin_plan import Plan

#: ``change``: what makes the second plan of the first. ``server``: of an origin; ``certificate``: of a name to add.
DIFFERENCE = pl.Schema(
    {
        "change": pl.String(),
        "kind": pl.String(),
        "server": pl.String(),
        "certificate": pl.String(),
        "value": pl.String(),
    }
)

Entry = tuple[str, str | None, str | None, str]


def site_difference(old: Plan, new: Plan) -> pl.DataFrame:
    """Rows of :data:`DIFFERENCE` between two plans of a site.

    What a plan does not know of its certificate is not compared.
    """
    skipped = set()
    if old.certificate_id is None or new.certificate_id is None:
        skipped.add("certificate")
    if old.names is None or new.names is None:
        skipped.add("certificate name")
    before, after = ({entry for entry in _entries(plan) if entry[0] not in skipped} for plan in (old, new))
    return _difference(before, after)


def inventory_difference(old: list[PlannedAddition], new: list[PlannedAddition]) -> pl.DataFrame:
    """Rows of :data:`DIFFERENCE` between the additions of two plans of an inventory."""
    return _difference(set(_additions(old)), set(_additions(new)))


def _entries(plan: Plan) -> Iterator[Entry]:
    for server in plan.servers:
        yield ("server", None, None, server.server)
        for origin in server.origins:
            yield ("origin", server.server, None, origin)
    if plan.certificate_id is not None:
        yield ("certificate", None, None, plan.certificate_id)
    for name in plan.names or []:
        yield ("certificate name", None, None, name)
    for addition in plan.additions:
        yield ("name to add", None, None, addition.name)


def _additions(plan: list[PlannedAddition]) -> Iterator[Entry]:
    for one in plan:
        for certificate in one.certificates:
            yield ("name to add", None, certificate, one.name)


def _difference(before: set[Entry], after: set[Entry]) -> pl.DataFrame:
    changes = [("removed", *entry) for entry in before - after] + [("added", *entry) for entry in after - before]
    rows = pl.DataFrame(changes, schema=DIFFERENCE, orient="row")
    return rows.sort("kind", "server", "certificate", "value", "change", nulls_last=False)
