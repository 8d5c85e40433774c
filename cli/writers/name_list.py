"""The names that a certificate should hold: chosen from a plan, checked once more, divided where a CA takes no more."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from originset.cli.writers.origin_set import quoted
from originset.data.errors import UsageError
from originset.data.host_names import covers
from originset.data.quantity import quantity
from originset.models.origins import why_no_name
from originset.models.plans.origin_plan import Basis, Plan

# What Let's Encrypt takes; other public CAs take as many or more.
USUAL_LIMIT = 100


_NEW = "A name is new to the certificate, so its owner must validate it."


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate's subject alternative names; ``added`` are new among them."""

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def first(self) -> str:
        """What it goes by where nobody named it, a wildcard without its label."""
        return (*self.names, *self.addresses)[0].removeprefix("*.")


@dataclass(frozen=True, slots=True)
class NameList:
    """The change for a site, or for a certificate of an inventory, which rests on no study.

    ``ask``: names of other owners; ``left_out``: names that cannot be in it, and why.
    """

    site: str
    basis: Basis | None
    certificates: tuple[Certificate, ...]
    ask: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]

    def called(self, name: str | None, program: str, see: str) -> list[tuple[str, Certificate]]:
        """Each certificate after what ``program`` calls it: ``name``, numbered from the second on, or its first name.

        Raises:
            UsageError: ``name`` cannot be one.
        """
        if name is not None and (not name.isprintable() or "/" in name or name.startswith(("-", "."))):
            raise UsageError(f"{name!r} is no name that {program} has", f"see: {see}")
        return [
            (certificate.first if not name else name if number == 1 else f"{name}-{number}", certificate)
            for number, certificate in enumerate(self.certificates, 1)
        ]

    def remarks(self) -> list[str]:
        """What it is and what it rests on, for comments: printable ASCII, one line each."""
        names = sum(len(certificate.names) + len(certificate.addresses) for certificate in self.certificates)
        added = sum(len(certificate.added) for certificate in self.certificates)
        number = f"{quantity(names, 'name')}, {added} of them new. {_NEW}"
        if self.basis is None:
            return [f"Certificate {quoted(self.site)} of an inventory, written by originset.", number]
        basis = self.basis
        seen = f"{quantity(basis.visits, 'visit')}, {quantity(basis.vantages, 'named vantage')}"
        dates = f"{quoted(basis.first_visit or 'unknown')} to {quoted(basis.last_visit or 'unknown')}"
        lines = [
            f"Certificate names of site {quoted(self.site)}, written by originset.",
            f"Study {quoted(basis.study)}: {seen}, {dates}.",
            number,
        ]
        if len(self.certificates) > 1:
            lines.append(
                f"Divided into {len(self.certificates)} certificates: what is in different ones cannot share a "
                "connection. The first holds what the site's pages use."
            )
        return lines


def choose(plan: Plan, existing: Iterable[str] | None, limit: int = USUAL_LIMIT) -> NameList:
    """The names for the site's certificate: today's, and those additions that the asker can validate.

    ``existing``: the names of today's certificate; None takes the plan's. ``limit``: names that the CA puts into one
    certificate. Where they do not fit, the first certificate holds the site's own name, what is added, and what the
    plan announces.

    Raises:
        UsageError: today's names are not known, or the site's own name cannot be in a certificate.
    """
    current = plan.names if existing is None else list(existing)
    if current is None:
        raise UsageError(
            f"the names of {quoted(plan.site)}'s certificate are not known",
            "give the certificate with --current; a new list must hold the old names too",
        )
    kept, addresses, left_out = _sorted_out(current)
    own = plan.servers[0].server if plan.servers else plan.site
    added: list[str] = [] if covers(kept, own) else [_require_name(own)]
    ask: list[str] = []
    for addition in plan.additions:
        problem = why_no_name(addition.name)
        if problem is not None:
            left_out.append((addition.name, problem))
        elif not addition.same_owner:
            ask.append(addition.name)
        elif addition.name not in added and not covers(kept, addition.name):
            added.append(addition.name)
    certificates = _certificates_within_limit(_by_use(plan, own, kept, added), addresses, frozenset(added), limit)
    return NameList(plan.site, plan.basis, certificates, tuple(ask), tuple(left_out))


def changed(certificate: str, existing: Iterable[str], added: Iterable[str]) -> NameList:
    """The names for a certificate of an inventory: today's in their order, then those to add.

    Raises:
        UsageError: none of them can be in a certificate.
    """
    kept, addresses, left_out = _sorted_out(existing)
    more, _, refused = _sorted_out(name for name in added if name not in kept)
    if not kept and not more and not addresses:
        raise UsageError(f"certificate {quoted(certificate)} has no name that can be in one")
    whole = Certificate(names=(*kept, *more), addresses=tuple(addresses), added=tuple(more))
    return NameList(certificate, None, (whole,), (), (*left_out, *refused))


def _sorted_out(names: Iterable[str]) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Host names, addresses, and what is neither, with the reason."""
    kept: list[str] = []
    addresses: list[str] = []
    left_out: list[tuple[str, str]] = []
    for name in dict.fromkeys(names):
        try:
            addresses.append(str(ipaddress.ip_address(name)))
        except ValueError:
            problem = why_no_name(name.removeprefix("*."))
            if problem is None:
                kept.append(name)
            else:
                left_out.append((name, problem))
    return kept, addresses, left_out


def _require_name(host: str) -> str:
    problem = why_no_name(host)
    if problem is not None:
        raise UsageError(f"{quoted(host)} can be in no certificate ({problem})")
    return host


def _by_use(plan: Plan, own: str, kept: list[str], added: list[str]) -> list[str]:
    """All names: the site's own (or what covers it), what the plan adds and announces, then the others by name."""
    announced = [origin.removeprefix("https://") for server in plan.servers for origin in server.origins]
    used = [name for name in sorted(kept) if any(covers([name], host) for host in announced)]
    mine = [name for name in (own, *sorted(kept)) if covers([name], own) and name in {*kept, *added}]
    return list(dict.fromkeys([*mine, *added, *used, *sorted(kept)]))


def _certificates_within_limit(
    names: list[str], addresses: list[str], added: frozenset[str], limit: int
) -> tuple[Certificate, ...]:
    everything = [*names, *addresses]
    parts = [everything[start : start + limit] for start in range(0, len(everything), limit)]
    hosts = set(names)
    return tuple(
        Certificate(
            names=tuple(name for name in part if name in hosts),
            addresses=tuple(name for name in part if name not in hosts),
            added=tuple(name for name in part if name in added),
        )
        for part in parts
    )
