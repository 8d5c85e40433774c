"""The figures of a crawl: 1, 3, 4, 5 and 9a, each defined once for a study and for the authors' data.

Figure 2 is of one page (:mod:`originset.queries.figures.waterfall`), figure 6 is a drawing of the set-up.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from originset.queries.figures import authors, page_numbers
from originset.queries.figures.authors import Curves, curves
from originset.queries.figures.distribution import Distribution
from originset.queries.figures.drawing import STYLES, Line, below, cumulative, from_zero, logarithmic, steps
from originset.queries.figures.paper_figure import PaperFigure

_SEED = 8336


def largest(sides: list[Curves]) -> float:
    """The largest value of any curve of any side."""
    return max((float(curve.values[-1]) for side in sides for curve in side.values()), default=1.0)


def _sites(data: Curves) -> str:
    return f"n = {max(curve.total or 0 for curve in data.values()):,} sites"


def _figure_1_rows(rows: pl.DataFrame) -> Curves:
    return {"ASes": Distribution.counted(rows["asns"].to_numpy(), rows["sites"].to_numpy())}


def _draw_1(axes: Axes, data: Curves, keys: str) -> None:
    curve = data["ASes"]
    steps(axes, curve, 0, f"that many or fewer, median {curve.quantile(0.5):g}")
    shares = 100.0 * np.diff(curve.cumulative, prepend=0.0)
    colour = STYLES[2][0]
    axes.plot(curve.values, shares, color=colour, linewidth=0.8, marker="o", markersize=2.5, label="just that many")
    below(axes)
    axes.set_xlabel(f"{keys} that a page needs (logarithmic above 1)")
    axes.set_ylabel("share of sites")


def _draw_3(axes: Axes, data: Curves, keys: str) -> None:
    lines = (
        Line("dns", "measured DNS lookups", 0),
        Line("tls", "measured TLS connections", 1),
        Line("ip_dns_tls", "ideal IP", 2),
        Line("origin_dns_tls", f"ideal ORIGIN by {keys}", 3),
    )
    cumulative(axes, data, lines, max(curve.total or 0 for curve in data.values()))
    axes.set_xlabel("per page (logarithmic above 1)")
    axes.set_ylabel("share of sites (cumulative)")


def _draw_4(axes: Axes, data: pl.DataFrame, keys: str) -> None:
    distributions = curves(data, ("original_san_list", "updated_san_list"))
    lines = (Line("original_san_list", "as seen", 0), Line("updated_san_list", f"with additions by {keys}", 3))
    cumulative(axes, distributions, lines, data.height)
    axes.set_xlabel("names in a site's certificate (logarithmic above 1)")
    axes.set_ylabel("share of sites (cumulative)")


def _draw_5(axes: Axes, data: pl.DataFrame, keys: str) -> None:
    # Sites with as many names stand in no order, also where rows came in one.
    anyhow = np.random.default_rng(_SEED).permutation(data.height)
    ranked = data[anyhow].sort("original_san_list", descending=True, maintain_order=True)
    rank = np.arange(1, data.height + 1)
    # Points that print cannot tell apart are drawn once.
    place = np.floor(np.log10(rank) * 400).astype(np.int64)
    mapped = pl.DataFrame({"place": place, "rank": rank, "names": ranked["updated_san_list"]})
    mapped = mapped.unique(["place", "names"], keep="first", maintain_order=True)
    axes.plot(
        mapped["rank"],
        mapped["names"],
        linestyle="",
        marker=".",
        markersize=2,
        color="#56B4E9",
        rasterized=True,
        label=f"that site's, with additions by {keys}",
    )
    for column, label, place_ in (
        ("updated_san_list", "with additions, ranked by themselves", 1),
        ("original_san_list", "as seen", 0),
    ):
        names = data[column].sort(descending=True).to_numpy()
        # Where the number changes, so that 300,000 sites are some hundred points.
        step_ends = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(names)) + 1, [names.size - 1]]))
        colour, style = STYLES[place_]
        axes.plot(rank[step_ends], names[step_ends], drawstyle="steps-post", color=colour, linestyle=style, label=label)
    below(axes)
    axes.set_xlabel("sites, ranked by names in their certificate")
    axes.set_ylabel("names (logarithmic above 1)")


def _most_names(sides: list[pl.DataFrame]) -> float:
    return max(float(data["updated_san_list"].to_numpy().max()) for data in sides)


def _scale_5(axes: Axes, sides: list[pl.DataFrame]) -> None:
    logarithmic(axes, 1, max(data.height for data in sides))
    most = _most_names(sides)
    axes.set_yscale("symlog", linthresh=1, linscale=0.35)
    axes.set_ylim(0, most * 1.3)
    axes.set_yticks([0, *(10**power for power in range(5) if 10**power <= most * 1.3)])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()


def _draw_9a(axes: Axes, data: Curves, keys: str) -> None:
    lines = [
        Line("page_load_times", "measured", 0),
        Line("ip_page_load_times", "IP coalescing (model)", 2),
        Line("as_page_load_times", f"ORIGIN by {keys} (model)", 3),
    ]
    if "cf_only_page_load_times" in data:
        lines.append(Line("cf_only_page_load_times", "ORIGIN at one provider (model)", 1))
    cumulative(axes, data, lines, max(curve.total or 0 for curve in data.values()))
    axes.set_xlabel("page load time in ms (logarithmic)")
    axes.set_ylabel("share of sites (cumulative)")


def _size_9a(data: Curves) -> str:
    return _sites(data) if all(curve.counts is not None for curve in data.values()) else "as published"


def _scale_9a(axes: Axes, sides: list[Curves]) -> None:
    range_ends = [curve.quantile(q) for side in sides for curve in side.values() for q in (0.002, 0.998)]
    logarithmic(axes, max(1.0, min(range_ends)), max(range_ends))


# The authors' columns, and lookups at best, which theirs count as connections.
_AS_COUNTED = ("dns", "tls", "ip_dns_tls", "origin_dns_tls", "ip_dns", "origin_dns")
_LOADS = ("page_load_times", "ip_page_load_times", "as_page_load_times", "cf_only_page_load_times")
_CERTIFICATES = {name: name for name in ("original_san_list", "updated_san_list", "mapped_san_additions")}

FIGURES = (
    PaperFigure(
        name="figure-1",
        title="Servers' ASes per page",
        theirs=authors.figure_1,
        draw=_draw_1,
        numbers=page_numbers.figure_1,
        size=_sites,
        query="asns_page_pct",
        columns={"asns": "ASes", "pct": "Count"},
        from_rows=_figure_1_rows,
        scale=lambda axes, sides: from_zero(axes, largest(sides)),
    ),
    PaperFigure(
        name="figure-3",
        title="Lookups and connections",
        theirs=authors.figure_3,
        draw=_draw_3,
        numbers=page_numbers.figure_3,
        size=_sites,
        query="connections_page_dist",
        columns={name: name for name in _AS_COUNTED},
        from_rows=partial(curves, columns=_AS_COUNTED),
        scale=lambda axes, sides: from_zero(axes, largest(sides)),
    ),
    PaperFigure(
        name="figure-4",
        title="Certificate names",
        theirs=authors.figure_5,
        draw=_draw_4,
        numbers=page_numbers.figure_4,
        size=page_numbers.unchanged,
        query="sans_site_dist",
        columns=_CERTIFICATES,
        scale=lambda axes, sides: from_zero(axes, _most_names(sides)),
    ),
    PaperFigure(
        name="figure-5",
        title="Certificate names, site by site",
        theirs=authors.figure_5,
        draw=_draw_5,
        numbers=page_numbers.figure_5,
        size=lambda data: f"n = {data.height:,} sites",
        query="sans_site_dist",
        columns=_CERTIFICATES,
        scale=_scale_5,
    ),
    PaperFigure(
        name="figure-9a",
        title="Page load time, by the paper's timeline",
        theirs=authors.figure_9a,
        draw=_draw_9a,
        numbers=page_numbers.figure_9a,
        size=_size_9a,
        query="load_times_page_dist",
        columns={name: name for name in _LOADS},
        from_rows=partial(curves, columns=_LOADS),
        scale=_scale_9a,
    ),
)
