"""Which of two orders another load of a page may have, where nothing but chance has it so."""

import polars as pl
import pytest

from originset.models.browsers.candidate_pairs import pairs_of_other_loads


@pytest.mark.parametrize(
    ("connected_ms", "ready_ms", "caused_ms", "by_chance"),
    [
        (100.0, 110.0, None, True),
        (110.0, 100.0, None, True),
        (100.0, 300.0, 90.0, True),
        (
            100.0,
            300.0,
            100.0,
            False,
        ),  # what asks for the later one was answered after the earlier one's was established
        (100.0, 301.0, None, False),
        (301.0, 100.0, None, False),
        (None, 100.0, None, False),  # not known is another matter
    ],
)
def test_what_was_nearly_late_may_be_late_in_another_load(
    connected_ms: float | None, ready_ms: float, caused_ms: float | None, by_chance: bool
) -> None:
    times = {"connected_ms_held": connected_ms, "ready_ms": ready_ms, "caused_ms": caused_ms}
    pairs = pl.DataFrame([times], schema=dict.fromkeys(times, pl.Float64))
    assert pairs_of_other_loads(pairs)["by_chance"].to_list() == [by_chance]
