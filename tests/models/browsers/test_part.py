"""Rows of a part's visits under their numbers."""

import polars as pl
import pytest

from originset.models.browsers.part import _numbered


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        ([], []),
        (["a", "a", "b"], [0, 0, 1]),
        (["b", "a", "b"], [1, 0, 1]),
        (["a", "stray", "stray", "b", "b"], [0, 1, 1]),
        (["stray", "a", "other"], [0]),
        (["stray"], []),
    ],
)
def test_rows_of_visits_that_are_not_there_are_left_out(rows, numbers) -> None:
    visits = pl.DataFrame({"visit_id": ["a", "b"]}, schema={"visit_id": pl.String})
    given = pl.DataFrame({"visit_id": rows, "row": range(len(rows))}, schema={"visit_id": pl.String, "row": pl.Int64})
    found = _numbered(given, visits)
    assert found["visit_id"].to_list() == numbers
    assert found["visit_id"].dtype == pl.UInt32
    assert found["row"].to_list() == [row for row, visit in enumerate(rows) if visit in {"a", "b"}]
