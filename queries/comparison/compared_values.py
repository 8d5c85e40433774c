"""Counts and load times compared between two studies, or two vantages or rounds of one: by page and in total."""

from __future__ import annotations

import duckdb
import polars as pl

from originset.data.errors import UsageError
from originset.queries.intervals import saved_pct_interval

# In each of them the smaller number is better.
METRICS = (
    "hosts",
    "measured_dns",
    "measured_tls",
    "opened_tls",
    "without_duplicates",
    "paired_ideal_deployable",
    "paired_ideal_origin",
    "load_ms",
)

# Each number of the visits that count for its question; {group}: a column of visits.
_VALUES = """
SELECT v.vantage, v.browser, v.site, v.page, {group} AS "group", v.question, v.visit_id,
    c.hosts::DOUBLE AS hosts, c.measured_dns::DOUBLE AS measured_dns, c.measured_tls::DOUBLE AS measured_tls,
    c.opened_tls::DOUBLE AS opened_tls, c.without_duplicates::DOUBLE AS without_duplicates,
    c.paired_ideal_deployable::DOUBLE AS paired_ideal_deployable, c.paired_ideal_origin::DOUBLE AS paired_ideal_origin,
    p.load_ms
FROM counted_visits AS v JOIN page_counts AS c USING (visit_id) JOIN visits AS p USING (visit_id)
"""

_QUESTIONS = {"hosts": "servers", "measured_dns": "lookups", "load_ms": "load_times"}

#: What visits p are grouped by: nothing, vantage or round.
GROUPS = {None: "NULL::VARCHAR", "vantage": "p.vantage", "round": "p.round::VARCHAR"}

_PAGE_KEYS = ["site", "page", "metric"]

_VERDICTS = ("better", "worse", "same", "unclear")

#: The rows of :func:`compare_pages` and :func:`compare_totals`.
PAGE_CHANGES = pl.Schema(
    {
        "site": pl.String(),
        "page": pl.String(),
        "metric": pl.Enum(METRICS),
        "visits": pl.UInt32(),
        "visits_after": pl.UInt32(),
        "before": pl.Float64(),
        "after": pl.Float64(),
        "change": pl.Float64(),
        "change_pct": pl.Float64(),
        "verdict": pl.Enum(_VERDICTS),
    }
)
TOTAL_CHANGES = pl.Schema(
    {
        "metric": pl.Enum(METRICS),
        "pages": pl.Int64(),
        "before": pl.Float64(),
        "after": pl.Float64(),
        "change": pl.Float64(),
        "change_pct": pl.Float64(),
        "change_pct_low": pl.Float64(),
        "change_pct_high": pl.Float64(),
        **dict.fromkeys(_VERDICTS, pl.Int64()),
    }
)


def page_values(connection: duckdb.DuckDBPyConnection, by: str | None = None) -> pl.DataFrame:
    """The values of each page: site, page, group, metric, visits, and mean, low, high over its visits.

    ``by``: ``vantage`` or ``round``, which becomes the group. A visit counts for a metric if it counts for the metric's
    question (page_basis): connections, unless _QUESTIONS has another.

    Raises:
        UsageError: there are visits of several browsers, or of several vantages that are not the group.
    """
    wide: pl.DataFrame = connection.sql(_VALUES.format(group=GROUPS[by])).pl()
    compared = wide if by is None else wide.drop_nulls("group")
    for column in ("vantage", "browser"):
        if column != by:
            _require_one(compared[column])
    long = wide.unpivot(METRICS, index=["site", "page", "group", "question", "visit_id"], variable_name="metric")
    question = pl.col("metric").replace_strict(_QUESTIONS, default="connections")
    return (
        long.filter(pl.col("question") == question)
        .drop_nulls("value")
        .group_by("site", "page", "group", "metric")
        .agg(
            pl.len().alias("visits"),
            pl.col("value").mean().alias("mean"),
            pl.col("value").min().alias("low"),
            pl.col("value").max().alias("high"),
        )
    )


def _require_one(found: pl.Series) -> None:
    if found.n_unique() > 1:
        names = ", ".join(sorted(name or "unknown" for name in found.unique()))
        unknown = f", those of an unknown one with --where '{found.name} IS NULL'" if found.null_count() else ""
        raise UsageError(
            f"there are visits of several {found.name}s: {names}", f"choose one with --{found.name}{unknown}"
        )


def only_page(values: pl.DataFrame) -> bool:
    """Whether these are the values of a single page."""
    return values.select("site", "page").n_unique() == 1


def renamed_alike(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """``before`` with the site and page of ``after``, if each has a single page."""
    if only_page(before) and only_page(after):
        return before.with_columns(site=pl.lit(after["site"][0]), page=pl.lit(after["page"][0]))
    return before


def compare_pages(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Page by page: site, page, metric, visits on both sides, before, after, change, change_pct and verdict.

    ``before`` and ``after``: the results of :func:`page_values`, of one group each. Pages are paired by site and URL; a
    single page on each side is paired in any case. The verdict is ``better`` or ``worse`` if both sides have several
    visits and their ranges do not overlap, ``same`` if all visits agree, and else ``unclear``, because a difference
    between two loads of one page can be chance.

    Raises:
        UsageError: the sides have no page in common.
    """
    joined = renamed_alike(before, after).join(after, on=_PAGE_KEYS, how="inner", suffix="_after", nulls_equal=True)
    if joined.is_empty():
        raise UsageError("the two have no page in common", "pages are compared if they have the same site and URL")
    several = (pl.col("visits") > 1) & (pl.col("visits_after") > 1)
    flat = (pl.col("low") == pl.col("high")) & (pl.col("low_after") == pl.col("high_after"))
    return joined.select(
        *_PAGE_KEYS,
        "visits",
        "visits_after",
        pl.col("mean").alias("before"),
        pl.col("mean_after").alias("after"),
        (pl.col("mean_after") - pl.col("mean")).alias("change"),
        (100 * (pl.col("mean_after") / pl.col("mean") - 1)).fill_nan(0.0).alias("change_pct"),
        pl.when(flat & (pl.col("low") == pl.col("low_after")))
        .then(pl.lit("same"))
        .when(several & (pl.col("high_after") < pl.col("low")))
        .then(pl.lit("better"))
        .when(several & (pl.col("low_after") > pl.col("high")))
        .then(pl.lit("worse"))
        .otherwise(pl.lit("unclear"))
        .alias("verdict"),
    ).sort(pl.col("metric").replace_strict(METRICS, range(len(METRICS))), "site", "page", nulls_last=True)


def compare_totals(pages: pl.DataFrame) -> pl.DataFrame:
    """Totals over all sites, each with its average page: metric, pages, before, after, change, change_pct and bounds.

    ``pages``: the result of :func:`compare_pages`. ``change_pct_low`` and ``change_pct_high`` are the 95 % interval
    over sites (saved_pct_interval), or NULL. ``better``, ``worse``, ``same`` and ``unclear`` count pages by verdict.
    """
    rows = []
    for metric in METRICS:
        of_metric = pages.filter(pl.col("metric") == metric)
        if of_metric.is_empty():
            continue
        sites = of_metric.group_by("site").agg(pl.col("before", "after").mean()).sort("site")
        before, after = float(sites["before"].sum()), float(sites["after"].sum())
        saved = saved_pct_interval(sites["before"].to_list(), sites["after"].to_list())
        rows.append(
            {
                "metric": metric,
                "pages": of_metric.height,
                "before": before,
                "after": after,
                "change": after - before,
                "change_pct": 100 * (after - before) / before if before else None,
                "change_pct_low": None if saved is None else -saved[1],
                "change_pct_high": None if saved is None else -saved[0],
                **{word: (of_metric["verdict"] == word).sum() for word in _VERDICTS},
            }
        )
    return pl.DataFrame(rows, schema={**TOTAL_CHANGES, "metric": pl.String()})
