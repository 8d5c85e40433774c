"""The models in SQL against their oracles: bytes choose what hypothesis draws, a study and its parameters."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from drawn_studies import PARAMETERS, Row, studies
from hypothesis import given, settings
from hypothesis import strategies as st
from model_oracles import require_equal_page_models, require_equal_study_models

from doors import Bound
from originset.models.parameters import Parameters

FOLDERS = ("models/runner",)
LONGEST = 1 << 12
MEMORY = Bound(16 << 20, 0)
LINES = Bound(20_000, 0)

# What is found is kept by the fuzzer, and it draws nothing by itself.
_FUZZED = settings(database=None, deadline=None)


def read(data: bytes, *, whole: bool) -> None:
    """The models of pages; those of the whole study, too, which take seconds."""
    _page_models.hypothesis.fuzz_one_input(data)
    if whole:
        _study_models.hypothesis.fuzz_one_input(data)


@_FUZZED
@given(rows=studies(), parameters=PARAMETERS)
def _page_models(rows: dict[str, list[Row]], parameters: Parameters) -> None:
    require_equal_page_models(rows, parameters)


@_FUZZED
@given(rows=studies(), parameters=PARAMETERS, batches=st.integers(1, 3))
def _study_models(rows: dict[str, list[Row]], parameters: Parameters, batches: int) -> None:
    require_equal_study_models(rows, parameters, batches)


def seeds() -> Iterator[bytes]:
    """Bytes by chance, the same ones each time, which draw studies of some ten requests."""
    for number in range(8):
        yield random.Random(number).randbytes(2_000)  # noqa: S311 - the same ones each time


def bombs(size: int) -> Mapping[str, bytes]:
    """More bytes draw no more rows than their strategies permit."""
    return {"chance": random.Random(size).randbytes(size)}  # noqa: S311 - the same ones each time
