"""What ``check server`` expects of each server: by a site's plan, or by how far a rollout's ring has come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from originset.cli.writers.origin_set import choose, ring_origin_set
from originset.crawler.probe.server_findings import ServerFinding, findings, ring_findings
from originset.crawler.probe.server_observation import ServerObservation
from originset.data.errors import UsageError
from originset.models.plans.inventory.ring_changes import RingChange
from originset.models.plans.origin_plan import Plan

#: How far a ring has come: nothing is done yet (or all was taken back), its certificates are served, its sets are sent.
Step = Literal["today", "certificates", "origin"]


@dataclass(frozen=True, slots=True)
class ServerExpectation:
    """``sends``: whether it sends a set, None if that does not matter; ``origins``: the set's, if they are known.

    ``covered``: names that its certificate is to have by now; ``withheld``: names that it is not to announce yet.
    """

    sends: bool | None
    origins: tuple[str, ...] | None = None
    covered: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()

    def findings(self, seen: ServerObservation) -> Iterator[ServerFinding]:
        """What a server has that is not as expected."""
        if self.sends is not None:
            yield from findings(seen, self.origins, expects_set=self.sends)
        yield from ring_findings(seen, self.covered, self.withheld)


def by_plan(plan: Plan | None, site: str, *, sends: bool) -> ServerExpectation:
    """What a site's server is to send, by its plan if there is one.

    Raises:
        UsageError: as :func:`originset.cli.writers.origin_set.choose`.
    """
    return ServerExpectation(sends, None if plan is None else choose(plan, site)[0].origins)


def by_ring(changes: list[RingChange], step: Step, sample: int) -> dict[str, ServerExpectation]:
    """For the first ``sample`` hosts of either group of a ring, which come in a random order, what to expect of each.

    Raises:
        UsageError: no certificate of the ring has a host to ask for, but those below wildcards.
    """
    expected: dict[str, ServerExpectation] = {}
    for group in ("experiment", "control"):
        hosts = ((one.host, one) for one in changes if one.change.group == group)
        for host, one in islice(((host, one) for host, one in hosts if host is not None), sample):
            expected.setdefault(host, _certificate_expectation(one, step))
    if not expected:
        raise UsageError("no certificate of the ring covers a host by its name, so no server can be asked for one")
    return expected


def _certificate_expectation(one: RingChange, step: Step) -> ServerExpectation:
    change = one.change
    covered = () if step == "today" else tuple(change.names)
    if step == "origin" and change.group == "experiment":
        try:
            return ServerExpectation(sends=True, origins=ring_origin_set(one)[0].origins, covered=covered)
        except UsageError:  # its set is too large: no configuration was written, so nothing new is announced
            pass
    return ServerExpectation(None, covered=covered, withheld=(*change.names, *change.later))
