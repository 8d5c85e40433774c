"""What experiments are judged by: known answers, populations without and with an effect, and rates of events."""

from datetime import datetime, timedelta
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

from originset.queries.evaluation import (
    Estimate,
    difference_in_differences,
    mean_change,
    median_difference,
    rank_test,
    rates,
    share_difference,
)

START = datetime(2022, 1, 1)  # noqa: DTZ001 - days without a zone, as the authors'


def days(*ratios: float) -> pl.DataFrame:
    times = [START + timedelta(days=n) for n in range(len(ratios))]
    return pl.DataFrame({"Time": times, "Control": [100.0] * len(ratios), "Experiment": [100.0 * r for r in ratios]})


def test_groups_that_are_one_do_not_differ() -> None:
    group = np.array([5.0, 7.0, 7.0, 9.0, 30.0])
    assert median_difference(group, group).value == 0
    assert rank_test(group, group) == 0
    assert mean_change(group, group).value == 0
    zero = share_difference(group == 7, group == 7)
    assert zero.value == 0
    assert zero.low < 0 < zero.high


def test_one_value_leaves_no_doubt() -> None:
    assert median_difference(np.full(9, 4.0), np.full(8, 1.0)) == Estimate(3, 3, 3)
    assert mean_change(np.full(5, 1), np.full(7, 4)) == Estimate(-75, -75, -75)
    assert share_difference(np.full(5, fill_value=True), np.full(7, fill_value=False)) == Estimate(100, 100, 100)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_medians_of_resamples_are_those_of_all_resamples(n) -> None:
    """Against every resample that there is, for odd and even sizes."""
    values = np.array([1.0, 2, 4, 8, 16, 32])[:n]
    every = np.array(np.meshgrid(*[values] * n)).reshape(n, -1)
    exact = np.median(every, axis=0)
    found = median_difference(values, np.zeros(1))
    tails = [float((exact < found.low).mean()), float((exact > found.high).mean())]
    distinct = np.unique(exact)
    best = min(abs(float((exact < value).mean()) - 0.025) for value in distinct)
    assert abs(tails[0] - 0.025) == pytest.approx(best, abs=0.002)
    best = min(abs(float((exact > value).mean()) - 0.025) for value in distinct)
    assert abs(tails[1] - 0.025) == pytest.approx(best, abs=0.002)


def test_ranks_as_worked_out_by_hand() -> None:
    """All of the control's three below the experiment's three: U is 0, expected 4.5, its variance 5.25."""
    assert rank_test(np.array([1, 2, 3]), np.array([4, 5, 6])) == pytest.approx(-4.5 / 5.25**0.5)
    # One tie of two takes 9/30 * 0.2 = 0.45 * (8 - 2)/... off: variance 9/12 * (7 - 6/30).
    assert rank_test(np.array([1, 2, 4]), np.array([4, 5, 6])) == pytest.approx(-4 / (9 / 12 * 6.8) ** 0.5)


def test_a_test_of_5_percent_fails_5_percent_of_the_time() -> None:
    rng = np.random.default_rng(3)
    found = [abs(rank_test(rng.lognormal(size=40), rng.lognormal(size=50))) for _ in range(600)]
    rejected = np.mean(np.array(found) > NormalDist().inv_cdf(0.975))
    assert 0.03 < rejected < 0.08


def test_a_change_in_a_window_between_groups_that_differ_anyway() -> None:
    """Half as many in the window; ten percent fewer before and none after."""
    rows = days(0.9, 0.9, 0.5, 0.5, 0.5, 1.0)
    found = difference_in_differences(rows, START + timedelta(days=2), START + timedelta(days=4))
    assert found.before == pytest.approx(-10)
    assert found.after == 0
    assert found.during == Estimate(-50, -50, -50)
    assert found.against_before.value == pytest.approx(100 * (0.5 / 0.9 - 1))
    assert found.against_after.value == pytest.approx(-50)
    assert (found.least, found.middle, found.most) == (-50, -50, -50)


def test_without_days_outside_there_is_nothing_to_compare_with() -> None:
    found = difference_in_differences(days(0.5, 0.7), START, START + timedelta(days=1))
    assert (found.before, found.after, found.against_before, found.against_after) == (None, None, None, None)
    assert found.during.value == pytest.approx(-40)
    assert found.during.low == pytest.approx(-50)
    assert found.during.high == pytest.approx(-30)


@pytest.mark.parametrize("before", [(0.0, 0.0), (0.0, 0.9)])
def test_an_experiment_without_events_in_some_resample_has_no_interval(before) -> None:
    start = START + timedelta(days=len(before))
    found = difference_in_differences(days(*before, 0.5), start, start)
    assert found.before == pytest.approx(100 * (sum(before) / len(before) - 1))
    assert found.against_before is None


@pytest.mark.parametrize("rows", [days(), days(0.5).with_columns(Control=pl.lit(0.0))])
def test_a_window_without_a_control_is_refused(rows) -> None:
    with pytest.raises(ValueError, match="no period"):
        difference_in_differences(rows.cast({"Time": pl.Datetime("us")}), START, START)


def test_rates_count_the_minutes_in_which_nothing_happened() -> None:
    events = pl.DataFrame(
        {
            "Time": [START + timedelta(seconds=second) for second in (0, 59, 61, 200)],
            "Type": ["Control", "Control", "Experiment", "Control"],
        }
    )
    assert rates(events, "1m").rows() == [
        (START, 2, 0),
        (START + timedelta(minutes=1), 0, 1),
        (START + timedelta(minutes=2), 0, 0),
        (START + timedelta(minutes=3), 1, 0),
    ]
    assert rates(events, "1d").rows() == [(START, 3, 1)]
