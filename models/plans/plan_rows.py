"""A site's plan as rows of a table."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from originset.models.origins import parse
from originset.models.plans.origin_plan import Plan

PLAN_ROWS = pl.Schema(
    {
        "action": pl.String(),
        "server": pl.String(),
        "host": pl.String(),
        "port": pl.Int64(),
        "why": pl.String(),
        "level": pl.Int64(),
        "requests": pl.Int64(),
        "visits": pl.Int64(),
        "seen_share": pl.Float64(),
        "coalesces_today": pl.Boolean(),
        "connections_saved_paper": pl.Int64(),
        "connections_saved_chromium": pl.Int64(),
        "connections_saved_chromium_h3": pl.Int64(),
        "connections_saved_firefox": pl.Int64(),
        "connections_saved_mix": pl.Float64(),
    }
)

# What to do about a name and why, by who can validate it.
_TO_ADD = {
    "site": ("add to certificate", "not in the certificate"),
    "provider": ("ask the provider", "not in the certificate; it is on the provider's edge, not the site's own"),
    "nobody_known": ("ask the provider", "not in the certificate, and nobody is known who could validate it"),
    None: ("ask the provider", "not in the certificate, and it is not known who could validate it"),
}


def plan_rows(plan: Plan) -> pl.DataFrame:
    """The plan as PLAN_ROWS: what to announce, what to leave out, names to add or to ask their owners for."""
    shown: list[dict[str, Any]] = []
    for server in plan.servers:
        for entry in server.announce:
            host, port = parse(entry.origin)
            facts = {"action": "announce", "server": server.server, "host": host, "port": port}
            shown.append({**facts, **_row_values(entry)})
        shown += [
            {"action": "leave out", "server": server.server, "why": left.detail, **_row_values(left)}
            for left in server.left_out
        ]
    for addition in plan.additions:
        action, why = _TO_ADD[addition.validatable_by]
        shown.append({"action": action, "host": addition.name, "why": why, **_row_values(addition)})
    shown += [{"action": "do not add", "host": left.name, "why": left.detail} for left in plan.additions_left_out]
    return pl.DataFrame(shown, schema=PLAN_ROWS)


def _row_values(entry: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(entry).items() if name in PLAN_ROWS}
