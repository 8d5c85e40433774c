"""``originset study figures``: the paper's figures and tables, from this study, the authors' data, or both."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import format_option, note, progress, write_rows
from originset.cli.common.selection import apply_selection, selection_options
from originset.cli.study.page_figure import draw_page
from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.queries.figures.all_figures import MEMORY, draw
from originset.queries.visit_selection import Selection


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="Write the figures to this folder, which is made if it does not exist.",
)
@click.option(
    "--paper",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The authors' data, drawn beside this study, or alone if there is no study.",
)
@click.option(
    "--page",
    metavar="PAGE",
    help="Also draw figure 2, the waterfall before and after, of this page: a visit_id, site or URL.",
)
@selection_options
@study_option
@format_option
@click.pass_obj
def command(
    study: Study, out: Path, paper: Path | None, page: str | None, *, selection: Selection, output_format: str
) -> None:
    """Draw the paper's figures and write its tables.

    Each figure is written as PDF, SVG, PNG and the CSV behind it. Prints the numbers in the figures; with --paper the
    authors' numbers, this study's, and the difference. Figures 7a, 7b, 8 and 9b come from a live experiment. The
    authors' data is the folder data of github.com/cloudflare/connection-coalescing-imc22.

    Example: originset --study S study figures --out figures --paper connection-coalescing-imc22/data
    """
    of_study = page is not None or not selection.is_default
    authors_only = paper is not None and not (of_study or study.database_path.exists() or study.manifest_path.exists())
    with nullcontext() if authors_only else open_database(study, MEMORY) as connection:
        if connection is not None:
            apply_selection(connection, selection)
        try:
            out.mkdir(parents=True, exist_ok=True)
            waterfall = [] if page is None or connection is None else draw_page(study, connection, page, out)
            with progress() as display:
                figures = draw(connection, out, paper, display)
        except OSError as error:
            raise UsageError(f"{out} cannot be written ({error.strerror})", "name another folder with --out") from error
    numbers = figures.numbers
    if authors_only:
        numbers = numbers.drop("ours", "difference")
    elif paper is None:
        numbers = numbers.drop("authors", "difference")
    write_rows(numbers, output_format)
    for reason in figures.remarks:
        note(reason)
    note(f"{len(waterfall) + len(figures.paths)} files in {out}")
