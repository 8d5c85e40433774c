"""An experiment's log in periods of time, as the paper's figure 8 draws them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

from originset.data.errors import UsageError
from originset.queries.evaluation import CONTROL
from originset.queries.figures.experiment_figures import figure_8
from originset.queries.figures.paper_figure import PaperFigure
from originset.queries.operator_log import GroupOfSite, Periods, Window, instant, new_connections


def window_of(start: str, end: str) -> Window:
    """The window between two texts: days, or times in UTC.

    Raises:
        UsageError: one of them is not a time, or they are in the wrong order.
    """
    try:
        window = Window(instant(start), instant(end, last=True))
    except (ValueError, OverflowError) as error:
        advice = "write 2026-01-11 or 2026-01-11T08:30:00Z"
        raise UsageError(f"--window {start!r} {end!r}: not two times", advice) from error
    if window.start >= window.end:
        raise UsageError(f"--window {start!r} {end!r} ends before it begins", "name the earlier time first")
    return window


def periods_of(
    log: Path, window: Window, *, host: str | None, every_s: float | None, group_of: GroupOfSite | None = None
) -> Periods:
    """New connections by period; in the window every period has connections of the control.

    ``group_of`` as for :func:`originset.queries.operator_log.new_connections`.

    Raises:
        InputError: a line of the log cannot be used.
        UsageError: the log has nothing to compare.
    """
    with tempfile.TemporaryDirectory(prefix="originset-log-") as folder:
        periods = new_connections(
            log, window, Path(folder), host=host, every_s=window.period(every_s), group_of=group_of
        )
    _require_control(periods)
    return periods


def over_time(found: Periods, change: str) -> PaperFigure:
    """Figure 8 of these periods; ``change`` names the change that was in force in the window."""
    return figure_8(found.window, change, f"new connections in {found.every_s:.3g} s")


def _require_control(found: Periods) -> None:
    inside = found.rows.filter(pl.col("Time").is_between(*found.window))
    if inside.is_empty():
        raise UsageError("the log has nothing within the window", "see that --window is in UTC")
    if inside[CONTROL].min() == 0:
        raise UsageError(
            f"the control opened no connection in a period of {found.every_s:g} s of the window",
            "name a longer one with --every",
        )
