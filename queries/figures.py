"""The paper's figures 1, 3 and 4 from a study: PDF, SVG, PNG and the CSV behind each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from originset.queries.catalogue import rows_of
from originset.queries.ladder import colocation

# Okabe and Ito's colours, told apart with any colour vision, and line styles that still differ in black and white.
_STYLES: Any = (("#000000", "-"), ("#D55E00", "--"), ("#0072B2", "-."), ("#009E73", (0, (1, 1))))

# What the model took for one server, by `model --colocation`.
_KEYS = {"asn": "ASes", "ip": "addresses"}

# Same input, same bytes: a fixed salt for SVG's ids, no dates, text as text.
_SETTINGS: Any = {
    "svg.hashsalt": "originset",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}
_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None, "ModDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}


@dataclass(frozen=True, slots=True)
class _Plan:
    """One figure: the file's name, the query behind it, what draws it from the query's rows."""

    name: str
    query: str
    draw: Callable[[Figure, pl.DataFrame, str], None]


def draw(connection: duckdb.DuckDBPyConnection, out: Path) -> tuple[list[Path], list[str]]:
    """Write every figure for which the study has data into the folder ``out``.

    Returns the paths, and a sentence for each figure that has no data. CSV and SVG are the same
    bytes for the same rows.

    Raises:
        OSError: a file cannot be written.
    """
    paths: list[Path] = []
    missing: list[str] = []
    keys = _KEYS.get(colocation(connection), "servers")
    for plan in _PLANS:
        rows = rows_of(connection, plan.query)
        if rows.is_empty():
            missing.append(f"{plan.name}: not drawn, {plan.query} gives no rows for this study")
            continue
        path = out / f"{plan.name}.csv"
        rows.write_csv(path)
        paths.append(path)
        with mpl.rc_context(_SETTINGS):
            figure = Figure(figsize=(5.5, 3.4), layout="constrained")
            plan.draw(figure, rows, keys)
            for kind, metadata in _METADATA.items():
                path = out / f"{plan.name}.{kind}"
                figure.savefig(path, format=kind, dpi=200, metadata=metadata)
                paths.append(path)
    return paths, missing


def _figure_1(figure: Figure, rows: pl.DataFrame, keys: str) -> None:
    axes = figure.subplots()
    pages = int(rows["pages"].sum())
    _steps(axes, rows["asns"].to_numpy(), rows["cumulative_pct"].to_numpy(), 0)
    axes.set_xlabel(f"{keys} that a page needs")
    axes.set_ylabel("share of pages (cumulative)")
    axes.set_title(f"{keys} per page (n = {pages:,} pages)", loc="left")
    _whole_numbers(axes, int(rows["asns"].max()))  # type: ignore[arg-type]  # an integer column that is not empty


def _figure_3(figure: Figure, rows: pl.DataFrame, keys: str) -> None:
    curves = {
        "dns": "measured DNS lookups",
        "tls": "measured TLS connections",
        "ip_dns_tls": "ideal IP (DNS and TLS)",
        "origin_dns_tls": f"ideal ORIGIN by {keys}",
    }
    axes = figure.subplots()
    largest = 1
    for place, (column, label) in enumerate(curves.items()):
        values = rows[column].drop_nulls().to_numpy()
        if values.size == 0:
            axes.plot([], [], color=_STYLES[place][0], linestyle=_STYLES[place][1], label=f"{label}: not known")
            continue
        largest = max(largest, int(values.max()))
        # Where the four rest on different pages, each says on how many.
        pages = "" if values.size == rows.height else f", n = {values.size:,}"
        _distribution(axes, values, place, f"{label}{pages}, median {np.median(values):g}")
    axes.set_xlabel("lookups or connections per page (logarithmic above 1)")
    axes.set_ylabel("share of pages (cumulative)")
    axes.set_title(f"Lookups and connections per page (n = {rows.height:,} pages)", loc="left")
    _logarithmic(axes, largest)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)


def _figure_4(figure: Figure, rows: pl.DataFrame, keys: str) -> None:
    axes = figure.subplots()
    curves = {"original_san_list": "as seen", "updated_san_list": f"with additions by {keys}"}
    largest = 1
    for place, (column, label) in zip((0, 3), curves.items(), strict=True):
        values = rows[column].to_numpy()
        largest = max(largest, int(values.max()))
        _distribution(axes, values, place, f"{label}, median {np.median(values):g}")
    unchanged = 100 * int((rows["mapped_san_additions"] == 0).sum()) / rows.height
    axes.set_xlabel("names in a site's certificate (logarithmic above 1)")
    axes.set_ylabel("share of certificates (cumulative)")
    axes.set_title(f"Certificate names (n = {rows.height:,} sites; {unchanged:.1f} % unchanged)", loc="left")
    _logarithmic(axes, largest)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)


def _distribution(axes: Axes, values: np.ndarray[tuple[int], np.dtype[np.integer]], place: int, label: str) -> None:
    """The cumulative distribution of integers, drawn from its distinct values alone."""
    numbers, counts = np.unique(values, return_counts=True)
    _steps(axes, numbers, 100.0 * np.cumsum(counts) / values.size, place, label)


def _steps(
    axes: Axes,
    numbers: np.ndarray[tuple[int], np.dtype[np.integer]],
    cumulative: np.ndarray[tuple[int], np.dtype[np.floating]],
    place: int,
    label: str | None = None,
) -> None:
    colour, style = _STYLES[place]
    # Up from 0 at the first value, so that a study of one page is a line too.
    x = np.concatenate([numbers[:1], numbers])
    y = np.concatenate([[0.0], cumulative])
    axes.plot(x, y, drawstyle="steps-post", color=colour, linestyle=style, linewidth=1.6, label=label)
    axes.set_ylim(0, 103)
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0))


def _whole_numbers(axes: Axes, largest: int) -> None:
    axes.set_xlim(0, largest * 1.04 + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _logarithmic(axes: Axes, largest: int) -> None:
    """Counts have zeros, which a logarithm has not: linear from 0 to 1, logarithmic above."""
    axes.set_xscale("symlog", linthresh=1, linscale=0.35)
    axes.set_xlim(0, max(largest, 2) * 1.15)
    axes.set_xticks([0, *_ticks(largest)])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value >= 1000 else f"{value:g}")
    )


def _ticks(largest: int) -> Iterator[int]:
    power = 1
    while power <= max(largest, 2) * 1.15:
        yield from (digit * power for digit in (1, 2, 5) if digit * power <= max(largest, 2) * 1.15)
        power *= 10


_PLANS = (
    _Plan("figure-1", "asns_page_pct", _figure_1),
    _Plan("figure-3", "connections_page_dist", _figure_3),
    _Plan("figure-4", "sans_site_dist", _figure_4),
)
