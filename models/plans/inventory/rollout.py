"""A plan for many certificates in rings, each beside a control group, so that it can be measured, stopped, taken back.

As in the paper's deployment (section 5): the control's certificates get an unused name of the same length for each
name that the others get, so that both groups are reissued alike and their handshakes are equally long.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
import polars as pl

from originset.models.origins import NotAnOriginError, check_host

#: Shares of the units that are done when a ring is. What these leave is the control, the last ring of all.
RINGS = (0.01, 0.05, 0.25, 1.0)
CONTROL_SHARE = 0.05

Row = dict[str, Any]

_LABEL_BYTES = 63


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One certificate's change: the names to add; for a control also those that wait (``later``)."""

    certificate: str
    group: Literal["experiment", "control"]
    names: list[str]
    later: list[str]


# As many as a number of 64 bits counts.
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Ring(msgspec.Struct, frozen=True, kw_only=True):
    """What one ring changes; ``ring``: its number, from 1."""

    ring: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
    certificates: list[Change]
    connections_saved: _Count


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a rollout file. The same seed gives the same rings.

    Rings are in their order, numbered from 1 without a gap. Each certificate is in one ring; those of the control
    groups are in one more at the end, with the names that they waited for.
    """

    seed: str
    rings: list[Ring]
    format: Literal["originset-rollout"] = "originset-rollout"
    version: Literal[1] = 1


def rollout(additions: pl.DataFrame, control_domain: str, seed: str) -> Rollout:
    """Rings for the additions of an inventory's plan (unit, certificates, name, connections_saved).

    The certificates of a unit are in one ring and one group. ``control_domain``: a domain of the operator's under which
    unused names for the control are made.

    Raises:
        ValueError: ``control_domain`` is no host name.
    """
    try:
        check_host(control_domain)
    except NotAnOriginError as error:
        raise ValueError(f"{control_domain!r}: {error.reason}") from error
    units = additions.group_by("unit").agg(
        additions=pl.struct("certificates", "name", "connections_saved").sort_by(
            "connections_saved", "name", descending=[True, False]
        )
    )
    placed = sorted((_place(seed, row["unit"]), row) for row in units.sort("unit").to_dicts())
    rings: list[Ring] = []
    start = 0
    for number, share in enumerate(RINGS, 1):
        # Of few units each ring has one, as long as there are any.
        end = min(len(placed), max(number, math.ceil(share * len(placed))))
        if start < end:
            unchanged = [row for _, row in placed[start:end]]
            rings.append(_ring(number, unchanged, control_domain, seed, last=end == len(placed)))
        start = end
    released = [
        Change(certificate=one.certificate, group="experiment", names=one.later, later=[])
        for ring in rings
        for one in ring.certificates
        if one.group == "control"
    ]
    if released:
        controls = {one.certificate for one in released}
        saved = sum(
            addition["connections_saved"]
            for row in units.iter_rows(named=True)
            for addition in row["additions"]
            if controls.intersection(addition["certificates"])
        )
        rings.append(Ring(ring=len(rings) + 1, certificates=released, connections_saved=saved))
    return Rollout(seed=seed, rings=rings)


def control_name(length: int, domain: str, certificate: str) -> str | None:
    """An unused name of exactly ``length`` bytes below ``domain``, another for each certificate; None if too short.

    Labels of 63 bytes at most (RFC 1035 section 2.3.4), of letters and digits.
    """
    room = length - len(domain) - 1
    if room < 1:
        return None
    digits = hashlib.sha256(certificate.encode()).hexdigest()
    text = (digits * (room // len(digits) + 1))[:room]
    labels = []
    while len(text) > _LABEL_BYTES:
        # A dot takes a byte too, and a label has at least one.
        cut = min(_LABEL_BYTES, len(text) - 2)
        labels.append(text[:cut])
        text = text[cut + 1 :]
    return ".".join([*labels, text, domain])


def _place(seed: str, certificate: str) -> str:
    return hashlib.sha256(f"{seed}\n{certificate}".encode()).hexdigest()


def _ring(number: int, units: Sequence[Row], control_domain: str, seed: str, *, last: bool) -> Ring:
    changes: list[Change] = []
    saved = 0
    for unit in units:
        fillers = None if last else _control_names(unit, control_domain, seed)
        changes += _changes(unit["additions"], fillers)
        saved += 0 if fillers else sum(addition["connections_saved"] for addition in unit["additions"])
    return Ring(ring=number, certificates=changes, connections_saved=saved)


def _control_names(unit: Row, domain: str, seed: str) -> dict[str, str] | None:
    """The unused name in the place of each name, if the unit is drawn for the control and every name has room."""
    if int(_place(f"{seed} control", unit["unit"])[:8], 16) / 2**32 >= CONTROL_SHARE:
        return None
    fillers: dict[str, str] = {}
    for name in (addition["name"] for addition in unit["additions"]):
        filler = control_name(len(name), domain, f"{unit['unit']} {name}")
        if filler is None:
            return None
        fillers[name] = filler
    return fillers


def _changes(additions: Sequence[Row], fillers: dict[str, str] | None) -> list[Change]:
    """A change for each certificate of a unit, all in one group: a client gets any of them."""
    names: dict[str, list[str]] = {}
    for addition in additions:
        for certificate in addition["certificates"]:
            names.setdefault(certificate, []).append(addition["name"])
    if fillers is None:
        return [
            Change(certificate=certificate, group="experiment", names=added, later=[])
            for certificate, added in names.items()
        ]
    return [
        Change(certificate=certificate, group="control", names=[fillers[name] for name in added], later=added)
        for certificate, added in names.items()
    ]
