"""How many connections a page needs if hosts merge only where evidence connects them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from originset.models.evidence import SAME_EDGE, SAME_TENANT
from originset.models.neighbours import contents, packed, pairs_within, starts_of
from originset.models.parameters import Coverage
from originset.models.uses import Flags, Ints

# Pairs of hosts looked up together.
_TOGETHER = 4_000_000

_WIDTH = 32


@dataclass(frozen=True, slots=True)
class Links:
    """The pairs of hosts that evidence tells of, by number.

    ``number``: of a host's category its number by name, -1 where nothing is told of it. ``pairs``: the lesser number
    and the greater one in one, ascending; of each its ``level``, and whether something ``contradicts``.
    """

    number: Ints
    pairs: Ints
    level: Ints
    contradicts: Flags


def links(levels: pl.DataFrame) -> Links:
    """``levels``: as :func:`originset.models.evidence.pair_levels` gives them."""
    hosts = pl.concat([levels["host_a"].unique(), levels["host_b"].unique()]).unique().cast(pl.String).sort()
    category = hosts.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    number = np.full(int(category.max(initial=-1)) + 1, -1)
    number[category] = np.arange(category.size)
    one, other = (number[levels[name].cast(pl.Categorical).to_physical().to_numpy()] for name in ("host_a", "host_b"))
    pairs = one << _WIDTH | other
    order = np.argsort(pairs)
    return Links(number, pairs[order], levels["level"].to_numpy()[order], levels["contradicts"].to_numpy()[order])


def merged_counts(located: pl.DataFrame, links: Links, coverage: Coverage) -> pl.DataFrame:
    """``visit`` with columns ``deployable`` and ``edge``: connections needed for what the visit's units serve.

    ``located``: columns ``visit`` (a number), ``key`` (what the ORIGIN model takes for one server, a category),
    ``unit`` (a number: what is on one connection anyhow, of one key; NULL is one too) and ``host`` (a category).
    Within a key, a connection serves units that evidence of level 3 (``deployable``) between hosts of theirs connects,
    directly or through others; where coverage is ignored 2 is enough. Then what is so far one connection is a unit, and
    evidence of level 2 connects these (``edge``). So no count is above the one before it, and none is below the number
    of keys. Units between hosts of which a 421 was seen are kept apart: those of such a group are dealt out in the
    order of their first hosts, each to the first connection without anything against it.

    Every distinct set of hosts is looked at once, however many pages have it.
    """
    rungs = {"deployable": SAME_EDGE if coverage == "ignored" else SAME_TENANT, "edge": SAME_EDGE}
    rows = _rows(located, links)
    visit = rows.group[rows.new_unit] >> _WIDTH
    visits = visit[starts_of(visit)]
    units = np.diff(np.append(starts_of(visit), visit.size))
    left = {rung: units.copy() for rung in rungs}
    sets = _sets(rows)
    label = np.arange(sets.of_node.size)
    one, other, pair = _told(sets, links)
    against = links.contradicts[pair]
    apart = np.column_stack([one, other])[against]
    place = np.searchsorted(visits, sets.groups >> _WIDTH)
    for rung, least in rungs.items():
        linked = np.column_stack([one, other])[~against & (links.level[pair] >= least)]
        label = _merged(label, linked, apart)
        saved = np.bincount(sets.of_node[label != np.arange(label.size)], minlength=sets.size)
        left[rung] -= np.bincount(place, saved[sets.of_group], visits.size).astype(np.int64)
    return pl.DataFrame({"visit": visits, **left}).cast({"visit": located.schema["visit"]})


@dataclass(frozen=True, slots=True)
class _Rows:
    """Hosts of units, once each, by ``group`` (visit and key), unit and ``code`` (-1 where nothing is told of a host).

    ``new_unit``: the row is the first of its unit.
    """

    group: Ints
    code: Ints
    new_unit: Flags


def _rows(located: pl.DataFrame, links: Links) -> _Rows:
    category = located["host"].to_physical().cast(pl.Int64).fill_null(links.number.size)
    number = np.append(links.number, -1)[category.clip(upper_bound=links.number.size).to_numpy()]
    group = packed(pl.col("visit"), pl.col("key").to_physical()).alias("group")
    rows = located.select(group, pl.col("unit").fill_null(-1), pl.Series("code", number)).sort("group", "unit", "code")
    groups, unit, code = (rows[name].to_numpy() for name in ("group", "unit", "code"))
    new_unit = _changes(groups) | _changes(unit)
    kept = np.flatnonzero(new_unit | _changes(code))
    return _Rows(groups[kept], code[kept], new_unit[kept])


def _changes(values: Ints) -> Flags:
    """Which values are others than the one before."""
    changed = np.ones(values.size, np.bool_)
    changed[1:] = values[1:] != values[:-1]
    return changed


@dataclass(frozen=True, slots=True)
class _Sets:
    """Distinct sets of units, and who has them.

    ``groups``: those with two units or more of which anything is told; ``of_group`` is the set of each. ``node``: of
    each row its unit, numbered by sets and first hosts; ``code`` its host. ``starts``: each set's first row.
    ``of_node``: the set of each unit. ``size``: how many sets there are.
    """

    groups: Ints
    of_group: Ints
    starts: Ints
    node: Ints
    code: Ints
    of_node: Ints
    size: int


def _sets(rows: _Rows) -> _Sets:
    unit, of_group = np.cumsum(rows.new_unit, dtype=np.int64), np.cumsum(_changes(rows.group)) - 1
    telling = rows.code >= 0
    # Rows of which something is told, of groups of which something is told of more than one row.
    several = np.bincount(of_group[telling], minlength=of_group.size) > 1
    some = np.flatnonzero(telling & several[of_group])
    group, unit, code = rows.group[some], unit[some], rows.code[some]
    new_unit = _changes(unit)
    heads = np.flatnonzero(new_unit)
    lengths = np.diff(np.append(heads, group.size))
    # Units by their first hosts: so that equal sets are equal row by row, whatever numbers their units have.
    by_first = np.lexsort((code[heads], group[heads]))
    order = np.repeat(heads[by_first] - np.cumsum(lengths[by_first]) + lengths[by_first], lengths[by_first])
    order += np.arange(group.size)
    group, code, new_unit = group[order], code[order], new_unit[order]
    starts = starts_of(group)
    content = contents(starts, (code << 1 | new_unit).astype(np.uint32)).to_frame("content")
    first = content["content"].is_first_distinct()
    number = content.filter(first).with_row_index("set")
    of_group = content.join(number, on="content", how="left", maintain_order="left")["set"].to_numpy().astype(np.int64)
    kept = np.repeat(first.to_numpy(), np.diff(np.append(starts, group.size)))
    sizes = np.diff(np.append(starts, group.size))[first.to_numpy()]
    of_row, new_unit = np.repeat(np.arange(sizes.size), sizes), new_unit[kept]
    return _Sets(
        group[starts],
        of_group,
        np.cumsum(sizes) - sizes,
        np.cumsum(new_unit) - 1,
        code[kept],
        of_row[new_unit],
        sizes.size,
    )


def _told(sets: _Sets, links: Links) -> tuple[Ints, Ints, Ints]:
    """The pairs of units of one set that evidence tells of, and where in ``links``; several times for several hosts."""
    found = [(np.empty(0, np.int64),) * 3]
    # Without evidence nothing is told of any host, so there are no rows.
    for first, second in pairs_within(sets.starts, sets.node.size, _TOGETHER):
        between = sets.node[first] != sets.node[second]
        one, other = first[between], second[between]
        least, greatest = np.minimum(sets.code[one], sets.code[other]), np.maximum(sets.code[one], sets.code[other])
        pair = least << _WIDTH | greatest
        place = np.minimum(np.searchsorted(links.pairs, pair), links.pairs.size - 1)
        known = np.flatnonzero(links.pairs[place] == pair)
        found.append((sets.node[one[known]], sets.node[other[known]], place[known]))
    one, other, place = (np.concatenate(each) for each in zip(*found, strict=True))
    return one, other, place


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
