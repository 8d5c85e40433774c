"""The paper's figures and tables, from a study, from the authors' data, or the two side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
from matplotlib.figure import Figure
from rich.progress import Progress

from originset.data.errors import UsageError
from originset.queries.catalogue import catalogue, rows_of, run
from originset.queries.figures import experiment_figures, page_figures
from originset.queries.figures.distribution import Distribution
from originset.queries.figures.drawing import context, panels, save, save_rows
from originset.queries.figures.paper_figure import Data, PaperFigure
from originset.queries.ladder import GROUP, Group, colocation, group_name, groups, rows_of_group

FIGURES = tuple(sorted((*page_figures.FIGURES, *experiment_figures.FIGURES), key=lambda figure: figure.name))

# DuckDB's memory limit for drawing: with Python and its libraries the process stays below 1 GiB.
MEMORY = "500MB"

# The server key, by `study model --colocation`.
_KEYS = {"asn": "ASes", "org": "organisations", "edge": "edges", "tenant": "tenants", "ip": "addresses"}

_THEM, _US = "the authors", "this study"

# What is of no vantage and browser: certificates are the site's, and the authors had one of each.
_NO_GROUP: Group = (None, None)

NUMBERS = pl.Schema(
    {
        "figure": pl.String(),
        "vantage": pl.String(),
        "browser": pl.String(),
        "number": pl.String(),
        "unit": pl.String(),
        "authors": pl.Float64(),
        "ours": pl.Float64(),
        "difference": pl.Float64(),
    }
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The written files, remarks on figures without data or with uncertain data, and the numbers of the figures.

    ``numbers``: columns as in NUMBERS, one row a number; ``difference`` is ours less theirs; NULL where not known.
    """

    paths: list[Path]
    remarks: list[str]
    numbers: pl.DataFrame


def draw(
    connection: duckdb.DuckDBPyConnection | None,
    out: Path,
    paper: Path | None = None,
    display: Progress | None = None,
) -> Drawn:
    """Write into the folder ``out`` every figure for which there is data, a study's tables 1 to 9, and their numbers.

    ``connection``: a study, or None to draw the authors' alone; ``paper``: the folder of the authors' data, or None. Of
    each figure PDF, SVG, PNG and the CSV behind it, under the authors' names of columns; what is drawn of the authors'
    has a CSV of its own; ``numbers.csv`` has what figures stand for. Of several vantages or browsers each has its
    figures in a folder of its own; tables have them all. CSV and SVG are the same bytes for the same rows. ``display``:
    shows how many are drawn.

    Raises:
        OSError: a file cannot be written.
        UsageError: the folder holds none of the authors' files.
        InputError: one of them cannot be read.
    """
    theirs = {} if paper is None else _authors_data(paper)
    keys = "ASes" if connection is None else _KEYS.get(colocation(connection), "servers")
    folders = {} if connection is None else {group: out / name for group, name in folder_names(connection).items()}
    paths: list[Path] = []
    remarks: list[str] = []
    numbers = NUMBERS.to_frame()
    display = display or Progress(disable=True)
    for figure in display.track(FIGURES, description="figures"):
        of_authors: dict[str, Data] = {}
        if figure.name in theirs:
            of_authors[_THEM] = theirs[figure.name]
            paths.append(_write_authors_data(figure, of_authors[_THEM], out))
            if isinstance(of_authors[_THEM], dict) and any(c.counts is None for c in of_authors[_THEM].values()):
                remarks.append(f"{figure.name}: the authors' curves were read back from their published figure")
        rows = None if connection is None or figure.query is None else rows_of(connection, figure.query)
        if rows is None or rows.is_empty():
            if connection is not None and not (figure.query is None and of_authors):
                why = "it comes from a live experiment" if figure.query is None else f"{figure.query} gives no rows"
                remarks.append(f"{figure.name}: not drawn for this study, {why}")
            if of_authors:
                paths.extend(_draw(figure, of_authors, out, keys))
                numbers.extend(_compare(figure, of_authors, _NO_GROUP))
            continue
        for group, folder, of_one in _rows_by_group(rows, folders, out):
            _make(folder, out)
            columns = [pl.col(ours).alias(name) for ours, name in figure.columns.items()]
            paths.append(_write(of_one.select(columns), folder, figure.name))
            sides = {**of_authors, _US: figure.from_rows(of_one)}
            paths.extend(_draw(figure, sides, folder, keys))
            numbers.extend(_compare(figure, sides, group))
    if connection is not None:
        named = display.track(tables().items(), description="tables")
        paths.extend(_write(rows_of(connection, query), out, table) for table, query in named)
    paths.append(_write(numbers, out, "numbers"))
    return Drawn(paths, remarks, numbers)


def _make(folder: Path, out: Path) -> None:
    """Make a folder below ``out``; a link of its name is replaced and not followed."""
    if folder != out and folder.is_symlink():
        folder.unlink()
    folder.mkdir(exist_ok=True)


def folder_names(connection: duckdb.DuckDBPyConnection) -> dict[Group, str]:
    """The folder of figures for each vantage and browser with visits that count: "." if there is only one."""
    sql = "SELECT DISTINCT vantage, browser FROM basis_summary WHERE sites > 0 ORDER BY ALL NULLS LAST"
    all_groups = groups(run(connection, sql))
    if len(all_groups) < 2:
        return dict.fromkeys(all_groups, ".")
    # Names of vantages are chosen by users and can be any text.
    names = [re.sub(r"[^A-Za-z0-9-]+", "-", group_name(group)).strip("-")[:60] for group in all_groups]
    numbered = [f"{name}-{number}".strip("-") for number, name in enumerate(names, 1)]
    unique = names if all(names) and len({*names}) == len(names) else numbered
    return dict(zip(all_groups, unique, strict=True))


def _rows_by_group(
    rows: pl.DataFrame, folders: Mapping[Group, Path], out: Path
) -> list[tuple[Group, Path, pl.DataFrame]]:
    """A query's rows for each vantage and browser, with their folder; rows without these columns belong to ``out``."""
    if not set(GROUP) <= set(rows.columns):
        return [(_NO_GROUP, out, rows)]
    parts = [(group, folder, rows_of_group(rows, group)) for group, folder in folders.items()]
    return [(group, folder, part) for group, folder, part in parts if not part.is_empty()]


def draw_own(data: Sequence[tuple[PaperFigure, Data]], out: Path) -> Drawn:
    """Draw figures of rows that are not from a study into the folder ``out``, as :func:`draw` does."""
    paths: list[Path] = []
    numbers = NUMBERS.to_frame()
    for figure, rows in data:
        paths.append(_write(rows, out, figure.name))
        paths.extend(_draw(figure, {_US: rows}, out, ""))
        numbers.extend(_compare(figure, {_US: rows}, _NO_GROUP))
    paths.append(_write(numbers, out, "numbers"))
    return Drawn(paths, [], numbers)


def tables() -> dict[str, str]:
    """The named query behind each of the paper's tables, by ``table-1`` and so on."""
    papers = {query.paper or "": query.name for query in catalogue().values()}
    return {paper.replace(" ", "-"): papers[paper] for paper in sorted(papers) if re.fullmatch(r"table \d", paper)}


def _authors_data(folder: Path) -> dict[str, Data]:
    data_by_figure = {figure.name: data for figure in FIGURES if (data := figure.theirs(folder)) is not None}
    if not data_by_figure:
        raise UsageError(
            f"{folder} holds none of the authors' files",
            "name the folder data of github.com/cloudflare/connection-coalescing-imc22",
        )
    return data_by_figure


def _draw(figure: PaperFigure, sides: dict[str, Data], out: Path, keys: str) -> list[Path]:
    with context():
        picture = Figure(figsize=(5.5, 4.0) if len(sides) == 1 else (7.6, 4.2), layout="constrained")
        for axes, (who, data) in zip(panels(picture, len(sides)), sides.items(), strict=True):
            figure.draw(axes, data, "ASes" if who == _THEM else keys)
            if figure.scale is not None:
                figure.scale(axes, list(sides.values()))
            heading = f"{who}: {figure.size(data)}" if len(sides) > 1 else _heading(figure, who, data)
            axes.set_title(heading, loc="left")
            axes.label_outer(remove_inner_ticks=False)
        if len(sides) > 1:
            picture.suptitle(figure.title, fontsize=10, fontweight="bold")
        return save(picture, out, figure.name)


def _heading(figure: PaperFigure, who: str, data: Data) -> str:
    return f"{figure.title}{'' if who == _US else f', {who}'} ({figure.size(data)})"


def _compare(figure: PaperFigure, sides: dict[str, Data], group: Group) -> pl.DataFrame:
    of_side = {who: {(n.what, n.unit): n for n in figure.numbers(data)} for who, data in sides.items()}
    rows = []
    for key, digits in {
        key: n.digits for numbers_of_side in of_side.values() for key, n in numbers_of_side.items()
    }.items():
        two_values = (of_side.get(who, {}).get(key) for who in (_THEM, _US))
        theirs, ours = (None if number is None else number.rounded for number in two_values)
        difference = None if theirs is None or ours is None else round(ours - theirs, digits)
        rows.append((figure.name, *group, *key, theirs, ours, difference))
    return pl.DataFrame(rows, schema=NUMBERS, orient="row")


def _write_authors_data(figure: PaperFigure, data: Data, out: Path) -> Path:
    """Write the authors' data of a figure as CSV: rows as they are, or a row for each step of a curve."""
    if isinstance(data, dict):
        steps = [_steps(column, curve) for column, curve in data.items()]
        data = pl.concat(steps)
    elif "Time" in data.columns and data.schema["Time"] == pl.Datetime:
        data = data.with_columns(pl.col("Time").dt.strftime("%Y-%m-%d"))
    return _write(data, out, f"{figure.name}-authors")


def _steps(column: str, curve: Distribution) -> pl.DataFrame:
    return pl.DataFrame({"curve": column, "value": curve.values, "cumulative": curve.cumulative})


def _write(rows: pl.DataFrame, out: Path, name: str) -> Path:
    path = out / f"{name}.csv"
    save_rows(rows, path)
    return path
