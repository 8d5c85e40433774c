"""Pages of so many hosts or connections that none of the pairs of them are looked at.

Pairs grow with the square of a list that strangers write: ten thousand hosts in one file would take the memory of any
machine. Pages that people look at stay far below the limit.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from originset.models.uses import Ints

# The paper's pages have a median of 16 connections, those of its longest tail a few hundred.
MOST = 1_000


def crowded(page: Ints, *values: pl.Series) -> Ints:
    """The numbers of the pages with more than MOST different ones of some ``values``, NULL not counted."""
    many = np.flatnonzero(np.bincount(page) > MOST) if page.size else page
    if not many.size:
        return many
    some = np.flatnonzero(np.isin(page, many))
    rows = pl.DataFrame({"page": page[some], **{str(place): of.gather(some) for place, of in enumerate(values)}})
    different = rows.group_by("page").agg(pl.exclude("page").drop_nulls().n_unique())
    return different.filter(pl.max_horizontal(pl.exclude("page")) > MOST)["page"].sort().to_numpy()
