"""Bootstrap intervals: what they are between, what they do not depend on, and how often they hold."""

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.queries.intervals import register, saved_pct_interval

sites = st.lists(
    st.integers(0, 50).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=2, max_size=30
).filter(lambda pairs: any(measured for measured, _ in pairs))


def interval(pairs):
    return saved_pct_interval([measured for measured, _ in pairs], [left for _, left in pairs], replicates=200)


@given(pairs=sites, data=st.data())
def test_between_the_least_and_the_most_of_any_site_in_any_order(pairs, data) -> None:
    low, high = interval(pairs)
    shares = [100 * (measured - left) / measured for measured, left in pairs if measured]
    assert min(shares) - 1e-9 <= low <= high <= max(shares) + 1e-9
    assert interval(data.draw(st.permutations(pairs))) == [low, high]


@pytest.mark.parametrize("pairs", [[], [(10, 4)], [(0, 0), (0, 0)]])
def test_nothing_is_said_where_nothing_is_known(pairs) -> None:
    assert interval(pairs) is None


def test_sites_that_are_all_alike_leave_no_doubt() -> None:
    assert interval([(10, 4)] * 5) == [60.0, 60.0]


def test_pages_of_one_site_are_no_evidence_of_their_own() -> None:
    """Twenty visits of each of two sites say no more of other sites than one visit of each."""
    once = interval([(10, 2), (10, 8)])
    assert interval([(200, 40), (200, 160)]) == once == [20.0, 80.0]


def test_it_holds_about_as_often_as_it_says() -> None:
    """95 % intervals of samples from a population whose share is known: 60 %."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        measured = rng.integers(1, 40, 60)
        left = rng.binomial(measured, rng.beta(2, 3, 60))
        low, high = saved_pct_interval(measured.tolist(), left.tolist(), replicates=300)
        held += low <= 60 <= high
    assert 176 <= held <= 199


def test_in_sql() -> None:
    with duckdb.connect() as connection:
        register(connection)
        register(connection)
        rows = connection.execute(
            "SELECT saved_pct_interval(list(m), list(l)), saved_pct_interval(NULL, list(l)),"
            " saved_pct_interval(list(m) FILTER (m > 99), list(l)) FROM (VALUES (10, 2), (10, 8)) AS sites(m, l)"
        ).fetchall()
    assert rows == [([20.0, 80.0], None, None)]
