"""What got better or worse between two studies, or between the vantages or rounds of one: per page and in total."""

from __future__ import annotations

import duckdb
import polars as pl

from originset.data.errors import UsageError
from originset.queries.intervals import saved_pct_interval

# Fewer, or faster, is better in each of them.
METRICS = (
    "hosts",
    "measured_dns",
    "measured_tls",
    "opened_tls",
    "without_duplicates",
    "ideal_deployable",
    "ideal_origin",
    "load_ms",
)

# The same visits as the ladder counts: what a recording shows only in part cannot be compared.
_VALUES = """
SELECT coalesce(v.site, v.visit_id) AS site, v.url AS page, {group} AS "group", v.visit_id,
    c.hosts::DOUBLE AS hosts, c.measured_dns::DOUBLE AS measured_dns, c.measured_tls::DOUBLE AS measured_tls,
    c.opened_tls::DOUBLE AS opened_tls, c.without_duplicates::DOUBLE AS without_duplicates,
    c.ideal_deployable::DOUBLE AS ideal_deployable, c.ideal_origin::DOUBLE AS ideal_origin, v.load_ms
FROM visits AS v JOIN page_counts AS c USING (visit_id)
WHERE v.status IS DISTINCT FROM 'failed' AND NOT coalesce(v.challenge, false) AND NOT coalesce(
    list_has_any(v.quality, ['truncated', 'partial', 'proxied', 'warm_start', 'preserved_log', 'cached_hosts']), false)
"""

_GROUPS = {None: "NULL::VARCHAR", "vantage": "v.vantage", "round": "v.round::VARCHAR"}

_PAGE_KEYS = ["site", "page", "metric"]


def page_values(connection: duckdb.DuckDBPyConnection, by: str | None = None) -> pl.DataFrame:
    """What was counted on each page: site, page, group, metric, visits, mean, low, high over its visits.

    ``by``: ``vantage`` or ``round``, which becomes the group. Failed visits are left out, bot challenges, and
    recordings that show a part only; so is each metric where it is not known.
    """
    wide: pl.DataFrame = connection.sql(_VALUES.format(group=_GROUPS[by])).pl()
    long = wide.unpivot(METRICS, index=["site", "page", "group", "visit_id"], variable_name="metric")
    return (
        long.drop_nulls("value")
        .group_by("site", "page", "group", "metric")
        .agg(
            pl.len().alias("visits"),
            pl.col("value").mean().alias("mean"),
            pl.col("value").min().alias("low"),
            pl.col("value").max().alias("high"),
        )
    )


def only_page(values: pl.DataFrame) -> bool:
    """Whether these are the values of a single page."""
    return values.select("site", "page").n_unique() == 1


def compare_pages(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Page by page: site, page, metric, visits on both sides, before, after, change, change_pct and verdict.

    ``before`` and ``after``: as :func:`page_values` gives them, of one group each. Pages are the same where site and
    address are; a single page on each side is compared whatever it is called. The verdict is ``better`` or ``worse``
    where no visit of one side reaches those of the other, ``same`` where they agree, else ``unclear``.

    Raises:
        UsageError: the sides have no page in common.
    """
    if only_page(before) and only_page(after):
        before = before.with_columns(site=pl.lit(after["site"][0]), page=pl.lit(after["page"][0]))
    joined = before.join(after, on=_PAGE_KEYS, how="inner", suffix="_after", nulls_equal=True)
    if joined.is_empty():
        raise UsageError("the two have no page in common", "pages are the same where site and address are")
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
        .when(pl.col("high_after") < pl.col("low"))
        .then(pl.lit("better"))
        .when(pl.col("low_after") > pl.col("high"))
        .then(pl.lit("worse"))
        .otherwise(pl.lit("unclear"))
        .alias("verdict"),
    ).sort(pl.col("metric").replace_strict(METRICS, range(len(METRICS))), "site", "page", nulls_last=True)


def compare_totals(pages: pl.DataFrame) -> pl.DataFrame:
    """All pages together: metric, pages, before, after, change, change_pct with the bounds of its 95 % interval.

    ``pages``: as :func:`compare_pages` gives them. The interval is over sites (saved_pct_interval), or NULL.
    ``better`` to ``unclear`` count pages by their verdict.
    """
    rows = []
    for metric in METRICS:
        of_metric = pages.filter(pl.col("metric") == metric)
        if of_metric.is_empty():
            continue
        sites = of_metric.group_by("site").agg(pl.col("before", "after").sum()).sort("site")
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
                **{word: (of_metric["verdict"] == word).sum() for word in ("better", "worse", "same", "unclear")},
            }
        )
    counts = dict.fromkeys(("better", "worse", "same", "unclear"), pl.Int64())
    numbers = dict.fromkeys(
        ("before", "after", "change", "change_pct", "change_pct_low", "change_pct_high"), pl.Float64()
    )
    return pl.DataFrame(rows, schema={"metric": pl.String(), "pages": pl.Int64(), **numbers, **counts})
