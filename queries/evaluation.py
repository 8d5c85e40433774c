"""What an experiment with a control group shows: rates, differences and how sure they are.

Everything takes plain columns, so that it serves the authors' files, an experiment in the testbed and an operator's
own logs alike. Groups are called ``Control`` and ``Experiment``, as in the authors' files. Intervals are percentile
bootstrap ones (Efron and Tibshirani 1993, chapter 13) of fixed seed: the same rows give the same interval.
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
    """A number with its 95 % interval, in the unit of what it was made from."""

    value: float
    low: float
    high: float


def median_difference(experiment: Numbers, control: Numbers) -> Estimate:
    """Median of the experiment less median of the control; both have at least one number, observed independently."""
    rng = np.random.default_rng(_SEED)
    replicates = _resampled_medians(experiment, rng) - _resampled_medians(control, rng)
    return _estimate(float(np.median(experiment) - np.median(control)), replicates)


def share_difference(experiment: Numbers, control: Numbers) -> Estimate:
    """Share of true observations in the experiment less that in the control, in percentage points."""
    rng = np.random.default_rng(_SEED)
    shares = [rng.binomial(group.size, group.mean(), _REPLICATES) / group.size for group in (experiment, control)]
    return _estimate(100.0 * float(experiment.mean() - control.mean()), 100.0 * (shares[0] - shares[1]))


def mean_change(experiment: Numbers, control: Numbers) -> Estimate:
    """Mean of the experiment against that of the control, which is above zero: percent more, below zero less."""
    rng = np.random.default_rng(_SEED)
    ours, theirs = (_resampled_means(group, rng) for group in (experiment, control))
    return _estimate(100.0 * float(experiment.mean() / control.mean() - 1.0), 100.0 * (ours / theirs - 1.0))


def rank_test(control: Numbers, experiment: Numbers) -> float:
    """The z of Mann and Whitney's test, corrected for ties; below zero where the control's numbers are the smaller.

    Within 1.96 of zero no difference shows at 5 %. Both groups hold a number, and not all numbers are one.
    """
    both = pl.Series(np.concatenate([control, experiment]).astype(np.float64))
    ours, theirs, n = control.size, experiment.size, both.len()
    u = float(both.rank("average").head(ours).sum()) - ours * (ours + 1) / 2
    tied = np.unique(both.to_numpy(), return_counts=True)[1].astype(np.float64)
    spread = ours * theirs / 12 * ((n + 1) - float((tied**3 - tied).sum()) / (n * (n - 1)))
    return (u - ours * theirs / 2) / sqrt(spread)


def rates(events: pl.DataFrame, every: str) -> pl.DataFrame:
    """How many events there were in each period: columns Time (its start), ``Control`` and ``Experiment``.

    ``events``: Time (datetime) and Type, one row an event. ``every``: polars' name of the period: ``1m``, ``1d``.
    Periods without an event count zero, from the first event of all to the last.
    """
    counted = events.group_by(pl.col("Time").dt.truncate(every)).agg(
        (pl.col("Type") == group).sum().cast(pl.Int64).alias(group) for group in (CONTROL, EXPERIMENT)
    )
    return counted.sort("Time").upsample("Time", every=every).with_columns(pl.col(CONTROL, EXPERIMENT).fill_null(0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The experiment's rate against the control's before, during and after a change; percentages, below zero is less.

    ``against_before`` and ``against_after``: the change during it, less what the groups differed by without it. None
    where there are no such periods, or nothing of the control in them.
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

    ``rows``: Time, ``Control`` and ``Experiment``, one row a period (:func:`rates` gives them). Rates are averaged
    over the periods of each part; a ratio of ratios then takes out what the groups differ by anyway. Intervals resample
    whole periods, so that both groups keep what a day did to both; periods are treated as independent of one another.
    ``least``, ``middle`` and ``most`` are of the changes in single periods.

    Raises:
        ValueError: there is no period within the window, or a period's control is zero.
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
        if name not in ratios:
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
    drawn = rng.integers(0, part.height, (_REPLICATES, part.height))
    sums = [part[group].to_numpy()[drawn].sum(axis=1) for group in (EXPERIMENT, CONTROL)]
    # Of a few periods, those without a control may be all that is drawn.
    return np.asarray(np.divide(sums[0], sums[1], out=np.full(_REPLICATES, np.nan), where=sums[1] > 0))


def _estimate(value: float, replicates: Floats) -> Estimate:
    """Bounds: the replicates beyond which the share on either side is nearest to the tail wanted.

    Whole milliseconds and few sites give few distinct replicates, none of which need cut off a tail exactly.
    """
    distinct, counts = np.unique(replicates[np.isfinite(replicates)], return_counts=True)
    mass = counts / counts.sum()
    tail = (1.0 - CONFIDENCE) / 2.0
    beyond = np.cumsum(mass) - mass, 1.0 - np.cumsum(mass)
    low, high = (distinct[np.argmin(np.abs(share - tail))] for share in beyond)
    return Estimate(value, float(low), float(high))
