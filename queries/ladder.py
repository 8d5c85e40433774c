"""The ladder: what every saving is shown as, rung by rung, with what it rests on."""

from __future__ import annotations

from typing import TypeAlias

import duckdb
import polars as pl

from originset.queries.catalogue import rows_of, run

_CHROMIUM = "Chromium with servers as they are"
_MOST, _LEAST = ", at most", ", at least"

#: The columns by which no result is pooled.
GROUP = ("vantage", "browser")

#: One vantage and one browser.
Group: TypeAlias = tuple[str | None, str | None]


def ladder(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """The rungs for TLS connections, then those for DNS lookups, of each vantage and browser.

    Columns as in ladder_summary.sql. What a browser needs at most and at least is one rung where both are the same.
    Where no page counts, one row without a rung says why.
    """
    rows = rows_of(connection, "ladder_summary")
    known = pl.col("rung").str.strip_suffix(_MOST).str.strip_suffix(_LEAST)
    ladders = (*GROUP, "counts")
    same = (pl.len().over(*ladders, known) == 2) & (pl.col("total").n_unique().over(*ladders, known) == 1)
    named_once = rows.with_columns(pl.when(same).then(known).otherwise("rung").alias("rung"))
    return named_once.unique([*ladders, "rung"], keep="first", maintain_order=True)


def groups(rows: pl.DataFrame) -> list[Group]:
    """The vantages and browsers that rows are of, each pair once, in the order of the rows."""
    return rows.select(GROUP).unique(maintain_order=True).rows()


def rows_of_group(rows: pl.DataFrame, group: Group) -> pl.DataFrame:
    """The rows of one vantage and browser; all of rows that are of none."""
    if not set(GROUP) <= set(rows.columns):
        return rows
    return rows.filter(*(pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(GROUP, group, strict=True)))


def group_name(group: Group) -> str:
    """What one vantage and browser are called."""
    vantage, browser = group
    return f"{browser or 'unknown browser'}{'' if vantage is None else f' at {vantage}'}"


def colocation(connection: duckdb.DuckDBPyConnection) -> str:
    """What the model tables of this study take for one server: ``asn``, unless they were filled with another."""
    rows = run(
        connection,
        "SELECT parameters ->> '$.colocation' FROM runs WHERE command IN ('analyze', 'model')"
        " ORDER BY run_id DESC LIMIT 1",
    )
    return "asn" if rows.is_empty() else rows.item() or "asn"


def rests_on(rows: pl.DataFrame) -> list[str]:
    """Sentences for each ladder: over how many pages it is, how many are left out, and why; with which cookies it is.

    None of the pages for a single page that counts; none of cookies where no rung is Chromium's.

    ``rows``: as :func:`ladder` gives them.
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
            sentences.append(f"{what}: no totals, as the page was {why.removeprefix('1 ')}")
    return sentences + _recorded_cookies(rows, several=several)


def _recorded_cookies(rows: pl.DataFrame, *, several: bool) -> list[str]:
    """What the rungs of Chromium with servers as they are take for the setting of third-party cookies."""
    of_chromium = rows.filter(pl.col("rung").str.starts_with(_CHROMIUM))
    basis = of_chromium.select(*GROUP, "counts", "recorded_cookies").unique(maintain_order=True)
    # Mostly the same visits count for connections and for lookups.
    alike = basis.group_by(*GROUP, "recorded_cookies", maintain_order=True).agg("counts")
    return [
        f"{f'{group_name((vantage, browser))}, ' if several else ''}{' and '.join(counts)}: {_CHROMIUM} has "
        f"third-party cookies as recorded ({recorded})"
        for vantage, browser, recorded, counts in alike.iter_rows()
    ]
