"""Loops over requests and uses, held against Python that takes one row after another."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.models.compiled.uses import (
    count_different,
    find_pairs,
    first_opened,
    in_order,
    least_of_pages,
    number_pairs,
    runs,
    sums_of_pages,
)

numbers = st.sampled_from([-(2**63), -1, 0, 1, 2, 2**32, 2**63 - 1])
pairs = st.lists(st.tuples(numbers, numbers), max_size=60)


def columns(rows, *kinds):
    """Columns of rows, each of its kind."""
    return [np.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]


@given(rows=st.lists(st.tuples(numbers, numbers, st.booleans()), max_size=60))
def test_pairs_are_numbered_by_first_appearance(rows) -> None:
    one, other, known = columns(rows, np.int64, np.int64, np.uint8)
    number, first = number_pairs(one, other, known, 0)
    seen = {}
    expected = [seen.setdefault(row[:2], len(seen)) if row[2] else -1 for row in rows]
    assert number.tolist() == expected
    assert first.tolist() == [expected.index(which) for which in range(len(seen))]


@given(rows=pairs, asked=pairs)
def test_pairs_are_found_where_they_are_first(rows, asked) -> None:
    found = find_pairs(*columns(rows, np.int64, np.int64), *columns(asked, np.int64, np.int64))
    assert found.tolist() == [rows.index(pair) if pair in rows else -1 for pair in asked]


@given(rows=pairs)
def test_runs_are_of_equal_neighbours(rows) -> None:
    number, first = runs(*columns(rows, np.int64, np.int64))
    starts = [row for row in range(len(rows)) if row == 0 or rows[row] != rows[row - 1]]
    assert first.tolist() == starts
    assert number.tolist() == [sum(start <= row for start in starts) - 1 for row in range(len(rows))]


@given(rows=st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, 1.0, None]), st.integers(0, 3))))
def test_order_is_by_page_then_start_then_number_with_unknown_starts_last(rows) -> None:
    keys = [(page, started is None, started or 0, number) for page, started, number in rows]
    ordered = all(before < after for before, after in pairwise(keys))
    assert in_order(*columns(rows, np.int64, np.float64, np.int32)) == ordered


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5)), max_size=40))
def test_the_least_of_a_page(rows) -> None:
    found = least_of_pages(*columns(rows, np.int64, np.uint8, np.int32), 5)
    for page in range(5):
        own = [row for row in range(len(rows)) if rows[row][0] == page]
        assert found[page] == (min(own, key=lambda row: rows[row][1:]) if own else -1)


@given(rows=st.lists(st.tuples(st.integers(0, 3), numbers, st.booleans()), max_size=60))
def test_different_values_and_sums_of_pages(rows) -> None:
    page, value, counted = columns(rows, np.int64, np.int64, np.uint8)
    some = [row for row in rows if row[2]]
    different = [len({value for page, value, _ in some if page == which}) for which in range(5)]
    assert count_different(page, value, counted, 5).tolist() == different
    small = value & 0xFFFF
    sums = [int(small[(page == which) & (counted == 1)].sum()) for which in range(5)]
    assert sums_of_pages(page, small, counted, 5).tolist() == sums


uses = st.tuples(st.integers(0, 3), st.integers(0, 4), st.booleans(), st.sampled_from([0.0, 1.0, 2.0, None]))


@given(rows=st.lists(uses, max_size=30), opened=st.tuples(*[st.sampled_from([0.5, 1.5, None])] * 5))
def test_the_connection_that_was_opened_first(rows, opened) -> None:
    origin, connection, refused, started = columns(rows, np.int64, np.int64, np.uint8, np.float64)
    ids = np.arange(len(rows))[::-1].copy()
    chosen = first_opened(origin, connection, refused, np.array(opened, np.float64), started, ids)

    def order(row):
        own = [each for each in range(len(rows)) if rows[each][1] == rows[row][1]]
        begun = min((rows[each][3] for each in own if rows[each][3] is not None), default=float("inf"))
        known = opened[rows[row][1]]
        return rows[row][2], begun if known is None else known, min(ids[each] for each in own), row

    expected = [
        min((row for row in range(len(rows)) if rows[row][0] == which), key=order) for which in {row[0] for row in rows}
    ]
    assert chosen.tolist() == sorted(expected)


def test_rows_that_lead_nowhere_are_refused() -> None:
    """Bounds are checked: what does not fit together is an error, never a read of other memory."""
    one = np.zeros(1, np.int64)
    with pytest.raises(IndexError):
        sums_of_pages(one + 7, one, np.ones(1, np.uint8), 3)
    with pytest.raises(IndexError):
        number_pairs(one, one, np.ones(2, np.uint8), 0)
