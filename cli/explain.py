"""``originset explain``: one HAR, why its connections were not shared, and whose it is to change that."""

from __future__ import annotations

import textwrap
from pathlib import Path

import click
import polars as pl

from originset.cli.files import write_text
from originset.cli.output import note
from originset.cli.scratch_study import study_of
from originset.cli.study_report import report_contents
from originset.queries.report.contents import Contents
from originset.queries.report.render import render

_MOST = 5
_WIDTH = 100


@click.command()
@click.argument(
    "har", metavar="FILE.har", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.html", help="Write the whole report too."
)
def command(har: Path, out: Path | None) -> None:
    """Say why a page's connections were not shared, what its owner can change, and what others would have to.

    Every sentence is true of the file, or says what the file lacks. Nothing is kept but the report.

    Example: originset explain page.har --out page.html
    """
    with study_of([har]) as study:
        made = report_contents(study, har.name, pages=100)
    click.echo("\n".join(_lines(made)))
    if out is not None:
        write_text(out, render(made))
        note(f"report: {out}")


def _lines(made: Contents) -> list[str]:
    lines = []
    for page in made.pages:
        facts = page.facts
        lines.append(_text(f"{facts['url'] or facts['site'] or facts['visit_id']}, recorded by {facts['recorder']}"))
    lines += _ladder(made.ladder)
    lines += [_text(f"{sentence}.") for sentence in made.rests_on]
    lines += ["", *_advice(made), *_undecided(made)]
    return lines


def _ladder(rows: pl.DataFrame) -> list[str]:
    lines = []
    for counts, total, rung, saved in (
        rows.filter(~pl.col("aside")).select("counts", "total", "rung", "saved_pct").iter_rows()
    ):
        if total is None:
            continue
        percent = "" if saved is None or rung == "measured" else f"  ({saved:.0f} % less)"
        lines.append(f"  {total:>5}  {counts}, {rung}{percent}")
    return lines


def _advice(made: Contents) -> list[str]:
    lines: list[str] = []
    own = made.advice.get("site", [])
    if own:
        lines.append("What the site's owner can change, by connections saved:")
        lines += [_item(f"({entry.connections}) {entry.fix}") for entry in own[:_MOST]]
    elif made.undecided.redundant:
        lines.append("Nothing was found that the site's owner could change alone.")
    for by, entries in made.advice.items():
        if by != "site":
            lines += ["", f"What {entries[0].who} would have to change:"]
            lines += [_item(f"({entry.connections}) {entry.fix}") for entry in entries[:_MOST]]
        if len(entries) > _MOST:
            lines.append(f"  and {len(entries) - _MOST} more, all of them in the report (--out)")
    return lines


def _undecided(made: Contents) -> list[str]:
    found, lines = made.undecided, []
    if not found.redundant:
        lines.append("No connection was found that an earlier one could have served.")
    if found.undecidable:
        lacking = ", ".join(f"{what} ({count})" for what, count in found.lacking)
        sentence = f"Of {found.undecidable} of {found.redundant} such connections this file does not say why: it lacks"
        lines += ["", _text(f"{sentence} {lacking}.")]
    if found.strangers:
        lines += [
            "",
            _text(f"{found.strangers} are on one network with an earlier one, but of other owners: let them be."),
        ]
    if found.unknown:
        lines += ["", _text(f"Of {found.unknown} no rule that is known here forbade sharing.")]
    return lines


def _text(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _item(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
