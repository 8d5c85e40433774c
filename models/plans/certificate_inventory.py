"""Which names to add to thousands of certificates: the most connections saved by real traffic, within the rules.

A connection from a site's page to a host is saved where the site's certificate covers the host too (and the server
announces it). The choice is exact, not greedy: ``plans/inventory_names.sql``.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from originset.models.plans.plan_queries import plan_rows

#: ``inventory``: one row a certificate (certificates for the same names with other keys are one). ``shared``: its names
#: are the operator's own, made to be used by all customers' pages. ``caa``: the CAs that the names' CAA records permit,
#: NULL for any (RFC 8659). ``multi_cdn``: other CDNs serve the names too, so that a client may not come to us for them.
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


@dataclass(frozen=True, slots=True)
class Limits:
    """``additions``: names added to one certificate at most. ``names``: names that the CA takes in one."""

    additions: int = 4
    names: int = 100


@dataclass(frozen=True, slots=True)
class InventoryPlan:
    """``additions``: certificate, name, rank, sites, connections_saved (a day), added_bytes; best certificate first.

    ``left_out``: reason, pairs, connections; with ``already covered`` and ``planned`` it sums up to all pairs.
    """

    additions: pl.DataFrame
    left_out: pl.DataFrame


def plan_inventory(inventory: pl.DataFrame, pairs: pl.LazyFrame, limits: Limits) -> InventoryPlan:
    """The plan for an inventory (columns as :data:`INVENTORY`) by real traffic (columns as :data:`PAIRS`).

    A name is proposed for a certificate only where the operator holds its key, neither side has opted out, the name is
    a shared one or the same owner's (never another customer's), no other CDN serves it, its CAA permits the
    certificate's CA, and the CA's limit leaves room. Raises as
    :func:`originset.models.plans.plan_queries.plan_rows`, where ``pairs`` cannot be read.
    """
    tables = {"inventory": inventory.with_row_index("row").lazy(), "pairs": pairs}
    rows = plan_rows("inventory_names", tables, {"additions": limits.additions, "names": limits.names})
    additions = rows.filter(outcome="planned").select(
        "certificate",
        pl.col("host").alias("name"),
        "rank",
        "sites",
        pl.col("connections").alias("connections_saved"),
        (pl.col("host").str.len_bytes().cast(pl.Int64) + _NAME_OVERHEAD_BYTES).alias("added_bytes"),
    )
    left_out = rows.group_by(pl.col("outcome").alias("reason")).agg(pl.col("pairs", "connections").sum())
    return InventoryPlan(
        additions=additions.sort("connections_saved", "certificate", "name", descending=[True, False, False]),
        left_out=left_out.sort("connections", "reason", descending=[True, False]),
    )
