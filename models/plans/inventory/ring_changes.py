"""The certificates of a rollout's rings as they are today and as they are to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from originset.data.errors import InputError, UsageError
from originset.models.plans.inventory.inventory_files import read_inventory
from originset.models.plans.inventory.rollout import Change
from originset.models.plans.inventory.rollout_file import read_rollout


@dataclass(frozen=True, slots=True)
class RingChange:
    """What a ring changes of one certificate; ``names``: those that it has today, as the inventory says."""

    ring: int
    change: Change
    names: tuple[str, ...]

    @property
    def host(self) -> str | None:
        """The first host that it covers by name; None if it has wildcards alone."""
        return next((name for name in self.names if not name.startswith("*.")), None)


def groups_of_sites(changes: dict[int, list[RingChange]]) -> Callable[[str], str | None]:
    """Says in which group a site is, by the certificate that covers it: experiment, control, or None.

    The control's certificates stay in it, although they are the last ring.
    """
    groups: dict[str, str] = {}
    for one in (one for of_ring in changes.values() for one in of_ring):
        for name in one.names:
            groups.setdefault(name, one.change.group)
    return lambda site: groups.get(site, groups.get(f"*.{site.partition('.')[2]}"))


def ring_changes(rollout: Path, inventory: Path, ring: int | None) -> dict[int, list[RingChange]]:
    """The certificates of each ring of a rollout, or of one ring alone.

    Raises:
        InputError: a file cannot be read, or the inventory lacks a certificate of the rollout.
        UsageError: the rollout has no such ring.
    """
    planned = read_rollout(rollout)
    known = read_inventory(inventory).certificates
    names = dict(zip(known["certificate"], known["names"].to_list(), strict=True))
    rings = [one for one in planned.rings if ring in (None, one.ring)]
    if not rings:
        raise UsageError(f"{rollout} has no ring {ring}", f"it has {len(planned.rings)}")
    for change in (change for one in rings for change in one.certificates):
        if change.certificate not in names:
            raise InputError(str(inventory), "no-certificate", f"has no certificate {change.certificate!r}")
    return {
        one.ring: [RingChange(one.ring, change, tuple(names[change.certificate] or ())) for change in one.certificates]
        for one in rings
    }
