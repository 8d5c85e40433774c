"""Texts that many parts of a study have, as categories."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import polars as pl

from originset.models.compiled.seen import Seen

Ints = np.ndarray[Any, np.dtype[np.int64]]

# So that nobody can choose texts of one hash. No result depends on them.
_SEEDS = secrets.randbits(64), secrets.randbits(64)


class Categories:
    """Numbers for texts, from 0, and their categories.

    A text that is looked up again costs a tenth of what it costs polars, which compares it with the one it has. Here
    128 bits of seeded hashes stand for it: that two of a billion texts have the same is less likely than that the
    memory fails.
    """

    def __init__(self) -> None:
        self._seen = Seen()
        self._texts = pl.Series([], dtype=pl.Categorical)

    def numbers(self, texts: pl.Series) -> Ints:
        """Of each text its number."""
        one, other = (texts.hash(seed).to_numpy() for seed in _SEEDS)
        number, new = self._seen.numbers(one, other)
        self._texts = pl.concat([self._texts, texts.gather(new).cast(pl.Categorical)]).rechunk()
        return number

    def texts(self, numbers: Ints) -> pl.Series:
        """The categories of these numbers, NULL for -1."""
        if numbers.size and numbers.min() < 0:
            return self._texts.gather(pl.Series(numbers).replace(-1, None))
        return self._texts.gather(numbers)
