"""The figures of a live experiment: 7a, 7b, 8 and 9b, from rows in the authors' format.

7a and 7b: ``Type`` (Control, Experiment) and ``CDNJS-Not-Coalesced``, new connections of a visit to the shared host; 8:
``Time``, ``Control``, ``Experiment``, connections in each period; 9b: ``Mode`` and ``Time``, load times in ms.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import matplotlib.dates as mdates
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from originset.queries.evaluation import (
    CONTROL,
    EXPERIMENT,
    Estimate,
    Numbers,
    difference_in_differences,
    mean_change,
    median_difference,
    rank_test,
    share_difference,
)
from originset.queries.figures import authors
from originset.queries.figures.authors import Curves
from originset.queries.figures.distribution import Distribution
from originset.queries.figures.drawing import STYLES, Line, below, cumulative, logarithmic
from originset.queries.figures.paper_figure import Number, PaperFigure

# When the authors' servers sent ORIGIN frames: the two lines in their figure 8.
PAPER_WINDOW = (datetime(2022, 1, 11), datetime(2022, 1, 24))  # noqa: DTZ001 - their days have no zone

_PLACES = {CONTROL: 0, EXPERIMENT: 1}

# Numbers that the figures' legends have too.
_LESS_7 = "experiment less control, without a new connection"
_AGAINST_8 = "during against before"
_LESS_9B = "experiment less control, at the median"
_FROM, _TO = ", 95 % interval from", ", 95 % interval to"


def _groups(rows: pl.DataFrame, group: str, number: str) -> Curves:
    return {
        name: Distribution.of(numbers.to_numpy())
        for name in (CONTROL, EXPERIMENT)
        if not (numbers := rows.filter(pl.col(group) == name)[number].drop_nulls()).is_empty()
    }


def _draw_7(axes: Axes, data: pl.DataFrame, _keys: str) -> None:
    distributions = _groups(data, "Type", "CDNJS-Not-Coalesced")
    for name, place in _PLACES.items():
        if name in distributions:
            curve = distributions[name]
            colour, style = STYLES[place]
            label = f"{name.lower()}, n = {curve.total:,}, {100 * curve.share(0):.1f} % without"
            axes.plot(
                curve.values,
                100 * curve.cumulative,
                drawstyle="steps-post",
                color=colour,
                linestyle=style,
                marker="o",
                markersize=3.5,
                label=label,
            )
    axes.set_ylim(0, 103)
    axes.set_xlim(-0.15, max(float(curve.values[-1]) for curve in distributions.values()) + 0.5)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}%")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("new connections to the shared host (0: coalesced)")
    axes.set_ylabel("share of visits (cumulative)")
    _add_to_legend(axes, "experiment less control", _numbers_7(data), _LESS_7)
    below(axes)


def _numbers_7(rows: pl.DataFrame) -> list[Number]:
    control, experiment = (
        rows.filter(pl.col("Type") == name)["CDNJS-Not-Coalesced"].to_numpy() for name in (CONTROL, EXPERIMENT)
    )
    if not control.size or not experiment.size:
        return []
    fewer = mean_change(experiment, control) if control.mean() > 0 else None
    return [
        *_group_7("control", control),
        *_group_7("experiment", experiment),
        *_estimate(
            _LESS_7,
            "points",
            share_difference(experiment == 0, control == 0),
            1,
        ),
        *_estimate("new connections, experiment against control", "%", fewer, 1),
    ]


def _group_7(name: str, counts: Numbers) -> list[Number]:
    return [
        Number(f"{name}, visits", "visits", counts.size),
        Number(f"{name}, without a new connection", "%", 100 * (counts == 0).mean(), 2),
        Number(f"{name}, with one", "%", 100 * (counts == 1).mean(), 2),
        Number(f"{name}, with two", "%", 100 * (counts == 2).mean(), 2),
        Number(f"{name}, with more", "%", 100 * (counts > 2).mean(), 2),
        Number(f"{name}, new connections", "per visit", float(counts.mean()), 3),
    ]


def _draw_8(
    axes: Axes, data: pl.DataFrame, _keys: str, *, window: tuple[datetime, datetime], change: str, counted: str
) -> None:
    for name, place in _PLACES.items():
        colour, style = STYLES[place]
        axes.plot(data["Time"], data[name], color=colour, linestyle=style, label=name.lower())
    axes.fill_between(
        np.array(window, "datetime64[us]"),
        0,
        1,
        transform=axes.get_xaxis_transform(),
        color="#56B4E9",
        alpha=0.18,
        linewidth=0,
        label=change,
    )
    axes.set_ylim(bottom=0)
    locator = mdates.AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]  # matplotlib's own
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator, show_offset=False))  # type: ignore[no-untyped-call]  # likewise
    days = data["Time"].dt.strftime("%Y-%m-%d")
    axes.set_xlabel(f"{days[0]} to {days[-1]}" if days[0] != days[-1] else f"{days[0]}, UTC")
    axes.set_ylabel(counted)
    _add_to_legend(axes, "difference in differences", _numbers_8(data, window=window), _AGAINST_8)
    below(axes, 2)


def _numbers_8(rows: pl.DataFrame, *, window: tuple[datetime, datetime]) -> list[Number]:
    comparison = difference_in_differences(rows, *window)
    start, end = window
    time = pl.col("Time")
    parts = {"before": time < start, "during": time.is_between(start, end), "after": time > end}
    return [
        Number("periods", "periods", rows.height),
        *(
            Number(f"{part}, {group.lower()}", "connections in a period", _mean(rows.filter(within)[group]), 1)
            for part, within in parts.items()
            for group in (CONTROL, EXPERIMENT)
        ),
        Number("before, experiment against control", "%", comparison.before, 1),
        *_estimate("during, experiment against control", "%", comparison.during, 1),
        Number("during, in the median period", "%", comparison.middle, 1),
        Number("during, in the period with the least change", "%", comparison.least, 1),
        Number("during, in the period with the most change", "%", comparison.most, 1),
        Number("after, experiment against control", "%", comparison.after, 1),
        *_estimate(_AGAINST_8, "%", comparison.against_before, 1),
        *_estimate("during against after", "%", comparison.against_after, 1),
    ]


def _mean(numbers: pl.Series) -> float | None:
    return None if numbers.is_empty() else float(numbers.to_numpy().mean())


def _draw_9b(axes: Axes, data: pl.DataFrame, _keys: str) -> None:
    distributions = _groups(data, "Mode", "Time")
    cumulative(axes, distributions, [Line(name, name.lower(), place) for name, place in _PLACES.items()], None)
    _add_to_legend(axes, "experiment less control", _numbers_9b(data), _LESS_9B)
    below(axes)
    range_ends = [curve.quantile(q) for curve in distributions.values() for q in (0.002, 0.998)]
    logarithmic(axes, max(1.0, min(range_ends)), max(range_ends))
    axes.set_xlabel("page load time in ms (logarithmic)")
    axes.set_ylabel("share of visits (cumulative)")


def _numbers_9b(rows: pl.DataFrame) -> list[Number]:
    control, experiment = (
        rows.filter(pl.col("Mode") == name)["Time"].drop_nulls().to_numpy() for name in (CONTROL, EXPERIMENT)
    )
    if not control.size or not experiment.size:
        return []
    numbers = []
    for name, group in ((CONTROL, control), (EXPERIMENT, experiment)):
        curve = Distribution.of(group)
        numbers.append(Number(f"{name.lower()}, visits", "visits", group.size))
        quantiles = {
            "p5": 0.05,
            "p10": 0.1,
            "p25": 0.25,
            "median": 0.5,
            "p75": 0.75,
            "p90": 0.9,
            "p95": 0.95,
            "p99": 0.99,
        }
        numbers += [Number(f"{name.lower()}, {label}", "ms", curve.quantile(q)) for label, q in quantiles.items()]
    return [
        *numbers,
        *_estimate(_LESS_9B, "ms", median_difference(experiment, control), 0),
        Number("rank test, control against experiment", "z", rank_test(control, experiment), 2),
    ]


def _estimate(what: str, unit: str, estimate: Estimate | None, digits: int) -> list[Number]:
    values = (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
    names = (what, f"{what}{_FROM}", f"{what}{_TO}")
    return [Number(name, unit, value, digits) for name, value in zip(names, values, strict=True)]


def _add_to_legend(axes: Axes, label: str, numbers: list[Number], what: str) -> None:
    """Add an estimate as a line of the legend, if it is known."""
    of = {number.what: number for number in numbers}
    known_numbers = [of[name] for name in (what, f"{what}{_FROM}", f"{what}{_TO}") if name in of]
    if known_numbers and all(number.value is not None for number in known_numbers):
        value, low, high = (
            f"{number.rounded:,.{number.digits}f}".replace("-", "\N{MINUS SIGN}") for number in known_numbers
        )
        axes.plot([], [], linestyle="none", label=f"{label}: {value} {known_numbers[0].unit} (95 %: {low} to {high})")


def _visits(rows: pl.DataFrame) -> str:
    return f"n = {rows.drop_nulls().height:,} visits"


def figure_7(name: str, title: str, theirs: Callable[[Path], pl.DataFrame | None]) -> PaperFigure:
    """New connections of visits to the two groups."""
    return PaperFigure(name, title, theirs, _draw_7, _numbers_7, _visits)


def figure_8(
    window: tuple[datetime, datetime],
    change: str = "ORIGIN frames sent",
    counted: str = "TLS connections (as published)",
) -> PaperFigure:
    """Connections in each period; ``window``: the first and the last period in which ``change`` was in force."""
    return PaperFigure(
        "figure-8",
        "TLS connections over time",
        authors.figure_8,
        partial(_draw_8, window=window, change=change, counted=counted),
        partial(_numbers_8, window=window),
        lambda rows: f"n = {rows.height:,} periods",
    )


FIGURES = (
    figure_7("figure-7a", "Coalescing by address, live", authors.figure_7a),
    figure_7("figure-7b", "Coalescing by ORIGIN frame, live", authors.figure_7b),
    figure_8(PAPER_WINDOW),
    PaperFigure("figure-9b", "Page load time, live", authors.figure_9b, _draw_9b, _numbers_9b, _visits),
)
