"""The ladder, rung by rung, and sentences on the pages that it counts."""

from __future__ import annotations

from typing import TypeAlias

import duckdb
import polars as pl

from originset.queries.catalogue import rows_of, run

_CHROMIUM = "Chromium with servers as they are"
_BOUNDS = (", at most", ", most likely", ", at least")

#: The columns by which no result is pooled.
GROUP = ("vantage", "browser")

#: One vantage and one browser.
Group: TypeAlias = tuple[str | None, str | None]


def ladder(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """The rungs for TLS connections, then those for DNS lookups, of each vantage and browser.

    Columns as in ladder_summary.sql. A browser's bounds and likeliest count are one rung if they are the same. If no
    page counts, the ladder is one row without a rung that has the reason.
    """
    rows = rows_of(connection, "ladder_summary")
    without_bound = pl.col("rung").str.replace(f"(?:{'|'.join(_BOUNDS)})$", "")
    ladders = (*GROUP, "counts")
    same = (pl.len().over(*ladders, without_bound) > 1) & (
        pl.col("total").n_unique().over(*ladders, without_bound) == 1
    )
    named_once = rows.with_columns(pl.when(same).then(without_bound).otherwise("rung").alias("rung"))
    return named_once.unique([*ladders, "rung"], keep="first", maintain_order=True)


def groups(rows: pl.DataFrame) -> list[Group]:
    """The vantages and browsers that rows are of, each pair once, in the order of the rows."""
    return rows.select(GROUP).unique(maintain_order=True).rows()


def rows_of_group(rows: pl.DataFrame, group: Group) -> pl.DataFrame:
    """The rows of one vantage and browser; all rows if they have no such columns."""
    if not set(GROUP) <= set(rows.columns):
        return rows
    return rows.filter(*(pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(GROUP, group, strict=True)))


def group_name(group: Group) -> str:
    """The name of one vantage and browser, such as ``chromium at berlin``."""
    vantage, browser = group
    return f"{browser or 'unknown browser'}{'' if vantage is None else f' at {vantage}'}"


def colocation(connection: duckdb.DuckDBPyConnection) -> str:
    """The parameter ``colocation`` that the tables of this study were modelled with; ``asn`` by default."""
    rows = run(
        connection,
        "SELECT parameters ->> '$.colocation' FROM runs WHERE command IN ('analyze', 'model')"
        " ORDER BY run_id DESC LIMIT 1",
    )
    return "asn" if rows.is_empty() else rows.item() or "asn"


def rests_on(rows: pl.DataFrame) -> list[str]:
    """Sentences on each ladder: how many pages it counts, how many are left out and why, and which cookies it assumes.

    There is no sentence on pages if there is a single page and it counts, and none on cookies without a rung of
    Chromium. ``rows``: the result of :func:`ladder`.
    """
    several = len(groups(rows)) > 1
    basis = rows.select(*GROUP, "counts", "sites", "pages", "visits", "left_out", "left_out_why")
    sentences = []
    for vantage, browser, counts, sites, pages, visits, left_out, why in basis.unique(maintain_order=True).iter_rows():
        what = f"{group_name((vantage, browser))}, {counts}" if several else counts
        if pages + left_out > 1:
            sentence = f"{what}: {pages or 'none'} of {pages + left_out} pages"
            if sites != pages:
                sentence += f", of {sites} {'site' if sites == 1 else 'sites'}"
            if visits != pages:
                sentence += f", {visits} visits"
            sentences.append(f"{sentence}; left out: {why}" if left_out else sentence)
        elif left_out:
            sentences.append(f"{what}: not counted; the page is left out: {why.removeprefix('1 ')}")
    return sentences + _recorded_cookies(rows, several=several)


def _recorded_cookies(rows: pl.DataFrame, *, several: bool) -> list[str]:
    """The setting of third-party cookies that the rungs of Chromium with servers as they are assume."""
    of_chromium = rows.filter(pl.col("rung").str.starts_with(_CHROMIUM))
    basis = of_chromium.select(*GROUP, "counts", "recorded_cookies").unique(maintain_order=True)
    # Mostly the same visits count for connections and for lookups.
    by_cookies = basis.group_by(*GROUP, "recorded_cookies", maintain_order=True).agg("counts")
    return [
        f"{f'{group_name((vantage, browser))}, ' if several else ''}{' and '.join(counts)}: {_CHROMIUM} has "
        f"third-party cookies as recorded ({recorded})"
        for vantage, browser, recorded, counts in by_cookies.iter_rows()
    ]
