"""Statistics of an experiment with a control group: rates, and differences with confidence intervals.

All functions take plain columns, so that they serve the authors' files, an experiment in the testbed and an operator's
logs. Groups are called ``Control`` and ``Experiment``, as in the authors' files. Intervals are percentile bootstrap
intervals (Efron and Tibshirani 1993, chapter 13) with a fixed seed: the same rows give the same interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Any

import numpy as np
import polars as pl

Numbers = np.ndarray[Any, np.dtype[Any]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

CONTROL, EXPERIMENT = "Control", "Experiment"
CONFIDENCE = 0.95
_SEED = 8336
_REPLICATES = 10_000
_MEDIANS = 1_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % confidence interval, in the unit of the data."""

    value: float
    low: float
    high: float


def median_difference(experiment: Numbers, control: Numbers) -> Estimate:
    """Median of the experiment minus median of the control; each has at least one number, observed independently."""
    rng = np.random.default_rng(_SEED)
    replicates = _resampled_medians(experiment, rng) - _resampled_medians(control, rng)
    return _estimate(float(np.median(experiment) - np.median(control)), replicates)


def share_difference(experiment: Numbers, control: Numbers) -> Estimate:
    """Share of true observations in the experiment minus that in the control, in percentage points."""
    rng = np.random.default_rng(_SEED)
    shares = [rng.binomial(group.size, group.mean(), _REPLICATES) / group.size for group in (experiment, control)]
    return _estimate(100.0 * float(experiment.mean() - control.mean()), 100.0 * (shares[0] - shares[1]))


def mean_change(experiment: Numbers, control: Numbers) -> Estimate:
    """How much the mean of the experiment is above that of the control, in percent; the control's mean is not zero."""
    rng = np.random.default_rng(_SEED)
    ours, theirs = (_resampled_means(group, rng) for group in (experiment, control))
    return _estimate(100.0 * float(experiment.mean() / control.mean() - 1.0), 100.0 * (ours / theirs - 1.0))


def rank_test(control: Numbers, experiment: Numbers) -> float:
    """The z of the Mann-Whitney U test, corrected for ties; negative if the control's numbers are smaller.

    Between -1.96 and 1.96 the difference is not significant at 5 %. Each group has a number, and the numbers differ.
    """
    pooled = pl.Series(np.concatenate([control, experiment]).astype(np.float64))
    ours, theirs, n = control.size, experiment.size, pooled.len()
    u = float(pooled.rank("average").head(ours).sum()) - ours * (ours + 1) / 2
    tied = np.unique(pooled.to_numpy(), return_counts=True)[1].astype(np.float64)
    spread = ours * theirs / 12 * ((n + 1) - float((tied**3 - tied).sum()) / (n * (n - 1)))
    return (u - ours * theirs / 2) / sqrt(spread)


def rates(events: pl.DataFrame, every: str) -> pl.DataFrame:
    """The number of events in each period: columns Time (its start), ``Control`` and ``Experiment``.

    ``events``: Time (datetime) and Type, one row for each event. ``every``: polars' name of the period: ``1m``, ``1d``.
    Periods without an event have zero, from the first event to the last.
    """
    counts = events.group_by(pl.col("Time").dt.truncate(every)).agg(
        (pl.col("Type") == group).sum().cast(pl.Int64).alias(group) for group in (CONTROL, EXPERIMENT)
    )
    return counts.sort("Time").upsample("Time", every=every).with_columns(pl.col(CONTROL, EXPERIMENT).fill_null(0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much the experiment's rate differs from the control's before, during and after a change, in percent.

    Negative: the experiment's rate is lower. ``against_before`` and ``against_after``: the difference during the
    change, corrected by the difference without it; None if there are no such periods, if no event of the control is in
    them, or if so few of either group are that a resample has none.
    """

    before: float | None
    during: Estimate
    after: float | None
    against_before: Estimate | None
    against_after: Estimate | None
    least: float
    middle: float
    most: float


def difference_in_differences(rows: pl.DataFrame, start: datetime, end: datetime) -> Comparison:
    """Compare two groups' rates in the periods from ``start`` to ``end``, both included, with those outside.

    ``rows``: Time, ``Control`` and ``Experiment``, one row for each period (the result of :func:`rates`). Rates are
    averaged over the periods of each part; a ratio of ratios then removes the difference that the groups have without
    the change. Intervals resample whole periods, so that both groups keep the effects of the same day; periods are
    treated as independent. ``least``, ``middle`` and ``most`` are of the changes in single periods.

    Raises:
        ValueError: there is no period within the window, or the control is zero in one of them.
    """
    during = rows.filter(pl.col("Time").is_between(start, end))
    if during.is_empty() or during[CONTROL].min() == 0:
        raise ValueError("no period of the window has a control to compare with")
    rng = np.random.default_rng(_SEED)
    parts = {
        "before": rows.filter(pl.col("Time") < start),
        "during": during,
        "after": rows.filter(pl.col("Time") > end),
    }
    parts = {name: part for name, part in parts.items() if part[CONTROL].sum() > 0}
    ratios = {name: _ratio(part) for name, part in parts.items()}
    resampled = {name: _resampled_ratios(part, rng) for name, part in parts.items()}

    def against(name: str) -> Estimate | None:
        if name not in ratios or not (resampled[name] > 0).all():  # NaN, where a resample has no control, is not
            return None
        replicates = 100.0 * (resampled["during"] / resampled[name] - 1.0)
        return _estimate(100.0 * (ratios["during"] / ratios[name] - 1.0), replicates)

    single = 100.0 * (during[EXPERIMENT] / during[CONTROL] - 1.0).to_numpy()
    return Comparison(
        before=100.0 * (ratios["before"] - 1.0) if "before" in ratios else None,
        during=_estimate(100.0 * (ratios["during"] - 1.0), 100.0 * (resampled["during"] - 1.0)),
        after=100.0 * (ratios["after"] - 1.0) if "after" in ratios else None,
        against_before=against("before"),
        against_after=against("after"),
        least=float(single.max()),
        middle=float(np.median(single)),
        most=float(single.min()),
    )


def _resampled_medians(sample: Numbers, rng: np.random.Generator) -> Floats:
    """Medians of resamples, without resampling: the k-th of n uniform numbers is Beta(k, n + 1 - k)."""
    ordered = np.sort(sample).astype(np.float64)
    n = ordered.size
    k = (n + 1) // 2
    lower = rng.beta(k, n + 1 - k, _MEDIANS)
    # The next one is the least of the n - k numbers that lie between it and 1.
    upper = lower if n % 2 else lower + (1.0 - lower) * rng.beta(1, n - k, _MEDIANS)
    middle = [ordered[np.minimum((place * n).astype(np.int64), n - 1)] for place in (lower, upper)]
    return np.asarray((middle[0] + middle[1]) / 2.0)


def _resampled_means(sample: Numbers, rng: np.random.Generator) -> Floats:
    values, counts = np.unique(sample, return_counts=True)
    return np.asarray(rng.multinomial(sample.size, counts / sample.size, _REPLICATES) @ values / sample.size)


def _ratio(part: pl.DataFrame) -> float:
    return float(part[EXPERIMENT].sum()) / float(part[CONTROL].sum())


def _resampled_ratios(part: pl.DataFrame, rng: np.random.Generator) -> Floats:
    periods = rng.integers(0, part.height, (_REPLICATES, part.height))
    sums = [part[group].to_numpy()[periods].sum(axis=1) for group in (EXPERIMENT, CONTROL)]
    # With few periods, a resample may have no events of the control.
    return np.asarray(np.divide(sums[0], sums[1], out=np.full(_REPLICATES, np.nan), where=sums[1] > 0))


def _estimate(value: float, replicates: Floats) -> Estimate:
    """Bounds: the replicates that cut off the shares nearest to 2.5 % on either side.

    Whole milliseconds and few sites give few distinct replicates, so that none may cut off exactly 2.5 %.
    """
    distinct, counts = np.unique(replicates[np.isfinite(replicates)], return_counts=True)
    mass = counts / counts.sum()
    tail = (1.0 - CONFIDENCE) / 2.0
    tails = np.cumsum(mass) - mass, 1.0 - np.cumsum(mass)
    low, high = (distinct[np.argmin(np.abs(share - tail))] for share in tails)
    return Estimate(value, float(low), float(high))
