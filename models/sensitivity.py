"""Sensitivity of the results to each parameter of the models: the variants with one parameter changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args, get_origin, get_type_hints

from originset.models.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Variant:
    """``parameters`` with this ``value`` of this ``parameter``; ``chosen``: the study's own parameters have it too."""

    parameter: str
    value: str
    chosen: bool
    parameters: Parameters


def variants(parameters: Parameters) -> Iterator[Variant]:
    """One variant for each value of each parameter; the other parameters are those of ``parameters``."""
    for name, choice in get_type_hints(Parameters).items():
        if get_origin(choice) is Literal:
            for value in get_args(choice):
                changed = replace(parameters, **{name: value})
                yield Variant(name, value, value == getattr(parameters, name), changed)
