"""``originset study compare``: two studies or HARs compared, or the vantages or rounds of one study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import click
import duckdb
import polars as pl

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.common.selection import apply_selection, selection_options
from originset.cli.modelling.scratch_study import study_of
from originset.data.errors import UsageError
from originset.data.quantity import quantity
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.queries.comparison.compared_values import compare_pages, compare_totals, only_page, page_values
from originset.queries.comparison.connection_changes import connection_changes, host_connections
from originset.queries.comparison.recording_differences import recording_differences, recording_facts
from originset.queries.visit_selection import Selection

# How many hosts with fewer connections, and how many with more, are listed for a single page.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class _Side:
    """The values, connections and recording facts of one side, for all its groups."""

    values: pl.DataFrame
    connections: pl.DataFrame
    recorded: pl.DataFrame

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, by: str | None = None) -> _Side:
        return cls(page_values(connection, by), host_connections(connection, by), recording_facts(connection, by))

    def group(self, name: str) -> _Side:
        return _Side(*(rows.filter(pl.col("group") == name) for rows in (self.values, self.connections, self.recorded)))


@click.command(cls=Command)
@click.argument("sides", nargs=-1, metavar="[A B]", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--by", type=click.Choice(["vantage", "round"]), help="Compare the vantage points or rounds of one study."
)
@click.option(
    "--rows",
    "kind",
    type=click.Choice(["totals", "pages", "connections"]),
    default="totals",
    show_default=True,
    help="What a row is: a measure over all pages, a measure of a page, or a host whose connections changed in number.",
)
@selection_options
@study_option
@format_option
@click.pass_obj
def command(
    study: Study,
    sides: tuple[Path, ...],
    by: str | None,
    *,
    kind: str,
    selection: Selection,
    output_format: str,
) -> None:
    """Compare two HAR files or studies, or parts of a study.

    A and B are HAR files or studies, before and after a change. With --by and without A and B, the vantage points or
    rounds of one study are compared with the first of them.

    Only pages on both sides count. Fewer and faster is better. A page is called better or worse only if each side has
    several visits and all of them agree. Totals have intervals over sites. Differences between the recordings are
    listed on stderr, and so are the connections that changed if there is a single page.

    Example: originset study compare before.har after.har
    """
    if by is not None and not sides:
        rows = _compare_groups(study, by, selection, kind)
    elif by is None and len(sides) == 2:
        with _opened_side(sides[0], selection) as first, _opened_side(sides[1], selection) as second:
            before, after = _Side.of(first), _Side.of(second)
        rows = _compared(before, after, kind)
    else:
        raise click.UsageError("Give two studies or HARs, or --by alone for the study.")
    write_rows(rows, output_format)


@contextmanager
def _opened_side(path: Path, selection: Selection) -> Iterator[duckdb.DuckDBPyConnection]:
    is_study = path.is_dir() and Study(path).manifest_path.exists()
    with (
        nullcontext(Study(path)) if is_study else study_of([path]) as study,
        open_database(study) as connection,
    ):
        apply_selection(connection, selection, f"{path}: ")
        yield connection


def _compared(before: _Side, after: _Side, kind: str, by: str | None = None, label: str = "") -> pl.DataFrame:
    _remark(before.values, after.values, label)
    for difference in recording_differences(before.recorded, after.recorded, by):
        note(f"{label}recorded differently: {difference}")
    pages = compare_pages(before.values, after.values)
    once = pages.filter((pl.col("visits") == 1) | (pl.col("visits_after") == 1)).select("site", "page").n_unique()
    if once:
        note(
            f"{label}{quantity(once, 'page')} with only one load on a side: how much loads differ by chance is not "
            "known, so no change is called better or worse; record each page several times"
        )
    changes = connection_changes(before.connections, after.connections)
    if kind == "connections":
        return changes
    if only_page(before.values) and only_page(after.values):
        _name(changes, label)
    return pages if kind == "pages" else compare_totals(pages)


def _name(changes: pl.DataFrame, label: str) -> None:
    """List the hosts of a single page that have fewer or more connections."""
    fewer, more = changes.filter(pl.col("change") < 0), changes.filter(pl.col("change") > 0)
    for word, rows in (("fewer", fewer), ("more", more)):
        for row in rows.head(_NAMED).iter_rows(named=True):
            why = f" ({row['why']})" if row["why"] else ""
            note(f"{label}{word}: {row['host']}, {row['before']:g} to {row['after']:g} connections{why}")
        if rows.height > _NAMED:
            note(f"{label}{word}: {rows.height - _NAMED} more hosts, all of them with --rows connections")


def _compare_groups(study: Study, by: str, selection: Selection, kind: str) -> pl.DataFrame:
    """Each vantage or round against the first of them."""
    with open_database(study) as connection:
        apply_selection(connection, selection)
        all_groups = _Side.of(connection, by)
    values = all_groups.values
    unnamed = values.filter(pl.col("group").is_null()).select("site", "page").n_unique()
    values = values.drop_nulls("group")
    numeric = pl.col("group").cast(pl.Int64, strict=False)
    names = values.select("group").unique().sort(numeric, "group")["group"].to_list()
    if len(names) < 2:
        raise UsageError(f"study {study.root} has {len(names)} named {by}s", "at least two can be compared")
    if unnamed:
        were = "was" if unnamed == 1 else "were"
        note(f"{quantity(unnamed, 'page')} {were} visited without a named {by}; those visits are left out")
    parts = []
    for name in names[1:]:
        compared = _compared(all_groups.group(names[0]), all_groups.group(name), kind, by, f"{by} {name}: ")
        label = [pl.lit(names[0]).alias(f"{by}_before"), pl.lit(name).alias(f"{by}_after")]
        parts.append(compared.select(*label, pl.all()))
    return pl.concat(parts)


def _remark(before: pl.DataFrame, after: pl.DataFrame, label: str = "") -> None:
    pages = [side.select("site", "page").unique() for side in (before, after)]
    if only_page(before) and only_page(after):
        if pages[0].rows() != pages[1].rows():
            note(f"{label}{pages[0]['page'][0]} is compared with {pages[1]['page'][0]}")
        return
    for side, other, word in ((0, 1, "first"), (1, 0, "second")):
        unpaired = pages[side].join(pages[other], on=["site", "page"], how="anti", nulls_equal=True).height
        if unpaired:
            are = "is" if unpaired == 1 else "are"
            note(f"{label}{quantity(unpaired, 'page')} {are} in the {word} only and left out")
