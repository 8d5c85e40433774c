"""Every model that has a definition of its own against a plain implementation, on drawn studies, in any batches."""

from __future__ import annotations

import os

import pytest
from drawn_studies import PARAMETERS, Row, studies
from hypothesis import given, settings
from hypothesis import strategies as st
from model_oracles import require_equal_page_models, require_equal_study_models

from originset.models.parameters import Parameters

BATCHES = st.integers(1, 3)
# A fraction of what `make soak` draws, and always the same: what it draws anew can take minutes to be made small.
FULL = os.environ.get("ORIGINSET_SOAK") == "full"
DRAWN = settings(max_examples=60 if FULL else 4, derandomize=not FULL)
pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@DRAWN
@given(rows=studies(), parameters=PARAMETERS)
def test_models_of_pages(rows: dict[str, list[Row]], parameters: Parameters) -> None:
    require_equal_page_models(rows, parameters)


@DRAWN
@given(rows=studies(), parameters=PARAMETERS, batches=BATCHES)
def test_models_of_the_study(rows: dict[str, list[Row]], parameters: Parameters, batches: int) -> None:
    require_equal_study_models(rows, parameters, batches)
