"""The paper's Figure 2 for a page: its requests as measured, and as modelled under ORIGIN coalescing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from originset.data.sanitising.printable import printable
from originset.queries.figures.drawing import context, save, save_rows

# Distinct in lightness too, darkest for what is saved.
_PHASES = {
    "blocked": "#E3E3E3",
    "dns": "#009E73",
    "connect": "#D55E00",
    "send": "#F0E442",
    "wait": "#9ECAE9",
    "receive": "#0072B2",
}

# More rows than this are not legible on one printed page.
MOST = 45

_NAME = 34


@dataclass(frozen=True, slots=True)
class Page:
    """The page's title and load events, in ms; None if not known."""

    title: str
    load: float | None
    load_after: float | None


def draw_waterfall(rows: pl.DataFrame, page: Page, out: Path) -> list[Path]:
    """Write figure-2 of one page into ``out``: PDF, SVG, PNG, and as CSV all its requests.

    ``rows``: of one visit, with the columns of :func:`originset.models.timeline.changed_timelines.request_times`, at
    least one. Of pages with more than 45 requests those are drawn that started before the load event, openers of
    connections first.

    Raises:
        OSError: a file cannot be written.
    """
    path = out / "figure-2.csv"
    save_rows(rows, path)
    shown_rows = _drawn_requests(rows, page.load)
    with context():
        figure = Figure(figsize=(7.6, 1.5 + 0.155 * shown_rows.height), layout="constrained")
        before, after = figure.subplots(1, 2, sharex=True, sharey=True)
        _bars(before, shown_rows, "")
        _bars(after, shown_rows, "_after")
        _event(before, page.load)
        _event(after, page.load_after, page.load)
        before.set_title(_heading("measured", page.load), loc="left")
        after.set_title(_heading("with ORIGIN (model)", page.load_after), loc="left")
        before.set_yticks(range(shown_rows.height), [_label(host) for host in shown_rows["host"]], fontsize=6.5)
        before.set_ylim(shown_rows.height - 0.4, -0.6)
        left_out = rows.height - shown_rows.height
        figure.suptitle(
            _clean(page.title) + (f" ({shown_rows.height} of {rows.height} requests)" if left_out else ""), fontsize=9
        )
        handles = [Patch(facecolor=colour, edgecolor="#555555", linewidth=0.4) for colour in _PHASES.values()]
        figure.legend(handles, list(_PHASES), loc="outside lower center", ncols=len(_PHASES), fontsize=7.5)
        return [path, *save(figure, out, "figure-2")]


def _drawn_requests(rows: pl.DataFrame, load: float | None) -> pl.DataFrame:
    """The requests that are drawn, in the order of their start."""
    took = pl.sum_horizontal(*_PHASES)
    ends_last = (pl.col("started") + took) == (pl.col("started") + took).max()
    waited_for = pl.col("started") <= (math.inf if load is None else load)
    opens = pl.col("dns") + pl.col("connect") > 0
    best = rows.with_row_index("place").sort(pl.col("place") > 0, ~ends_last, ~waited_for, ~opens, -took, "place")
    return best.head(MOST).sort("place")


def _bars(axes: Axes, rows: pl.DataFrame, side: str) -> None:
    left = rows[f"started{side}"]
    for phase, colour in _PHASES.items():
        width = rows[f"{phase}{side}"]
        axes.barh(range(rows.height), width, left=left, height=0.72, color=colour, edgecolor="#555555", linewidth=0.25)
        left = left + width
    axes.set_xlabel("ms from the first request")
    axes.grid(axis="y", visible=False)
    axes.set_axisbelow(True)


def _event(axes: Axes, load: float | None, measured: float | None = None) -> None:
    """Draw the load event, and for comparison the measured one."""
    if load is not None:
        axes.axvline(load, color="#000000", linewidth=1.0)
    if measured is not None:
        axes.axvline(measured, color="#000000", linewidth=0.8, linestyle=":")


def _heading(what: str, load: float | None) -> str:
    return what if load is None else f"{what}: load event {load:,.0f} ms"


def _label(host: str | None) -> str:
    name = _clean(host or "-")
    return name if len(name) <= _NAME else f"{name[: _NAME // 2 - 1]}\N{HORIZONTAL ELLIPSIS}{name[-_NAME // 2 :]}"


def _clean(text: str) -> str:
    """A stranger's text with its dollar signs escaped, which matplotlib would read as mathematics."""
    return printable(text).replace("$", r"\$")
