"""``originset report``: a study as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.files import write_text
from originset.cli.output import note
from originset.cli.selection import selection_options
from originset.cli.study_report import report_contents
from originset.data.studies.study import Study
from originset.queries.report.report_page import render
from originset.queries.visit_selection import Selection


@click.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file.",
)
@click.option("--pages", type=click.IntRange(min=1), default=100, show_default=True, help="Pages shown one by one.")
@selection_options
@click.pass_obj
def command(study: Study, out: Path, pages: int, *, selection: Selection) -> None:
    """Write a study as one self-contained HTML file: savings, what to change and for whom, every connection's reason.

    It needs no network and no other file. Pages with most to save come first; totals are over all of them.

    Example: originset --study S report --out report.html
    """
    text = render(report_contents(study, study.root.resolve().name, pages, selection))
    write_text(out, text)
    note(f"report: {out} ({len(text.encode()) / 1e6:.1f} MB)")
