"""How many connections of a page go if what is at one server merges only where evidence connects its hosts."""

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
    """Which of linked_units are carried by the connection of another of the page and server key.

    A connection serves units that evidence of level 3 (``deployable``) between hosts of theirs connects, directly or
    through others; where coverage is ignored 2 is enough. Then what is so far one connection is a unit, and evidence of
    level 2 connects these (``at_edge``); then likewise evidence that one owner has both, on whatever machines
    (``of_owner``). Units between hosts of which a 421 was seen are kept apart: those of a
    component with such a conflict are assigned in the order of their numbers, each to the first connection without a
    conflict.
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
        connection = _merged(connection, one[chosen], other[chosen], conflicts)
        carried[rung] = connection != units
    return {"merged_units": pl.DataFrame({"number": units, **carried}).select(MERGED_UNITS.names())}


def _merged(connection: _Ints, one: _Ints, other: _Ints, conflicts: _Ints) -> _Ints:
    """Of each unit the least one that it is on one connection with, after the connections of linked units merge.

    ``connection``: the same as far as it is known. ``one`` and ``other``: units that are linked.
    """
    component = _components(connection.size, connection[one], connection[other])[connection]
    within = component[conflicts[:, 0]] == component[conflicts[:, 1]]
    conflicts_of: dict[int, set[int]] = {}
    for first, second in connection[conflicts[within]].tolist():
        conflicts_of.setdefault(first, set()).add(second)
        conflicts_of.setdefault(second, set()).add(first)
    if not conflicts_of:
        return component
    torn = np.isin(component, component[list(conflicts_of)])
    assigned = component.copy()
    connections: dict[int, list[list[int]]] = {}
    for unit in np.flatnonzero(torn & (connection == np.arange(connection.size))).tolist():
        so_far = connections.setdefault(int(component[unit]), [])
        apart_from = conflicts_of.get(unit, set())
        free = next((units for units in so_far if apart_from.isdisjoint(units)), None)
        if free is None:
            so_far.append([unit])
        else:
            free.append(unit)
    for so_far in connections.values():
        for units in so_far:
            assigned[units] = units[0]
    return np.asarray(assigned[connection])


def _components(size: int, one: _Ints, other: _Ints) -> _Ints:
    """The least unit that each is connected with: labels spread along links until nothing changes."""
    label = np.arange(size)
    while True:
        before = label.copy()
        least = np.minimum(label[one], label[other])
        # Hooking the roots, not only the units, lets labels cross long chains in few rounds.
        for ends in (label[one], label[other], one, other):
            np.minimum.at(label, ends, least)
        label = label[label]
        if (label == before).all():
            return label
