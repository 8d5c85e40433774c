"""Which choices of the models can be made otherwise: each is changed by itself, to see how much it matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import get_args

from originset.models import parameters as choices
from originset.models.parameters import Parameters

_CHOICES: dict[str, tuple[str, ...]] = {
    "colocation": get_args(choices.Colocation),
    "wildcards": get_args(choices.Wildcards),
    "coverage": get_args(choices.Coverage),
    "predecessor": get_args(choices.Predecessor),
    "parallel_dns": get_args(choices.ParallelDns),
    "blocked_time": get_args(choices.BlockedTime),
    "ssl": get_args(choices.Ssl),
}


@dataclass(frozen=True, slots=True)
class Variant:
    """One choice: ``parameters`` have this ``value`` of this ``parameter``; ``chosen``: as the study's own."""

    parameter: str
    value: str
    chosen: bool
    parameters: Parameters


def variants(parameters: Parameters) -> Iterator[Variant]:
    """Every value of every choice, the others as in ``parameters``."""
    for name, values in _CHOICES.items():
        for value in values:
            changed = {name: value}
            others = replace(parameters, **changed)  # type: ignore[arg-type]  # names and values stand above
            yield Variant(name, value, value == getattr(parameters, name), others)
