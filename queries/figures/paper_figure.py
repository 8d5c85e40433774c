"""The definition of one of the paper's figures, for any source of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes

# The data of a figure: distributions by the authors' names of columns, or rows.
Data = Any


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a figure, rounded to ``digits``; None if it is not known."""

    what: str
    unit: str
    value: float | None
    digits: int = 0

    @property
    def rounded(self) -> float | None:
        """The rounded value, without the sign of a negative zero."""
        return None if self.value is None else round(self.value, self.digits) + 0.0


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """One figure.

    ``query``: the named query behind it, ``columns`` what the authors call its columns, ``from_rows`` makes the data
    from its rows under these names; without a query a study alone has no data for it. ``theirs`` reads the authors'
    folder, None if the file is not there. ``draw`` gets the panel, the data and what was taken for one server;
    ``scale`` gets the panel and the data of all sides, so that panels side by side are on one scale.
    """

    name: str
    title: str
    theirs: Callable[[Path], Data | None]
    draw: Callable[[Axes, Data, str], None]
    numbers: Callable[[Data], list[Number]]
    size: Callable[[Data], str]
    query: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    from_rows: Callable[[pl.DataFrame], Data] = lambda rows: rows
    scale: Callable[[Axes, list[Data]], None] | None = None
