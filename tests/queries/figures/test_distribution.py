"""Quantiles and shares of counted values are numpy's; of a curve they lie on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.queries.figures.distribution import Distribution

numbers = st.lists(st.integers(0, 30), min_size=1, max_size=60)


@given(numbers=numbers, q=st.floats(0, 1))
def test_as_numpy_has_it(numbers, q) -> None:
    data = np.array(numbers)
    found = Distribution.of(data)
    assert found.total == len(numbers)
    assert found.mean == pytest.approx(data.mean())
    assert found.quantile(q) == pytest.approx(float(np.percentile(data, 100 * q)))
    for value in (-1, numbers[0], 30):
        assert found.share(value) == pytest.approx(float((data == value).mean()))
        assert found.share_up_to(value) == pytest.approx(float((data <= value).mean()))


def test_a_curve_is_read_between_its_points() -> None:
    curve = Distribution(np.array([10.0, 20.0, 40.0]), np.array([0.1, 0.5, 1.0]), None)
    assert curve.quantile(0.5) == 20
    assert curve.quantile(0.75) == 30
    assert (curve.total, curve.mean) == (None, None)
    assert (curve.share_up_to(39), curve.share_up_to(40), curve.share_up_to(9)) == (0.5, 1, 0)
