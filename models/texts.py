"""Texts as numbers: the places that they have among those that are different."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import polars as pl

from originset.models.uses import Ints

Keys = np.ndarray[Any, np.dtype[np.uint64]]

# So that nobody can choose texts of one key, to make a join of them large. No result depends on it.
_SEED = secrets.randbits(63)


def runs(texts: pl.Series) -> tuple[pl.Series, Ints]:
    """``texts`` without immediate repetitions, and of each row the place of its own there."""
    changes = texts.ne_missing(texts.shift(1)).to_numpy().copy()
    changes[:1] = True
    return texts.gather(np.flatnonzero(changes)), np.cumsum(changes) - 1


def distinct(texts: pl.Series) -> tuple[pl.Series, Ints]:
    """The different texts of a column of categories, and of each row its place there; of NULL the one after the last.

    Of a column of texts all rows, as if they were different: to compare them would take longer.
    """
    if texts.dtype == pl.String:
        return texts, np.arange(texts.len())
    number = texts.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    row = np.full(int(number.max(initial=-1)) + 2, -1)
    row[number] = np.arange(number.size)
    row[-1] = -1
    used = np.flatnonzero(row >= 0)
    place = np.full(row.size, used.size)
    place[used] = np.arange(used.size)
    return texts.gather(row[used]).cast(pl.String), place[number]


def ranked(texts: pl.Series) -> tuple[pl.Series, Ints]:
    """As :func:`distinct`, sorted."""
    different, place = distinct(texts)
    order = different.arg_sort().to_numpy()
    rank = np.empty(order.size + 1, np.int64)
    rank[order] = np.arange(order.size)
    rank[-1] = order.size
    return different.gather(order), rank[place]


def keys_of(texts: pl.Series, other: int = 0) -> Keys:
    """A number for each text: equal for equal ones, and hardly ever for others. ``other``: for numbers unlike these."""
    return texts.hash(_SEED + other).to_numpy()


def places_in(different: pl.Series, texts: pl.Series) -> Ints:
    """Of each of ``texts`` its place among ``different`` ones, -1 where it is not one of them."""
    place = np.full(texts.len(), -1)
    rows, places = equal(keys_of(texts), keys_of(different))
    same = (texts.gather(rows) == different.gather(places)).fill_null(value=False).to_numpy()
    place[rows[same]] = places[same]
    return place


def equal(keys: Keys, others: Keys) -> tuple[Ints, Ints]:
    """The rows of each pair of equal keys."""
    one, other = (pl.DataFrame({"key": some}).with_row_index("row") for some in (keys, others))
    both = one.join(other, on="key")
    return both["row"].to_numpy(), both["row_right"].to_numpy()
