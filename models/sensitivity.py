"""Which choices of the models can be made otherwise: each is changed by itself, to see how much it matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args, get_origin, get_type_hints

from originset.models.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Variant:
    """One choice: ``parameters`` have this ``value`` of this ``parameter``; ``chosen``: as the study's own."""

    parameter: str
    value: str
    chosen: bool
    parameters: Parameters


def variants(parameters: Parameters) -> Iterator[Variant]:
    """Every value of every choice, the others as in ``parameters``."""
    for name, choice in get_type_hints(Parameters).items():
        if get_origin(choice) is Literal:
            for value in get_args(choice):
                changed = replace(parameters, **{name: value})
                yield Variant(name, value, value == getattr(parameters, name), changed)
