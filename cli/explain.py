"""``originset explain``: one HAR, why its connections were not shared, and whose it is to change that."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click
import polars as pl

from originset.cli.analyze import analyze
from originset.cli.files import write_text
from originset.cli.live import enrich, live_options, manners, remark
from originset.cli.output import note
from originset.cli.scratch_study import study_of
from originset.cli.study_report import report_contents
from originset.data.reference.snapshot import current
from originset.queries.report.contents import Advice, Contents
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
@click.option("--live", is_flag=True, help="Ask a resolver and the servers for what the file lacks; never by default.")
@live_options
def command(har: Path, out: Path | None, *, live: bool, resolver: str, rate: float, allow_private: bool) -> None:
    """Say why a page's connections were not shared, what its owner can change, and what others would have to.

    Every sentence is true of the file, or says what the file lacks. Nothing is kept but the report.

    Example: originset explain page.har --out page.html
    """
    with study_of([har]) as study:
        if live:
            remark(enrich(study, manners(resolver, rate, allow_private=allow_private)))
            analyze(study, current())
        made = report_contents(study, har.name, pages=100)
    click.echo("\n".join(_lines(made)))
    if out is not None:
        write_text(out, render(made))
        note(f"report: {out}")


def _lines(made: Contents) -> list[str]:
    lines = [_text(_page(page.facts)) for page in made.pages]
    lines += _ladder(made.ladder)
    lines += [_text(f"{sentence}.") for sentence in made.rests_on]
    if made.live.as_of is not None:
        found = f"{made.live.certificates} certificates and the answers for {made.live.names} names"
        moved = f"; {made.live.moved} hosts had moved to other addresses by then" if made.live.moved else ""
        lines += [_text(f"Not the file's: {found}, {made.live.as_of}{moved}.")]
    lines += ["", *_advice(made), *_undecided(made)]
    return lines


def _page(facts: dict[str, Any]) -> str:
    """Which page it is and what limits its recording."""
    limits = f" ({', '.join(facts['quality'])})" if facts["quality"] else ""
    failed = f"; it failed: {facts['error'] or 'unknown'}" if facts["status"] == "failed" else ""
    name = facts["url"] or facts["site"] or facts["visit_id"]
    return f"{name}, recorded by {facts['recorder'] or 'an unknown program'}{limits}{failed}"


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
        lines += [_item(entry, made) for entry in own[:_MOST]]
    elif made.undecided.redundant:
        lines.append("Nothing was found that the site's owner could change alone.")
    for by, entries in made.advice.items():
        if by != "site":
            lines += ["", f"What {entries[0].who} would have to change:"]
            lines += [_item(entry, made) for entry in entries[:_MOST]]
        if len(entries) > _MOST:
            lines.append(f"  and {len(entries) - _MOST} more, all of them in the report (--out)")
    return lines


def _undecided(made: Contents) -> list[str]:
    found, lines = made.undecided, []
    if found.without_connections:
        lines.append(
            _text(
                "This file does not tell which connection each request used, so that nothing can be said of"
                " connections that could have been shared."
            )
        )
    elif not found.redundant:
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


def _item(entry: Advice, made: Contents) -> str:
    said = f"({entry.connections}) {entry.fix}" + (f" ({made.live.as_of})" if entry.live else "")
    return textwrap.fill(said, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
