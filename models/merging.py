"""How many connections a page needs if hosts merge only where evidence connects them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from originset.models.evidence import SAME_EDGE, SAME_TENANT
from originset.models.parameters import Coverage

Ints = np.ndarray[Any, np.dtype[np.int64]]


def merged_counts(located: pl.DataFrame, levels: pl.DataFrame, coverage: Coverage) -> pl.DataFrame:
    """``visit`` with columns ``deployable`` and ``edge``: connections needed for what the visit's units serve.

    ``located``: columns ``visit``, ``key`` (what the ORIGIN model takes for one server), ``unit`` (a number: what is on
    one connection anyhow, of one key) and ``host`` (a category). Within a key, a connection serves units that evidence
    of level 3 (``deployable``) between hosts of theirs connects, directly or through others; where coverage is ignored
    2 is enough. Then what is so far one connection is a unit, and evidence of level 2 connects these (``edge``). So no
    count is above the one before it, and none is below the number of keys. Units between hosts of which a 421 was seen
    are kept apart: those of such a group are dealt out in the order of their first hosts, each to the first connection
    without anything against it.

    ``levels``: as :func:`originset.models.evidence.pair_levels` gives them, of at least the pairs that matter here.
    Every distinct set of hosts is looked at once, however many pages have it.
    """
    rungs = {"deployable": SAME_EDGE if coverage == "ignored" else SAME_TENANT, "edge": SAME_EDGE}
    units = located.lazy().select("visit", "key", "unit").unique().group_by("visit").agg(pl.len().alias("units"))
    places, sets = _sets(located, levels)
    nodes, of_set, pairs = _pairs(sets, levels)
    label, saved = np.arange(nodes), [places]
    apart = pairs.filter("contradicts").select("node", "node_right").to_numpy()
    for rung, least in rungs.items():
        links = pairs.filter(pl.col("level") >= least, ~pl.col("contradicts")).select("node", "node_right").to_numpy()
        label = _merged(label, links, apart)
        left = pl.DataFrame({"set": of_set, rung: label != np.arange(nodes)}).group_by("set").agg(pl.col(rung).sum())
        saved.append(left)
    merges = places
    for frame in saved[1:]:
        merges = merges.join(frame, on="set", how="left")
    of_visit = merges.group_by("visit").agg(pl.col(rung).sum().cast(pl.Int64) for rung in rungs)
    return (
        units.collect()
        .join(of_visit, on="visit", how="left")
        .select("visit", *((pl.col("units").cast(pl.Int64) - pl.col(rung).fill_null(0)).alias(rung) for rung in rungs))
    )


def _sets(located: pl.DataFrame, levels: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """``visit`` and ``set``; and of each set of hosts that evidence may merge its ``set``, ``unit`` and ``code``.

    ``code`` is the host's place in the alphabet among the hosts of ``levels``.
    """
    codes = _codes(levels)
    telling = located.lazy().join(codes.lazy(), on="host").select("visit", "key", "unit", "code").unique().collect()
    by_unit = telling.group_by("visit", "key", "unit").agg(pl.col("code").sort())
    by_key = (
        by_unit.lazy()
        .with_columns(pl.col("code").cast(pl.List(pl.String)).list.join(" ").alias("text"))
        .group_by("visit", "key")
        .agg(pl.col("text").sort(), pl.len())
        .filter(pl.col("len") > 1)
        .select("visit", "key", pl.col("text").list.join("|"))
        .collect()
    )
    distinct = by_key.unique("text").with_row_index("set")
    places = by_key.join(distinct.select("text", "set"), on="text").select("visit", "set")
    members = distinct.select("visit", "key", "set").join(telling, on=["visit", "key"]).select("set", "unit", "code")
    return places, members


def _codes(levels: pl.DataFrame) -> pl.DataFrame:
    hosts = pl.concat([levels["host_a"], levels["host_b"].alias("host_a")]).unique().sort()
    return pl.DataFrame({"host": hosts.cast(pl.Categorical), "code": np.arange(hosts.len())})


def _pairs(sets: pl.DataFrame, levels: pl.DataFrame) -> tuple[int, Ints, pl.DataFrame]:
    """Units numbered, by their sets' order and first hosts; the set of each; the pairs of them that evidence tells of.

    Of several pairs of hosts of two units each is a row.
    """
    codes = _codes(levels)
    known = levels.select(
        pl.col("host_a").cast(pl.Categorical), pl.col("host_b").cast(pl.Categorical), "level", "contradicts"
    )
    for side in ("a", "b"):
        known = known.join(codes.rename({"host": f"host_{side}", "code": f"code_{side}"}), on=f"host_{side}")
    nodes = (
        sets.group_by("set", "unit")
        .agg(pl.col("code").min().alias("first"))
        .sort("set", "first")
        .with_row_index("node")
    )
    members = sets.join(nodes, on=["set", "unit"]).select("set", "node", "code").lazy()
    pairs = (
        members.join(members, on="set")
        .filter(pl.col("code") < pl.col("code_right"), pl.col("node") != pl.col("node_right"))
        .join(known.lazy(), left_on=["code", "code_right"], right_on=["code_a", "code_b"])
        .select(pl.col("node", "node_right").cast(pl.Int64), "level", "contradicts")
        .collect()
    )
    return nodes.height, nodes["set"].to_numpy(), pairs


def _merged(label: Ints, links: Ints, apart: Ints) -> Ints:
    """Of each node the least one that it is on one connection with, if ``label`` says so of those so far."""
    group = _components(label.size, label[links[:, 0]], label[links[:, 1]])[label]
    enemies: dict[int, set[int]] = {}
    for one, other in label[apart[group[apart[:, 0]] == group[apart[:, 1]]]].tolist():
        enemies.setdefault(one, set()).add(other)
        enemies.setdefault(other, set()).add(one)
    torn = np.unique(group[list(enemies)]) if enemies else np.empty(0, np.int64)
    dealt = group.copy()
    members = np.flatnonzero(np.isin(group, torn) & (label == np.arange(label.size)))
    connections: dict[int, list[list[int]]] = {}
    for unit in members.tolist():
        of_group = connections.setdefault(int(group[unit]), [])
        apart_from = enemies.get(unit, set())
        free = next((each for each in of_group if apart_from.isdisjoint(each)), None)
        if free is None:
            of_group.append([unit])
        else:
            free.append(unit)
    for of_group in connections.values():
        for each in of_group:
            dealt[each] = each[0]
    return np.asarray(dealt[label])


def _components(size: int, one: Ints, other: Ints) -> Ints:
    """The least node that each node is connected with: labels spread along links until nothing changes."""
    label = np.arange(size)
    while True:
        before = label.copy()
        least = np.minimum(label[one], label[other])
        # Hooking the roots, not only the nodes, lets labels cross long chains in few rounds.
        for ends in (label[one], label[other], one, other):
            np.minimum.at(label, ends, least)
        label = label[label]
        if (label == before).all():
            return label
