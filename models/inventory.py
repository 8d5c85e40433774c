"""Which names to add to thousands of certificates: the most connections saved by real traffic, within the rules.

A connection from a site's page to a host is saved where the site's certificate covers the host too (and the server
announces it). What a name saves on one certificate does not depend on the other names there, so that the best names for
a certificate are those that save most: the choice is exact, not greedy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from originset.models.origins import why_no_name

KeyHolder = Literal["cdn", "customer"]

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

_ADDITIONS = pl.Schema(
    {
        "certificate": pl.String(),
        "name": pl.String(),
        "rank": pl.Int64(),
        "sites": pl.Int64(),
        "connections_saved": pl.Int64(),
        "added_bytes": pl.Int64(),
    }
)

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
    certificate's CA, and the CA's limit leaves room. ``pairs`` is read in a stream: what is held is a row for
    each certificate and host.
    """
    names = _names(inventory)
    judged = _judged(inventory, names, pairs).collect(engine="streaming")
    refused, sums = pl.col("reason").is_not_null(), [pl.col("pairs").sum(), pl.col("connections").sum()]
    room = pl.min_horizontal(pl.lit(limits.additions), (limits.names - pl.col("held")).clip(lower_bound=0))
    ranked = (
        judged.filter(~refused)
        .sort("connections", "host", descending=[True, False])
        .with_columns((pl.int_range(pl.len()).over("certificate") + 1).alias("rank"), room.alias("room"))
    )
    fits = pl.col("rank") <= pl.col("room")
    taken = ranked.filter(fits)
    outcome = (
        pl.when(fits)
        .then(pl.lit("planned"))
        .when(pl.col("room") < limits.additions)
        .then(pl.lit("no room: the CA's limit"))
        .otherwise(pl.lit("beyond the asked-for number"))
    )
    reasons = pl.concat(
        [
            judged.filter(refused).group_by("reason").agg(sums),
            ranked.group_by(outcome.alias("reason")).agg(sums),
        ]
    )
    additions = taken.select(
        "certificate",
        pl.col("host").alias("name"),
        "rank",
        "sites",
        pl.col("connections").alias("connections_saved"),
        (pl.col("host").str.len_bytes() + _NAME_OVERHEAD_BYTES).alias("added_bytes"),
    ).match_to_schema(_ADDITIONS, integer_cast="upcast", extra_columns="raise")
    return InventoryPlan(
        additions=additions.sort("connections_saved", "certificate", "name", descending=[True, False, False]),
        left_out=reasons.sort("connections", "reason", descending=[True, False]),
    )


def _names(inventory: pl.DataFrame) -> pl.LazyFrame:
    """One row per name that is on one certificate alone, and which: name, certificate, row (of the inventory)."""
    exploded = inventory.with_row_index("row").lazy().select("row", pl.col("names").alias("name")).explode("name")
    return exploded.unique().group_by("name").agg(pl.col("row").min(), pl.len().alias("on"))


def _located(keys: pl.LazyFrame, names: pl.LazyFrame, column: str) -> pl.LazyFrame:
    """``keys`` with the row of the certificate that serves each: by the exact name, else by the wildcard above it.

    ``<column>_row`` is NULL where no certificate does; ``<column>_on`` is the number of certificates that do.
    """
    parent = pl.concat_str(pl.lit("*."), pl.col(column).str.splitn(".", 2).struct.field("field_1"))
    exact = names.select(pl.col("name").alias(column), pl.col("row").alias("_row"), pl.col("on").alias("_on"))
    wild = names.select(pl.col("name").alias("_wild"), pl.col("row").alias("_wrow"), pl.col("on").alias("_won"))
    return (
        keys.join(exact, on=column, how="left")
        .with_columns(parent.alias("_wild"))
        .join(wild, on="_wild", how="left")
        .with_columns(
            pl.coalesce("_row", "_wrow").alias(f"{column}_row"),
            pl.when(pl.col("_row").is_not_null()).then("_on").otherwise("_won").alias(f"{column}_on"),
        )
        .drop("_row", "_on", "_wild", "_wrow", "_won")
    )


def _judged(inventory: pl.DataFrame, names: pl.LazyFrame, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """One row per certificate and host: sites, pairs, connections, names held, and why not (NULL: it may be added)."""
    pairs = pairs.select(
        pl.col("site").str.to_lowercase().str.strip_chars_end("."),
        pl.col("host").str.to_lowercase().str.strip_chars_end("."),
        "connections",
    )
    sites = _located(pairs.select("site").unique(), names, "site")
    by_certificate = (
        pairs.join(sites, on="site", how="left")
        .group_by(pl.col("site_row"), pl.col("site_on").fill_null(0).clip(upper_bound=2).alias("site_on"), "host")
        .agg(
            pl.col("site").n_unique().cast(pl.Int64).alias("sites"),
            pl.len().cast(pl.Int64).alias("pairs"),
            pl.col("connections").sum(),
        )
    )
    hosts = _located(by_certificate.select("host").unique(), names, "host").with_columns(
        pl.col("host").map_elements(lambda host: why_no_name(host) is None, return_dtype=pl.Boolean).alias("is_name")
    )
    facts = inventory.with_row_index("row").lazy()
    asker = facts.select(
        pl.col("row").alias("site_row"),
        "certificate",
        "key_holder",
        "ca",
        "owner",
        pl.col("opt_out").alias("asker_out"),
        pl.col("names").list.len().cast(pl.Int64).alias("held"),
        pl.col("names").alias("asker_names"),
    )
    served = facts.select(
        pl.col("row").alias("host_row"),
        pl.col("owner").alias("host_owner"),
        "shared",
        pl.col("opt_out").alias("host_out"),
        "multi_cdn",
        "caa",
    )
    joined = (
        by_certificate.join(asker, on="site_row", how="left")
        .join(hosts, on="host", how="left")
        .join(served, on="host_row", how="left")
    )
    parent = pl.concat_str(pl.lit("*."), pl.col("host").str.splitn(".", 2).struct.field("field_1"))
    covered = pl.col("asker_names").list.contains(pl.col("host")) | pl.col("asker_names").list.contains(parent)
    same_owner = (pl.col("owner") == pl.col("host_owner")).fill_null(value=False)
    reasons = [
        (pl.col("site_row").is_null(), "the site is on no certificate of the inventory"),
        (pl.col("site_on") > 1, "the site is on several certificates"),
        (covered.fill_null(value=False), "already covered"),
        (~pl.col("is_name"), "the host is no name for a certificate"),
        (pl.col("host_row").is_null(), "the host is not served here"),
        ((pl.col("key_holder") != "cdn").fill_null(value=True), "the customer holds the key"),
        (pl.col("asker_out").fill_null(value=False), "the site has opted out"),
        (pl.col("host_out").fill_null(value=False), "the host has opted out"),
        (~pl.col("shared").fill_null(value=False) & ~same_owner, "the host is another customer's"),
        (pl.col("multi_cdn").fill_null(value=False), "other CDNs serve the host too"),
        (~pl.col("caa").list.contains(pl.col("ca")).fill_null(value=True), "the host's CAA does not permit the CA"),
    ]
    reason = pl.coalesce(*(pl.when(applies).then(pl.lit(why)) for applies, why in reasons), pl.lit(None, pl.String))
    return joined.select("certificate", "host", "sites", "pairs", "connections", "held", reason.alias("reason"))
