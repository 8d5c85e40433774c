"""The numbers of the figures of a crawl, computed in the same way for a study and for the authors' data."""

from __future__ import annotations

import numpy as np
import polars as pl

from originset.queries.figures.authors import Curves
from originset.queries.figures.distribution import Distribution
from originset.queries.figures.paper_figure import Number

_COUNTED = {
    "dns": "measured DNS lookups",
    "tls": "measured TLS connections",
    "ip_dns_tls": "ideal IP",
    "origin_dns_tls": "ideal ORIGIN",
}
_MEASURED = {"dns": "DNS lookups", "tls": "TLS connections"}
_LOADS = {
    "page_load_times": "measured",
    "ip_page_load_times": "ideal IP",
    "as_page_load_times": "ideal ORIGIN",
    "cf_only_page_load_times": "ideal ORIGIN at one provider",
}
_QUARTILES = {"p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99}


def figure_1(data: Curves) -> list[Number]:
    """Shares of pages by number of ASes."""
    curve = data["ASes"]
    return [
        Number("sites", "sites", curve.total),
        *(Number(f"pages that need {n} AS{'es' * (n > 1)}", "%", 100 * curve.share(n), 2) for n in (1, 2, 3)),
        *(Number(f"pages that need {n} ASes or fewer", "%", 100 * curve.share_up_to(n), 1) for n in (3, 6, 10, 20)),
        Number("most ASes of a page", "ASes", curve.values[-1]),
    ]


def figure_3(data: Curves) -> list[Number]:
    """Quantiles of the four counts, and how far the ideals are below the measured counts at the median.

    Lookups are held against lookups at best, of the same pages; the authors' data have one ideal for both.
    """
    numbers = [
        Number(f"sites counted, {label}", "sites", data[column].total)
        for column, label in _MEASURED.items()
        if column in data
    ]
    numbers += [
        Number(f"{label}, {name}", "per page", data[column].quantile(q) if column in data else None, 1)
        for column, label in _COUNTED.items()
        for name, q in _QUARTILES.items()
    ]
    for ideal, lookups in (("ip_dns_tls", "ip_dns"), ("origin_dns_tls", "origin_dns")):
        connections = data.get(ideal)
        for measured, of, at_best in (("dns", "DNS", data.get(lookups, connections)), ("tls", "TLS", connections)):
            change = _change(data.get(measured), at_best)
            numbers.append(Number(f"{_COUNTED[ideal]} against measured {of}, at the median", "%", change, 1))
    return numbers


def figure_4(data: pl.DataFrame) -> list[Number]:
    """Names in certificates, and the share of sites that need no more."""
    measured, ideal = (Distribution.of(data[name].to_numpy()) for name in ("original_san_list", "updated_san_list"))
    # The authors have one row that loses a name; no addition is what it needs too.
    needed = Distribution.of(data["mapped_san_additions"].clip(lower_bound=0).to_numpy())
    return [
        Number("certificates", "sites", data.height),
        Number("certificates without any addition", "sites", round(data.height * needed.share(0))),
        Number("certificates without any addition", "%", 100 * needed.share(0), 2),
        *(Number(f"certificates with {n} additions or fewer", "%", 100 * needed.share_up_to(n), 2) for n in (5, 10)),
        Number("names, median", "names", measured.quantile(0.5), 1),
        Number("names with additions, median", "names", ideal.quantile(0.5), 1),
        *(
            Number(f"certificates with {n} name{'s' * (n != 1)}{when}", "sites", round(data.height * curve.share(n)))
            for when, curve in (("", measured), (", with additions", ideal))
            for n in range(4)
        ),
        Number("names, p99", "names", measured.quantile(0.99)),
        Number("names with additions, p99", "names", ideal.quantile(0.99)),
    ]


def unchanged(data: pl.DataFrame) -> str:
    """The part of the figure's title on this."""
    share = 100 * float((data["mapped_san_additions"].to_numpy() <= 0).mean())
    return f"n = {data.height:,} sites; {share:.1f} % unchanged"


def figure_5(data: pl.DataFrame) -> list[Number]:
    """The tail: how many names are added where any are, and how many certificates get large."""
    added = data["mapped_san_additions"].filter(data["mapped_san_additions"] > 0).to_numpy()
    more = (data["updated_san_list"] - data["original_san_list"]).to_numpy()
    numbers = [
        Number("certificates with additions", "sites", added.size),
        Number("additions to them, median", "names", float(np.median(added)) if added.size else None, 1),
        Number("names more over all sites", "names", int(more.sum())),
    ]
    for limit in (100, 250):
        for column, when in (("original_san_list", ""), ("updated_san_list", ", with additions")):
            what = f"certificates with more than {limit} names{when}"
            numbers.append(Number(what, "sites", data.filter(pl.col(column) > limit).height))
    return numbers


def figure_9a(data: Curves) -> list[Number]:
    """Quantiles of load times, and how much the models save at the median."""
    numbers = [
        Number(f"{label}, {name}", "ms", data[column].quantile(q) if column in data else None)
        for column, label in _LOADS.items()
        for name, q in _QUARTILES.items()
        if name != "p99"  # the least certain of what was read back from the published figure
    ]
    for column, label in list(_LOADS.items())[1:]:
        change = _change(data.get("page_load_times"), data.get(column))
        numbers.append(Number(f"{label} against measured, at the median", "%", change, 1))
    return numbers


def _change(before: Distribution | None, after: Distribution | None) -> float | None:
    """The change of the median in percent; None if it is not known or was zero."""
    if before is None or after is None or not before.quantile(0.5):
        return None
    return 100 * (after.quantile(0.5) / before.quantile(0.5) - 1)
