"""``originset study report``: a study as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import write_text
from originset.cli.common.output import note
from originset.cli.common.selection import selection_options
from originset.cli.common.study_report import report_contents
from originset.data.studies.study import Study
from originset.queries.report.report_page import render
from originset.queries.visit_selection import Selection


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="Write the report to this file.",
)
@click.option(
    "--pages", type=click.IntRange(min=1), default=100, show_default=True, help="Number of pages shown one by one."
)
@selection_options
@study_option
@click.pass_obj
def command(study: Study, out: Path, pages: int, *, selection: Selection) -> None:
    """Write a study as one self-contained HTML file.

    Savings, what to change and for whom, and the cause of every redundant connection. The file needs no network and no
    other file. Pages with the largest savings come first; totals are over all pages.

    Example: originset --study S study report --out report.html
    """
    text = render(report_contents(study, study.root.resolve().name, pages, selection))
    write_text(out, text)
    note(f"report: {out} ({len(text.encode()) / 1e6:.1f} MB)")
