"""An operator's own log of an experiment, evaluated as the paper's figure 8."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl

from originset.data.errors import UsageError
from originset.queries.evaluation import CONTROL
from originset.queries.figures.all_figures import Drawn, draw_own
from originset.queries.figures.experiment_figures import figure_8
from originset.queries.figures.paper_figure import PaperFigure
from originset.queries.operator_log import Periods, Window, instant, new_connections

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Period(click.ParamType[int]):
    """A length of time such as 30s, 5m, 1h or 1d, as seconds."""

    name = "period"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"([1-9][0-9]{0,4})([smhd])", str(value))
        if found is None:
            self.fail(f"{value!r} is no length of time such as 30s, 5m, 1h or 1d", param, ctx)
        return int(found[1]) * _UNITS[found[2]]


def window_of(start: str, end: str) -> Window:
    """A window from what the command was told.

    Raises:
        UsageError: one of them is no time, or they are in the wrong order.
    """
    try:
        window = Window(instant(start), instant(end, last=True))
    except (ValueError, OverflowError) as error:
        advice = "write 2026-01-11 or 2026-01-11T08:30:00Z"
        raise UsageError(f"--window {start!r} {end!r}: not two times ({error})", advice) from error
    if window.start >= window.end:
        raise UsageError(f"--window {start!r} {end!r} ends before it begins", "name the earlier time first")
    return window


def periods_of(log: Path, window: Window, *, host: str | None, every_s: float | None) -> Periods:
    """New connections in a log's periods, of which those in the window have a control to compare with.

    Raises:
        InputError: a line of the log cannot be used.
        UsageError: the log has nothing to compare.
    """
    with tempfile.TemporaryDirectory(prefix="originset-log-") as folder:
        found = new_connections(log, window, Path(folder), host=host, every_s=window.period(every_s))
    _require_control(found)
    return found


def over_time(found: Periods, change: str) -> PaperFigure:
    """Figure 8 of such periods; ``change`` says what was in force in the window."""
    return figure_8(found.window, change, f"new connections in {found.every_s:.3g} s")


def draw_into(out: Path, figures: Sequence[tuple[PaperFigure, pl.DataFrame]]) -> Drawn:
    """Figures and their numbers in the folder ``out``, which is made if it is not there.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        return draw_own(figures, out)
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({error.strerror})", "name another folder with --out") from error


def _require_control(found: Periods) -> None:
    inside = found.rows.filter(pl.col("Time").is_between(*found.window))
    if inside.is_empty():
        raise UsageError("the log has nothing within the window", "see that --window is in UTC")
    if inside[CONTROL].min() == 0:
        raise UsageError(
            f"the control opened no connection in a period of {found.every_s:g} s of the window",
            "name a longer one with --every",
        )
