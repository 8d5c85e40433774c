"""The origin set that a configuration carries: chosen from a plan and checked once more, whoever wrote the plan."""

from __future__ import annotations

import json
from dataclasses import dataclass

from originset.data.errors import UsageError
from originset.data.host_names import covers
from originset.data.quantity import quantity
from originset.models.origins import MAX_PAYLOAD_BYTES, NotAnOriginError, parse, payload_bytes, serialize, why_no_origin
from originset.models.plans.inventory.ring_changes import RingChange
from originset.models.plans.origin_plan import Basis, Plan, Server

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class OriginSet:
    """One server's set: every origin valid, sorted, the server's own among them, small enough for one frame.

    ``basis`` is None for a certificate of an inventory, which rests on no study; ``site`` is its name then.
    """

    site: str
    server: str
    origins: tuple[str, ...]
    basis: Basis | None
    left_out: int

    def remarks(self) -> list[str]:
        """What it is and what it rests on, for comments: printable ASCII, one line each."""
        left_out = f"{quantity(self.left_out, 'host')} left out"
        number = f"{quantity(len(self.origins), 'origin')} in {payload_bytes(self.origins)} bytes; {left_out}"
        basis = self.basis
        if basis is None:
            return [f"ORIGIN set (RFC 8336) of certificate {quoted(self.site)}, written by originset.", f"{number}."]
        seen = f"{quantity(basis.visits, 'visit')}, {quantity(basis.vantages, 'named vantage')}"
        dates = f"{quoted(basis.first_visit or 'unknown')} to {quoted(basis.last_visit or 'unknown')}"
        return [
            f"ORIGIN set (RFC 8336) of {quoted(self.server)} for site {quoted(self.site)}, written by originset.",
            f"Study {quoted(basis.study)}: {seen}, {dates}.",
            f"{number}, originset plan site says why.",
        ]


def quoted(text: str) -> str:
    """A stranger's text as printable ASCII in quotes, shortened: it cannot end a comment or a line."""
    shortened = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return json.dumps(shortened, ensure_ascii=True).replace("\x7f", "\\u007f")


def choose(plan: Plan, host: str | None) -> tuple[OriginSet, list[str]]:
    """The set of one of the plan's servers, and a line on each entry that is refused.

    ``host`` names the server; None takes the first, the most visited.

    Raises:
        UsageError: the plan has no such server, its own origin is not among the valid ones, or the set is too large for
            a frame.
    """
    server = _server(plan, host)
    valid: set[str] = set()
    refused: list[str] = []
    hosts: set[str] = set()
    # Where the plan's certificate does not cover the server itself, the server has another.
    names = plan.names if plan.names is not None and covers(plan.names, server.server) else None
    for entry in server.announce:
        try:
            host = parse(entry.origin)[0]
        except NotAnOriginError as error:
            refused.append(f"left out {quoted(entry.origin)}: {error.reason}")
            continue
        if names is not None and not covers(names, host):
            refused.append(f"left out {quoted(entry.origin)}: the plan's certificate does not cover it")
            continue
        hosts.add(host)
        valid.add(entry.origin)
    if server.server not in hosts:
        why = next((left.detail for left in server.left_out if left.host == server.server), "it is not in the plan")
        raise UsageError(
            f"the set of {quoted(server.server)} would lack the server's own origin ({why})",
            "an ORIGIN frame without it takes the server's own requests away from its connections",
        )
    _require_frame_holds(server.server, valid)
    left_out = len(server.left_out) + len(refused)
    chosen = OriginSet(plan.site, server.server, tuple(sorted(valid)), plan.basis, left_out)
    return chosen, refused


def ring_origin_set(one: RingChange) -> tuple[OriginSet, list[str]]:
    """What connections of an inventory's certificate announce once a ring has changed it: its hosts and the added ones.

    Also a line on each of its names that is left out: wildcards are no origins.

    Raises:
        UsageError: it has no host but those below wildcards, or the set is too large for a frame.
    """
    server = one.host
    if server is None:
        raise UsageError("it has wildcards alone, and no origin can be made of one")
    valid: set[str] = set()
    refused: list[str] = []
    for name in dict.fromkeys([*one.names, *one.change.names]):
        why = "a wildcard is no origin" if name.startswith("*.") else why_no_origin(name, None)
        if why is None:
            valid.add(serialize(name, 443))
        else:
            refused.append(f"left out {quoted(name)}: {why}")
    _require_frame_holds(server, valid)
    return OriginSet(one.change.certificate, server, tuple(sorted(valid)), None, len(refused)), refused


def _require_frame_holds(server: str, origins: set[str]) -> None:
    size = payload_bytes(origins)
    if size > MAX_PAYLOAD_BYTES:
        raise UsageError(
            f"the set of {quoted(server)} has {len(origins)} origins in {size} bytes and a frame holds "
            f"{MAX_PAYLOAD_BYTES}",
            "remove origins from the plan, the least requested first",
        )


def _server(plan: Plan, host: str | None) -> Server:
    if not plan.servers:
        raise UsageError(f"the plan of {quoted(plan.site)} names no server")
    if host is None:
        return plan.servers[0]
    for server in plan.servers:
        if server.server == host:
            return server
    names = ", ".join(quoted(server.server) for server in plan.servers)
    raise UsageError(f"the plan has no server {quoted(host)}", f"it has {names}")
