"""Distributions of one number over pages, sites or visits, for curves and quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Distribution:
    """``values``: distinct, ascending. ``cumulative``: the share of all observations up to each value, 0 to 1.

    ``counts``: how often each value occurs; None if only a curve is known, as from a published figure.
    """

    values: Floats
    cumulative: Floats
    counts: Ints | None

    @classmethod
    def of(cls, numbers: np.ndarray[Any, Any]) -> Distribution:
        """The distribution of numbers, one for each observation; at least one, none of them NaN."""
        values, counts = np.unique(numbers.astype(np.float64), return_counts=True)
        return cls.counted(values, counts)

    @classmethod
    def counted(cls, values: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> Distribution:
        """The distribution of distinct values, ascending, with their counts."""
        whole_counts = counts.astype(np.int64)
        return cls(values.astype(np.float64), np.cumsum(whole_counts) / whole_counts.sum(), whole_counts)

    @property
    def total(self) -> int | None:
        """The number of observations; None if only a curve is known."""
        return None if self.counts is None else int(self.counts.sum())

    def quantile(self, q: float) -> float:
        """Linear between the observations around ``q``, as numpy's percentile, or between the points of a curve."""
        if self.counts is None:
            return float(np.interp(q, self.cumulative, self.values))
        ends = np.cumsum(self.counts)
        place = q * (ends[-1] - 1)
        below = self.values[np.searchsorted(ends, np.floor(place), side="right")]
        above = self.values[np.searchsorted(ends, np.ceil(place), side="right")]
        return float(below + (above - below) * (place - np.floor(place)))

    def share(self, value: float) -> float:
        """The share of exactly this value, 0 to 1."""
        return self.share_up_to(value) - self.share_up_to(np.nextafter(value, -np.inf))

    def share_up_to(self, value: float) -> float:
        """The share of this value or less, 0 to 1."""
        place = int(np.searchsorted(self.values, value, side="right"))
        return float(self.cumulative[place - 1]) if place else 0.0

    @property
    def mean(self) -> float | None:
        """The mean; None if only a curve is known."""
        return None if self.counts is None else float((self.values * self.counts).sum() / self.counts.sum())
