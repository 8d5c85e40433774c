"""``originset compare``: what got better or worse between two studies or HARs, or within one study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click
import duckdb
import polars as pl

from originset.cli.output import format_option, note, write_rows
from originset.cli.scratch_study import study_of
from originset.cli.selection import apply_selection, selection_options
from originset.data.database import open_database
from originset.data.errors import UsageError
from originset.data.study import Study
from originset.queries.comparison import compare_pages, compare_totals, only_page, page_values
from originset.queries.selection import Selection


@click.command()
@click.argument("sides", nargs=-1, metavar="[A B]", type=click.Path(exists=True, path_type=Path))
@click.option("--by", type=click.Choice(["vantage", "round"]), help="Compare the vantages or rounds of one study.")
@click.option("--pages", "each_page", is_flag=True, help="Page by page instead of in total.")
@selection_options
@format_option
@click.pass_obj
def command(
    study: Study,
    sides: tuple[Path, ...],
    by: str | None,
    *,
    each_page: bool,
    selection: Selection,
    output_format: str,
) -> None:
    """Compare two studies or two HARs, before and after; or, with --by, the vantages or rounds of one study.

    Only pages on both sides count. Fewer and faster is better; a page with several visits is better or worse only where
    all of them are. Totals have intervals over sites.

    Example: originset compare before.har after.har
    """
    if by is not None and not sides:
        rows = _within(study, by, selection, each_page=each_page)
    elif by is None and len(sides) == 2:
        with _opened(sides[0], selection) as first, _opened(sides[1], selection) as second:
            before, after = page_values(first), page_values(second)
        _remark(before, after)
        rows = _compared(before, after, each_page=each_page)
    else:
        raise click.UsageError("Give two studies or HARs, or --by alone for the study.")
    write_rows(rows, output_format)


@contextmanager
def _opened(path: Path, selection: Selection) -> Iterator[duckdb.DuckDBPyConnection]:
    is_study = path.is_dir() and Study(path).manifest_path.exists()
    with (
        nullcontext(Study(path)) if is_study else study_of([path]) as study,
        open_database(study) as connection,
    ):
        apply_selection(connection, selection, f"{path}: ")
        yield connection


def _compared(before: pl.DataFrame, after: pl.DataFrame, *, each_page: bool) -> pl.DataFrame:
    pages = compare_pages(before, after)
    return pages if each_page else compare_totals(pages)


def _within(study: Study, by: str, selection: Selection, *, each_page: bool) -> pl.DataFrame:
    """Each vantage or round against the first of them."""
    with open_database(study) as connection:
        apply_selection(connection, selection)
        values = page_values(connection, by)
    unnamed = values.filter(pl.col("group").is_null()).select("site", "page").n_unique()
    values = values.drop_nulls("group")
    numeric = pl.col("group").cast(pl.Int64, strict=False)
    names = values.select("group").unique().sort(numeric, "group")["group"].to_list()
    if len(names) < 2:
        raise UsageError(f"study {study.root} has {len(names)} named {by}s", "at least two can be compared")
    if unnamed:
        note(f"{unnamed} pages were visited without a named {by}; those visits are left out")
    first = values.filter(pl.col("group") == names[0])
    parts = []
    for name in names[1:]:
        other = values.filter(pl.col("group") == name)
        _remark(first, other, f"{by} {name}: ")
        label = [pl.lit(names[0]).alias(f"{by}_before"), pl.lit(name).alias(f"{by}_after")]
        parts.append(_compared(first, other, each_page=each_page).select(*label, pl.all()))
    return pl.concat(parts)


def _remark(before: pl.DataFrame, after: pl.DataFrame, label: str = "") -> None:
    pages = [side.select("site", "page").unique() for side in (before, after)]
    if only_page(before) and only_page(after):
        if pages[0].rows() != pages[1].rows():
            note(f"{label}{pages[0]['page'][0]} is compared with {pages[1]['page'][0]}")
        return
    for side, other, word in ((0, 1, "first"), (1, 0, "second")):
        alone = pages[side].join(pages[other], on=["site", "page"], how="anti", nulls_equal=True).height
        if alone:
            note(f"{label}{alone} pages are in the {word} only and left out")
