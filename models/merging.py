"""How many connections a page needs if hosts merge only where evidence connects them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from originset.models.evidence import SAME_EDGE, SAME_TENANT

_RUNGS = {"edge": SAME_EDGE, "deployable": SAME_TENANT}


def merged_counts(located: pl.LazyFrame, levels: pl.LazyFrame) -> pl.LazyFrame:
    """``visit_id`` with columns ``edge`` and ``deployable``: connections needed over the visit's located hosts.

    ``located``: columns ``visit_id``, ``key`` (what the ORIGIN model takes for one server) and ``host``. Within a key,
    a connection serves hosts that evidence of level 2 (``edge``) or 3 (``deployable``) connects, directly or through
    others; so neither count is below the number of keys. Hosts between which a 421 was seen are kept apart: the hosts
    of such a group are dealt out in alphabetical order, each to the first connection without anything against it.

    ``levels``: as :func:`originset.models.evidence.pair_levels` gives them, of at least the pairs that matter here.
    Every distinct set of hosts is looked at once, however many pages have it.
    """
    sets = (
        located.group_by("visit_id", "key")
        .agg(pl.col("host").unique().sort())
        .with_columns(pl.col("host").list.join("\n").alias("text"))
        .collect(engine="streaming")
    )
    distinct = sets.unique("text").select("text", "host").with_row_index("set")
    members = distinct.select("set", "host").explode("host").with_row_index("node")
    pairs = (
        members.lazy()
        .join(members.lazy(), on="set")
        .filter(pl.col("host") < pl.col("host_right"))
        .join(levels, left_on=["host", "host_right"], right_on=["host_a", "host_b"])
        .select("set", "node", "node_right", "level", "contradicts")
        .collect(engine="streaming")
    )
    against = pairs.filter("contradicts")
    counts = distinct.select("set", "text")
    for rung, least in _RUNGS.items():
        links = pairs.filter(pl.col("level") >= least, ~pl.col("contradicts"))
        group = _components(members.height, links["node"].to_numpy(), links["node_right"].to_numpy())
        grouped = _split(members.select("set", "node", pl.Series("group", group)), against)
        counts = counts.join(grouped.group_by("set").agg(pl.col("connections").sum().alias(rung)), on="set", how="left")
    return (
        sets.lazy()
        .select("visit_id", "text")
        .join(counts.lazy(), on="text")
        .group_by("visit_id")
        .agg(pl.col(rung).sum() for rung in _RUNGS)
    )


def _components(size: int, one: npt.NDArray[np.uint32], other: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """The least node that each node is connected with: labels spread along links until nothing changes."""
    label = np.arange(size, dtype=np.int64)
    while True:
        before = label.copy()
        least = np.minimum(label[one], label[other])
        # Hooking the roots, not only the nodes, lets labels cross long chains in few rounds.
        for ends in (label[one], label[other], one, other):
            np.minimum.at(label, ends, least)
        label = label[label]
        if (label == before).all():
            return label


def _split(grouped: pl.DataFrame, against: pl.DataFrame) -> pl.DataFrame:
    """``set``, ``group`` and ``connections``: one each, more where something speaks against members of one group."""
    one_each = grouped.select("set", "group").unique().with_columns(pl.lit(1, pl.Int64).alias("connections"))
    label = grouped.select("node", "group")
    inside = (
        against.join(label, on="node")
        .join(label.rename({"node": "node_right"}), on=["node_right", "group"])
        .select("node", "node_right", "group")
    )
    if inside.is_empty():
        return one_each
    enemies: dict[int, set[int]] = {}
    for node, other in inside.select("node", "node_right").iter_rows():
        enemies.setdefault(node, set()).add(other)
        enemies.setdefault(other, set()).add(node)
    split = []
    torn = grouped.join(inside.select("group").unique(), on="group", how="semi")
    for (group,), rows in torn.sort("node").group_by("group", maintain_order=True):
        connections: list[set[int]] = []
        for node in rows["node"]:
            apart = enemies.get(node, set())
            free = next((members for members in connections if not members & apart), None)
            if free is None:
                connections.append({node})
            else:
                free.add(node)
        split.append((group, len(connections)))
    needed = pl.DataFrame(split, schema={"group": pl.Int64, "needed": pl.Int64}, orient="row")
    return one_each.join(needed, on="group", how="left").select(
        "set", "group", pl.coalesce("needed", "connections").alias("connections")
    )
