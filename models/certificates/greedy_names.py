"""The names that a provider would best add to all its sites' certificates: the paper's three or four hostnames.

A connection goes away when the site's certificate covers every host that it carried; so two names may save more
together than each alone, and no order of names is best at every length. Names are taken greedily: each connection's
worth is shared out among the names that it still lacks, and the name with the largest sum is next. The same shares
bound what any set of as many names can save: no set saves more than the largest shares together
(``connections_saved_at_most``). Where every connection carried one host, which is nearly always, both are equal and
the order is proved best; elsewhere all sets are tried for providers with no more than 12 candidate names.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from originset.models.model_types import Rows
from originset.models.parameters import Parameters

NAMES = 10

# Up to this many candidates every set of names is tried where the bound does not settle what is best: 2**12 sets.
TRIED = 12

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

    ``rows``: provider_lacking_names. ``connections_saved_paper``: more than with the names before it;
    ``connections_saved_at_most``: what no set of ``rank`` names can save more than.
    """
    lacking = rows["provider_lacking_names"]
    if lacking.is_empty():
        return {"greedy_names": GREEDY_NAMES.to_frame()}
    ranked = _greedy(lacking).join(_bounds(lacking), on=["server_key", "rank"])
    return {"greedy_names": _settled(ranked, lacking).cast(GREEDY_NAMES).select(GREEDY_NAMES.names())}


def _sets(lacking: pl.DataFrame) -> pl.DataFrame:
    """Each distinct set of a provider with the connections that lack just these names, one row a name."""
    return (
        lacking.group_by("server_key", "names")
        .agg(pl.col("connections").sum())
        .with_row_index("set")
        .with_columns(pl.col("names").list.len().alias("left"))
        .rename({"names": "name"})
        .explode("name")
    )


def _shares(sets: pl.DataFrame) -> pl.DataFrame:
    share = pl.col("connections") / pl.col("left")
    return sets.group_by("server_key", "name").agg(share.sort().sum().round(9).alias("share"))


def _greedy(lacking: pl.DataFrame) -> pl.DataFrame:
    """``provider``, ``rank``, ``name``, ``connections_saved_paper``: more than with the names before it."""
    sets, steps = _sets(lacking), []
    for rank in range(1, NAMES + 1):
        if sets.is_empty():
            break
        worth = pl.struct(-pl.col("share"), "name")
        chosen = _shares(sets).group_by("server_key").agg(pl.col("name").sort_by(worth).first())
        hit = sets.join(chosen, on=["server_key", "name"], how="semi").select("set", pl.lit(value=True).alias("hit"))
        saved = (
            sets.join(hit, on="set").filter(pl.col("left") == 1).group_by("server_key").agg(pl.col("connections").sum())
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
            .join(hit, on="set", how="left")
            .with_columns((pl.col("left") - pl.col("hit").fill_null(value=False).cast(pl.UInt32)).alias("left"))
            .drop("hit")
        )
    return pl.concat(steps)


def _bounds(lacking: pl.DataFrame) -> pl.DataFrame:
    """What no set of ``rank`` names can save more than, by the shares."""
    largest = _shares(_sets(lacking)).sort("server_key", "share", descending=[False, True])
    return largest.select(
        "server_key",
        pl.int_range(1, pl.len() + 1).over("server_key").cast(pl.Int32).alias("rank"),
        (pl.col("share").cum_sum().over("server_key") + 1e-6).floor().cast(pl.Int64).alias("connections_saved_at_most"),
    )


def _settled(ranked: pl.DataFrame, lacking: pl.DataFrame) -> pl.DataFrame:
    """The bounds of small providers that greedy names do not reach, replaced by what the best set saves."""
    reached = pl.col("connections_saved_paper").cum_sum().over("server_key", order_by="rank")
    unsettled = ranked.with_columns(reached.alias("reached")).filter(
        pl.col("reached") < pl.col("connections_saved_at_most")
    )
    sets = _sets(lacking).filter(pl.col("server_key").is_in(unsettled["server_key"].unique().implode()))
    exact = [
        (server_key, rank, best)
        for (server_key,), rows in sets.group_by("server_key", maintain_order=True)
        if rows["name"].n_unique() <= TRIED
        for rank, best in enumerate(best_sets(rows), 1)
    ]
    tried = pl.DataFrame(exact, schema={"server_key": pl.String, "rank": pl.Int32, "best": pl.Int64}, orient="row")
    return (
        ranked.join(tried, on=["server_key", "rank"], how="left")
        .with_columns(pl.coalesce("best", "connections_saved_at_most").alias("connections_saved_at_most"))
        .drop("best")
    )


def best_sets(sets: pl.DataFrame) -> list[int]:
    """What the best set of 1, 2, ... names saves, by trying all of them; ``sets``: columns set, name, connections."""
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
        for size in range(1, min(NAMES, len(names)) + 1)
    ]
