"""Which names to add to thousands of certificates: the most connections saved by real traffic, within the rules.

A connection from a site's page to a host is saved where the site's certificate covers the host too (and the server
announces it). The choice is exact, not greedy: ``plans/inventory_names.sql``.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from originset.models.plans.exclusions import Exclusions
from originset.models.plans.plan_queries import plan_rows

#: ``inventory``: one row a certificate. ``shared``: its names are the operator's own, made to be used by all customers'
#: pages. ``caa``: the CAs that the names' CAA records permit, NULL for any (RFC 8659). ``multi_cdn``: other CDNs serve
#: the names too, so that a client may not come to us for them.
INVENTORY = pl.Schema(
    {
        "certificate": pl.String(),
        "names": pl.List(pl.String()),
        "key_holder": pl.String(),
        "ca": pl.String(),
        "owner": pl.String(),
        "shared": pl.Boolean(),
        "opt_out": pl.Boolean(),
        "multi_cdn": pl.Boolean(),
        "caa": pl.List(pl.String()),
    }
)

#: ``pairs``: new connections a day to a host from a site's pages, as edge logs count them.
PAIRS = pl.Schema({"site": pl.String(), "host": pl.String(), "connections": pl.Int64()})

# A DNS name in the extension: tag and length before it (RFC 5280 section 4.2.1.6).
_NAME_OVERHEAD_BYTES = 2

# An RSA and an ECDSA certificate, old and new ones, have one set of names, or few. A name that more sets have in common
# belongs to no customer: what its pages lack is not to be added to everybody's certificates.
_NAME_SETS_OF_A_SITE = 8

_NONE = Exclusions()


@dataclass(frozen=True, slots=True)
class Limits:
    """``additions``: names added to one certificate at most. ``names``: names that the CA takes in one."""

    additions: int = 4
    names: int = 100


@dataclass(frozen=True, slots=True)
class InventoryPlan:
    """``additions``: unit, certificates, name, rank, sites, connections_saved (a day), added_bytes (of each).

    A unit is one certificate or those that are changed together, called by its first in the inventory's order;
    ``certificates`` are those of it that get the name. The best addition comes first.

    ``left_out``: reason, pairs, connections; with ``already covered`` and ``planned`` it sums up to all pairs.
    """

    additions: pl.DataFrame
    left_out: pl.DataFrame


def plan_inventory(
    inventory: pl.DataFrame, pairs: pl.LazyFrame, limits: Limits, excluded: Exclusions = _NONE
) -> InventoryPlan:
    """The plan for an inventory (columns as :data:`INVENTORY`) by real traffic (columns as :data:`PAIRS`).

    Certificates that cover a site together, such as an RSA and an ECDSA one, or an old and a new one, are one unit,
    since a client gets any of them: a name is added to each of them that lacks it. What forbids a name to one of them
    forbids it to the unit, and the fullest of them says how many the CA still takes.

    A name is proposed for a unit only where the operator holds all keys, neither side has opted out, the name is a
    shared one or the same owner's (never another customer's), no other CDN serves it, its CAA permits the
    certificates' CAs, the CA's limit leaves room, it is not ``excluded``, and it saves a connection. Raises as
    :func:`originset.models.plans.plan_queries.plan_rows`, where ``pairs`` cannot be read.
    """
    one_set = pl.col("names").list.unique().list.sort().list.join(" ", ignore_nulls=True)
    numbered = inventory.with_row_index("row").with_columns(name_set=one_set)
    groups = plan_rows("inventory_site_groups", {"inventory": numbered.lazy(), "pairs": pairs}, {})
    together = groups.filter(pl.col("name_sets") <= _NAME_SETS_OF_A_SITE)["rows"]
    units = pl.Series("unit", _unit_of_each(inventory.height, together.to_list()), pl.UInt32)
    tables = {"inventory": numbered.with_columns(units).lazy(), "pairs": pairs, "exclusions": excluded.rows().lazy()}
    parameters = {"additions": limits.additions, "names": limits.names, "name_sets": _NAME_SETS_OF_A_SITE}
    rows = plan_rows("inventory_names", tables, parameters)
    planned = rows.filter(outcome="planned")
    additions = planned.select(
        inventory["certificate"].gather(planned["unit"]).alias("unit"),
        pl.col("lacking").alias("certificates"),
        pl.col("host").alias("name"),
        "rank",
        "sites",
        pl.col("connections").alias("connections_saved"),
        (pl.col("host").str.len_bytes().cast(pl.Int64) + _NAME_OVERHEAD_BYTES).alias("added_bytes"),
    )
    left_out = rows.group_by(pl.col("outcome").alias("reason")).agg(pl.col("pairs", "connections").sum())
    return InventoryPlan(
        additions=additions.sort("connections_saved", "unit", "name", descending=[True, False, False]),
        left_out=left_out.sort("connections", "reason", descending=[True, False]),
    )


def _unit_of_each(count: int, groups: list[list[int]]) -> list[int]:
    """The unit of each of ``count`` certificates, called by its first: what one of ``groups`` has is in one unit."""
    above = list(range(count))

    def first(row: int) -> int:
        while above[row] != row:
            above[row] = above[above[row]]
            row = above[row]
        return row

    for group in groups:
        firsts = {first(row) for row in group}
        for row in firsts:
            above[row] = min(firsts)
    return [first(row) for row in range(count)]
