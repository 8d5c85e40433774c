"""What two observations of the rules have not in common. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from originset.crawler.testbed.rules.observations import Cell, Observations


def differences(before: Observations, after: Observations) -> Iterator[str]:
    """A line for each cell of ``after`` whose loads went another way than any load of ``before``, and for versions."""
    for browser, version in sorted(after.versions.items()):
        if (known := before.versions.get(browser)) != version:
            yield f"{browser}: {known or 'never observed'} -> {version}"
    known_cells = {cell.key: cell for cell in before.cells}
    for cell in after.cells:
        known_cell = known_cells.get(cell.key)
        if known_cell is None:
            yield f"{' '.join(cell.key)}: new: {in_short(cell)}"
        elif not agrees(known_cell, cell):
            yield f"{' '.join(cell.key)}: {in_short(known_cell)} -> {in_short(cell)}"


def agrees(before: Cell, after: Cell) -> bool:
    """Whether what most loads did is something that was seen before."""
    return ways(after)[0] in ways(before)


def ways(cell: Cell) -> list[frozenset[frozenset[str]]]:
    """How the hosts shared connections: addresses and unused connections, which change by chance, aside."""
    return [outcome.hosts for outcome in cell.outcomes]


def in_short(cell: Cell) -> str:
    """Connections that carried requests, load by load."""
    return ",".join(map(str, cell.used))
