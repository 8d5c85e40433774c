"""How many connections of a page are saved if hosts at one server merge only where there is evidence for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from originset.models.model_types import Rows
from originset.models.parameters import Parameters

SAME_EDGE, CERTIFIED = 2, 3

MERGED_UNITS = pl.Schema(
    {"number": pl.Int64(), "deployable": pl.Boolean(), "at_edge": pl.Boolean(), "of_owner": pl.Boolean()}
)

_Ints = np.ndarray[Any, np.dtype[np.int64]]


def merged_units(rows: Rows, parameters: Parameters) -> Rows:
    """The linked_units that need no connection of their own, because another of the page and server key carries them.

    Units merge in three steps. Evidence of level 3 between their hosts merges them, directly or through others
    (``deployable``); if coverage is ignored, level 2 is enough. Then evidence of level 2 merges the connections so far
    (``at_edge``), and then evidence that one owner has both, on any machines (``of_owner``). Units with a 421 between
    their hosts never merge: the units of a component with such a conflict are assigned in the order of their numbers,
    each to the first connection without a conflict.
    """
    links, units = rows["unit_links"], np.arange(rows["linked_units"].height)
    one, other = links["unit_a"].to_numpy(), links["unit_b"].to_numpy()
    conflicting, level = links["contradicts"].to_numpy(), links["level"].to_numpy()
    conflicts = np.column_stack([one, other])[conflicting]
    connection, carried = units, {}
    for rung, linked in (
        ("deployable", level >= (SAME_EDGE if parameters.coverage == "ignored" else CERTIFIED)),
        ("at_edge", level >= SAME_EDGE),
        ("of_owner", (level >= SAME_EDGE) | links["one_owner"].to_numpy()),
    ):
        chosen = ~conflicting & linked
        connection = _merge(connection, one[chosen], other[chosen], conflicts)
        carried[rung] = connection != units
    return {"merged_units": pl.DataFrame({"number": units, **carried}).select(MERGED_UNITS.names())}


def _merge(connection: _Ints, one: _Ints, other: _Ints, conflicts: _Ints) -> _Ints:
    """The connection of each unit, after the connections of linked units merge; named by its least unit.

    ``connection``: the connection of each unit before. ``one`` and ``other``: the pairs of linked units.
    """
    component = _connected_components(connection.size, connection[one], connection[other])[connection]
    within = component[conflicts[:, 0]] == component[conflicts[:, 1]]
    conflicts_of: dict[int, set[int]] = {}
    for first, second in connection[conflicts[within]].tolist():
        conflicts_of.setdefault(first, set()).add(second)
        conflicts_of.setdefault(second, set()).add(first)
    if not conflicts_of:
        return component
    has_conflict = np.isin(component, component[list(conflicts_of)])
    assigned = component.copy()
    connections: dict[int, list[list[int]]] = {}
    for unit in np.flatnonzero(has_conflict & (connection == np.arange(connection.size))).tolist():
        connections_of_component = connections.setdefault(int(component[unit]), [])
        conflicts_of_unit = conflicts_of.get(unit, set())
        without_conflict = next(
            (units for units in connections_of_component if conflicts_of_unit.isdisjoint(units)), None
        )
        if without_conflict is None:
            connections_of_component.append([unit])
        else:
            without_conflict.append(unit)
    for connections_of_component in connections.values():
        for units in connections_of_component:
            assigned[units] = units[0]
    return np.asarray(assigned[connection])


def _connected_components(size: int, one: _Ints, other: _Ints) -> _Ints:
    """The connected component of each unit, named by its least unit: labels spread until nothing changes."""
    label = np.arange(size)
    while True:
        previous = label.copy()
        least = np.minimum(label[one], label[other])
        # Hooking the roots, not only the units, lets labels cross long chains in few rounds.
        for ends in (label[one], label[other], one, other):
            np.minimum.at(label, ends, least)
        label = label[label]
        if (label == previous).all():
            return label
