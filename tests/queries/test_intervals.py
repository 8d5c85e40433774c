"""The schema's intervals: what they do not depend on, where nothing is said, and how often they hold."""

from math import comb

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.data.schema.sql_macros import MACROS, macro_header, macro_statements
from originset.queries.intervals import saved_pct_interval

sites = st.lists(
    st.integers(0, 50).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=2, max_size=30
).filter(lambda pairs: any(measured for measured, _ in pairs))


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as opened:
        for statement in macro_statements():
            opened.execute(statement)
        yield opened


def interval(pairs):
    return saved_pct_interval([measured for measured, _ in pairs], [remaining for _, remaining in pairs])


def by_hand(pairs):
    """Cochran's formula, term by term."""
    total, n = sum(m for m, _ in pairs), len(pairs)
    ratio = sum(r for _, r in pairs) / total
    error = (n / (n - 1) * sum((r - ratio * m) ** 2 for m, r in pairs)) ** 0.5 / total
    return [100 * (1 - ratio) - 196 * error, min(100.0, 100 * (1 - ratio) + 196 * error)]


@given(pairs=sites, data=st.data())
def test_it_is_the_formula_in_any_order(pairs, data) -> None:
    low, high = found = interval(pairs)
    assert found == pytest.approx(by_hand(pairs), abs=1e-6)
    saved = 100 * (1 - sum(r for _, r in pairs) / sum(m for m, _ in pairs))
    assert low - 1e-9 <= saved <= high + 1e-9 <= 100 + 2e-9
    assert interval(data.draw(st.permutations(pairs))) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("pairs", [[], [(10, 4)], [(0, 0), (0, 0)]])
def test_nothing_is_said_where_nothing_is_known(pairs) -> None:
    assert interval(pairs) is None


def test_sites_that_are_all_alike_leave_no_doubt() -> None:
    assert interval([(10, 4)] * 5) == pytest.approx([60.0, 60.0])


def test_pages_of_one_site_are_no_evidence_of_their_own() -> None:
    """Twenty visits of each of two sites say no more of other sites than one visit of each."""
    once = interval([(10, 2), (10, 8)])
    assert interval([(200, 40), (200, 160)]) == pytest.approx(once)
    assert once == pytest.approx([50 - 58.8, 100.0])


@pytest.mark.parametrize("number", [30, 100])
def test_it_holds_about_as_often_as_it_says(connection, number) -> None:
    """95 % intervals of 2,000 samples of sites from a population whose share is known: 60 %."""
    rng = np.random.default_rng(1)
    measured = rng.integers(1, 40, (2000, number))
    samples = pl.DataFrame({"m": measured, "r": rng.binomial(measured, rng.beta(2, 3, measured.shape))})
    connection.register("samples", samples)
    held = "SELECT count(*) FILTER (60 BETWEEN b[1] AND b[2]) FROM (SELECT saved_pct_interval(m, r) AS b FROM samples)"
    ((found,),) = connection.execute(held).fetchall()
    assert 0.92 <= found / 2000 <= 0.96


def test_in_sql(connection) -> None:
    rows = connection.execute(
        "SELECT saved_pct_interval(list(m ORDER BY m), list(l ORDER BY m)), saved_pct_interval(NULL, list(l)),"
        " saved_pct_interval(list(m) FILTER (m > 99), list(l)), typeof(saved_pct_interval(list(m), list(l)))"
        " FROM (VALUES (10, 2.5), (20, 5)) AS sites(m, l)"
    ).fetchall()
    assert rows == [([75.0, 75.0], None, None, "DOUBLE[]")]


def test_by_group_in_one_statement(connection) -> None:
    """Aggregates of a group are its own, though a macro is but text that is put in its place."""
    rows = connection.execute(
        "SELECT g, saved_pct_interval(list(m), list(r)), median_interval(list(m)) FROM (VALUES (1, 10, 1), (1, 10, 1),"
        " (2, 10, 2), (2, 10, 2), (3, 1, 1)) AS t(g, m, r) GROUP BY g ORDER BY g"
    ).fetchall()
    assert rows == [(1, [90.0, 90.0], None), (2, [80.0, 80.0], None), (3, None, None)]


def medians(connection, numbers):
    return connection.execute("SELECT median_interval($1::DOUBLE[])", [numbers]).fetchone()[0]


def test_the_interval_of_a_median(connection) -> None:
    assert medians(connection, [6, 1, None, 5, 2, 4, 3]) == [1, 6]
    assert medians(connection, [5, 1, None, 2, 4, 3]) is None
    assert medians(connection, []) is None
    assert medians(connection, None) is None
    assert medians(connection, list(range(101, 0, -1))) == [41, 61]


def test_the_interval_of_a_median_holds_at_least_as_often_as_it_says(connection) -> None:
    """The median lies outside with the ranks below the lower one, and those above the upper: coins that fall alike."""
    rows = connection.execute("SELECT n, median_interval(range(1, n + 1)) FROM range(6, 400) AS t(n)").fetchall()
    for number, (low, high) in rows:
        assert low - 1 == number - high
        outside = 2 * sum(comb(number, rank) for rank in range(int(low)))
        assert 0.95 <= 1 - outside / 2**number < 0.995, number


def test_macros_say_what_they_give(connection) -> None:
    described = "SELECT function_name, comment, parameters FROM duckdb_functions() WHERE NOT internal ORDER BY ALL"
    assert connection.execute(described).fetchall() == [
        (name, macro_header(name).description, list(macro_header(name).columns)) for name in MACROS
    ]
