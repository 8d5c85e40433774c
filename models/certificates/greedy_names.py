"""The names that a provider should add to the certificates of all its sites: the paper's three or four hostnames.

A connection is saved if the site's certificate covers every host that it carried. So two names can save more together
than each alone, and no order of names is best for every number of names. The names are chosen greedily: each connection
is divided equally among the names that it still needs, and the name with the largest sum is next. The same shares bound
what any set of as many names can save: the sum of the largest shares (``connections_saved_at_most``). If every
connection carried one host, which is nearly always so, both are equal and the order is proved to be best. Otherwise all
sets are tried, for providers with no more than 12 candidate names.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from originset.models.model_types import Rows
from originset.models.parameters import Parameters

MOST_NAMES = 10

# With up to this many candidates every set of names is tried if the bound leaves open which is best: 2**12 sets.
MOST_CANDIDATES = 12

GREEDY_NAMES = pl.Schema(
    {
        "server_key": pl.String(),
        "rank": pl.Int32(),
        "name": pl.String(),
        "connections_saved_paper": pl.Int64(),
        "connections_saved_at_most": pl.Int64(),
    }
)


def greedy_names(rows: Rows, _parameters: Parameters) -> Rows:
    """For each server key up to 10 names, the most effective first.

    ``rows``: provider_missing_names. ``connections_saved_paper``: what the name saves in addition to those before it;
    ``connections_saved_at_most``: an upper bound for any set of ``rank`` names.
    """
    missing = rows["provider_missing_names"]
    if missing.is_empty():
        return {"greedy_names": GREEDY_NAMES.to_frame()}
    ranked = _ranked_names(missing).join(_upper_bounds(missing), on=["server_key", "rank"])
    return {"greedy_names": _with_exact_bounds(ranked, missing).cast(GREEDY_NAMES).select(GREEDY_NAMES.names())}


def _missing_sets(missing: pl.DataFrame) -> pl.DataFrame:
    """Each distinct set of missing names of a provider, with the connections that need exactly these; a row a name."""
    return (
        missing.group_by("server_key", "names")
        .agg(pl.col("connections").sum())
        .with_row_index("set")
        .with_columns(pl.col("names").list.len().alias("left"))
        .rename({"names": "name"})
        .explode("name")
    )


def _shares(sets: pl.DataFrame) -> pl.DataFrame:
    share = pl.col("connections") / pl.col("left")
    return sets.group_by("server_key", "name").agg(share.sort().sum().round(9).alias("share"))


def _ranked_names(missing: pl.DataFrame) -> pl.DataFrame:
    """``server_key``, ``rank``, ``name``, ``connections_saved_paper``: in addition to the names before it."""
    sets, steps = _missing_sets(missing), []
    for rank in range(1, MOST_NAMES + 1):
        if sets.is_empty():
            break
        order = pl.struct(-pl.col("share"), "name")
        chosen = _shares(sets).group_by("server_key").agg(pl.col("name").sort_by(order).first())
        reduced = sets.join(chosen, on=["server_key", "name"], how="semi").select(
            "set", pl.lit(value=True).alias("hit")
        )
        saved = (
            sets.join(reduced, on="set")
            .filter(pl.col("left") == 1)
            .group_by("server_key")
            .agg(pl.col("connections").sum())
        )
        steps.append(
            chosen.join(saved, on="server_key", how="left").select(
                "server_key",
                pl.lit(rank).alias("rank"),
                "name",
                pl.col("connections").fill_null(0).alias("connections_saved_paper"),
            )
        )
        sets = (
            sets.join(chosen, on=["server_key", "name"], how="anti")
            .join(reduced, on="set", how="left")
            .with_columns((pl.col("left") - pl.col("hit").fill_null(value=False).cast(pl.UInt32)).alias("left"))
            .drop("hit")
        )
    return pl.concat(steps)


def _upper_bounds(missing: pl.DataFrame) -> pl.DataFrame:
    """Upper bounds, by the shares, for what any set of ``rank`` names saves."""
    largest = _shares(_missing_sets(missing)).sort("server_key", "share", descending=[False, True])
    return largest.select(
        "server_key",
        pl.int_range(1, pl.len() + 1).over("server_key").cast(pl.Int32).alias("rank"),
        (pl.col("share").cum_sum().over("server_key") + 1e-6).floor().cast(pl.Int64).alias("connections_saved_at_most"),
    )


def _with_exact_bounds(ranked: pl.DataFrame, missing: pl.DataFrame) -> pl.DataFrame:
    """The bounds that the greedy names of small providers do not reach, replaced by what the best set saves."""
    reached = pl.col("connections_saved_paper").cum_sum().over("server_key", order_by="rank")
    not_reached = ranked.with_columns(reached.alias("reached")).filter(
        pl.col("reached") < pl.col("connections_saved_at_most")
    )
    sets = _missing_sets(missing).filter(pl.col("server_key").is_in(not_reached["server_key"].unique().implode()))
    best_of_sets = [
        (server_key, rank, best)
        for (server_key,), rows in sets.group_by("server_key", maintain_order=True)
        if rows["name"].n_unique() <= MOST_CANDIDATES
        for rank, best in enumerate(best_savings(rows), 1)
    ]
    exact_bounds = pl.DataFrame(
        best_of_sets, schema={"server_key": pl.String, "rank": pl.Int32, "best": pl.Int64}, orient="row"
    )
    return (
        ranked.join(exact_bounds, on=["server_key", "rank"], how="left")
        .with_columns(pl.coalesce("best", "connections_saved_at_most").alias("connections_saved_at_most"))
        .drop("best")
    )


def best_savings(sets: pl.DataFrame) -> list[int]:
    """What the best set of 1, 2, ... names saves, of all sets that there are; ``sets``: set, name, connections."""
    names = sets["name"].unique().sort().to_list()
    masks = sets.group_by("set").agg(
        pl.col("name")
        .replace_strict(names, [1 << i for i in range(len(names))], return_dtype=pl.Int64)
        .sum()
        .alias("mask"),
        pl.col("connections").first(),
    )
    needed, connections = masks["mask"].to_numpy(), masks["connections"].to_numpy()
    return [
        max(
            int(connections[(needed & ~np.int64(sum(1 << i for i in chosen))) == 0].sum())
            for chosen in combinations(range(len(names)), size)
        )
        for size in range(1, min(MOST_NAMES, len(names)) + 1)
    ]
