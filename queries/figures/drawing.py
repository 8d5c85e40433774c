"""The look of the figures: legible in print, distinct with any colour vision and in black and white, reproducible."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, PercentFormatter

from originset.data.files.atomic_files import replacing
from originset.queries.csv_text import csv_text
from originset.queries.figures.distribution import Distribution

# Okabe and Ito's colours, told apart with any colour vision, and line styles that still differ in black and white.
STYLES: Any = (("#000000", "-"), ("#D55E00", "--"), ("#0072B2", "-."), ("#009E73", (0, (1, 1))))

# Same input, same bytes: a fixed salt for SVG's ids, no dates, text as text.
SETTINGS: Any = {
    "svg.hashsalt": "originset",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None, "ModDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}

_FEWEST_TICKS, _TICKS = 3, 10

# A curve with more points shows no more in print.
_POINTS = 2000


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a panel: its column in the data, its label in the legend, its index in STYLES."""

    column: str
    label: str
    place: int


def save(figure: Figure, out: Path, name: str) -> list[Path]:
    """Write PDF, SVG and PNG; call within ``rc_context(SETTINGS)``."""
    # The layout is computed once for all formats.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    paths = []
    for kind, metadata in _METADATA.items():
        path = out / f"{name}.{kind}"
        # Not directly into the file: matplotlib reports a full disk as another error.
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
        with replacing(path) as temporary:
            temporary.write_bytes(buffer.getbuffer())
        paths.append(path)
    return paths


def save_rows(rows: pl.DataFrame, path: Path) -> None:
    """Write rows as a CSV file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(csv_text(rows), encoding="utf-8")


def context() -> Any:  # noqa: ANN401 - matplotlib does not name the type of its context
    """The matplotlib context that figures are made and saved in."""
    return mpl.rc_context(SETTINGS)


def cumulative(axes: Axes, curves: dict[str, Distribution], lines: Sequence[Line], pages: int | None) -> None:
    """Draw cumulative curves; if their numbers of observations differ, each label has its own."""
    for line in lines:
        colour, style = STYLES[line.place]
        if line.column not in curves:
            axes.plot([], [], color=colour, linestyle=style, label=f"{line.label}: not known")
            continue
        curve = curves[line.column]
        n = "" if curve.total in (pages, None) else f", n = {curve.total:,}"
        steps(axes, curve, line.place, f"{line.label}{n}, median {short(curve.quantile(0.5))}")
    below(axes)


def short(number: float) -> str:
    """A number for a legend: large ones without decimals, small ones with decimals."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def steps(axes: Axes, curve: Distribution, place: int, label: str | None = None) -> None:
    """One cumulative curve, in percent."""
    colour, style = STYLES[place]
    values, shares = curve.values, curve.cumulative
    if values.size > _POINTS:
        # Of neighbours that print cannot distinguish, the last.
        step_ends = np.append(np.flatnonzero(np.diff(np.floor(shares * _POINTS))), values.size - 1)
        values, shares = values[step_ends], shares[step_ends]
    # Up from 0 at the first value, so that a study of one page is a line too.
    x = np.concatenate([values[:1], values])
    y = np.concatenate([[0.0], 100.0 * shares])
    # Between points that were read back from a published curve, the curve need not be level.
    rises = "steps-post" if curve.counts is not None else "default"
    axes.plot(x, y, drawstyle=rises, color=colour, linestyle=style, linewidth=1.6, label=label)
    percent(axes)


def percent(axes: Axes) -> None:
    """Shares from 0 to 100 %."""
    axes.set_ylim(0, 103)
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0))


def below(axes: Axes, columns: int = 1) -> None:
    """Draw the legend below the panel, because no place within it is free of curves in every study."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.19), ncols=columns, handlelength=2.8)


def from_zero(axes: Axes, largest: float) -> None:
    """Scale an axis for counts, which can be zero: linear from 0 to 1, logarithmic above."""
    axes.set_xscale("symlog", linthresh=1, linscale=0.35)
    axes.set_xlim(0, max(largest, 2) * 1.15)
    axes.set_xticks([0, *_ticks(1, largest)])
    _plain(axes)


def logarithmic(axes: Axes, least: float, largest: float) -> None:
    """From ``least``, above zero, to ``largest``."""
    axes.set_xscale("log")
    axes.set_xlim(least, largest * 1.15)
    axes.set_xticks(_ticks(least, largest))
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value >= 1000 else f"{value:g}")
    )


def _ticks(least: float, largest: float) -> Sequence[float]:
    """1, 2, 5, 10, ... or, where these are too many to be read, every power of ten; where too few, even steps."""
    most = max(largest, 2) * 1.15
    powers = [10**n for n in range(12) if 10**n <= most]
    ticks = [digit * power for power in powers for digit in (1, 2, 5) if least <= digit * power <= most]
    if len(ticks) < _FEWEST_TICKS:
        return [tick for tick in MaxNLocator(5, integer=True).tick_values(least, most) if least <= tick <= most]
    return ticks if len(ticks) <= _TICKS else [power for power in powers if power >= least]


def panels(figure: Figure, count: int) -> list[Axes]:
    """Panels beside one another that share what they are measured in."""
    return list(np.atleast_1d(figure.subplots(1, count, sharey=True)))
