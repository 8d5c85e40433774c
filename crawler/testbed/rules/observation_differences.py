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
            yield f"{' '.join(cell.key)}: new: {connection_counts(cell)}"
        elif not is_known_outcome(known_cell, cell):
            yield f"{' '.join(cell.key)}: {connection_counts(known_cell)} -> {connection_counts(cell)}"


def is_known_outcome(before: Cell, after: Cell) -> bool:
    """Whether what most loads did is something that was seen before."""
    return load_patterns(after)[0] in load_patterns(before)


def load_patterns(cell: Cell) -> list[frozenset[frozenset[str]]]:
    """How the hosts shared connections: addresses and unused connections, which change by chance, aside."""
    return [outcome.hosts for outcome in cell.outcomes]


def connection_counts(cell: Cell) -> str:
    """Connections that carried requests, load by load."""
    return ",".join(map(str, cell.used))
