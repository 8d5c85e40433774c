"""``originset explain``: one HAR, why its connections were not shared, and whose it is to change that."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.files import write_text
from originset.cli.common.live import enrich, live_options, policy, remark
from originset.cli.common.output import note, say
from originset.cli.common.study_report import report_contents
from originset.cli.modelling.analysis import analyze
from originset.cli.modelling.scratch_study import study_of
from originset.data.reference.snapshot import current_reference
from originset.queries.report.backtest_sentences import page_sentence
from originset.queries.report.cause_sentences import recorded
from originset.queries.report.report_advice import Advice
from originset.queries.report.report_contents import Contents
from originset.queries.report.report_page import render
from originset.queries.report.shown_text import counted, less_or_more
from originset.queries.report.undecided_sharing import found_nothing, not_advised, not_counted

_MOST = 5
_WIDTH = 100


@click.command(cls=Command)
@click.argument(
    "har", metavar="FILE.har", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Also write a report as one HTML file.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Contact a resolver and servers for what the file lacks. Without it nothing is contacted.",
)
@live_options
def command(
    har: Path, out: Path | None, *, live: bool, resolver: str, rate: float, max_time: float, allow_private: bool
) -> None:
    """Explain a HAR file: why connections were not shared.

    For each redundant connection: why it was opened, and what the site's owner or others can change. Every statement
    follows from the file, or says what the file lacks. FILE.har may be - for stdin.

    With --live, each statement that rests on a live answer states when it was obtained.

    Example: originset explain page.har --out page.html
    """
    with study_of([har]) as study:
        if live:
            remark(enrich(study, policy(resolver, rate, allow_private=allow_private), max_time))
            analyze(study, current_reference())
        made = report_contents(study, har.name, pages=100)
    say("\n".join(_lines(made)))
    if out is not None:
        write_text(out, render(made))
        note(f"report: {out}")


def _lines(made: Contents) -> list[str]:
    lines = [
        _text(sentence)
        for page in made.pages
        for sentence in (_page(page.facts), page_sentence(page.facts))
        if sentence is not None
    ]
    for name, rungs in made.ladders:
        lines += [name] if name else []
        lines += _ladder(rungs)
    lines += [_text(f"{sentence}.") for sentence in made.rests_on]
    if made.live.as_of is not None:
        found = (
            f"{counted(made.live.certificates, 'certificate')} and the answers for {counted(made.live.names, 'name')}"
        )
        moved = f"; {counted(made.live.moved, 'host')} had moved to other addresses by then" if made.live.moved else ""
        lines += [_text(f"Not the file's: {found}, {made.live.as_of}{moved}.")]
    live = made.live.as_of is not None
    paragraphs = [*found_nothing(made.undecided), *not_advised(made.undecided, asked_live=live)]
    for paragraph in (_advice(made), *([_text(sentence)] for sentence in (*paragraphs, *not_counted(made.undecided)))):
        lines += ["", *paragraph] if paragraph else []
    return [line for number, line in enumerate(lines) if line or lines[number - 1]]


def _page(facts: dict[str, Any]) -> str:
    """Which page it is and what limits its recording."""
    failed = f"; it failed: {facts['error'] or 'unknown'}" if facts["status"] == "failed" else ""
    name = facts["url"] or facts["site"] or facts["visit_id"]
    return f"{name}, {recorded(facts)}{failed}"


def _ladder(rows: pl.DataFrame) -> list[str]:
    lines = []
    for counts, total, rung, saved in (
        rows.filter(~pl.col("aside")).select("counts", "total", "rung", "saved_pct").iter_rows()
    ):
        if total is None:
            continue
        percent = "" if saved is None or rung == "measured" else f"  ({less_or_more(saved)})"
        lines.append(f"  {total:>5g}  {counts}, {rung}{percent}")
    return lines


def _advice(made: Contents) -> list[str]:
    lines: list[str] = []
    found, own = made.undecided, made.advice.get("site", [])
    if found.redundant:
        said = (
            f"{counted(found.redundant, 'connection')} had an earlier one on the same network, at the same address, or"
            " with a certificate that covers the host."
        )
        said += " The number before a change: of how many it removes the first obstacle." if made.advice else ""
        lines += [_text(said), ""]
    if own:
        lines.append("What the site's owner can change:")
        lines += [_item(entry, made) for entry in own[:_MOST]]
    elif found.redundant > found.undecidable:
        lines.append("Nothing was found that the site's owner could change alone.")
    for by, entries in made.advice.items():
        if by != "site":
            lines += ["", f"What {entries[0].who} would have to change:"]
            lines += [_item(entry, made) for entry in entries[:_MOST]]
        if len(entries) > _MOST:
            lines.append(f"  and {len(entries) - _MOST} more, all of them in the report (--out)")
    unsure = sum(entry.unsure for entries in made.advice.values() for entry in entries)
    if unsure:
        lines += ["", _text(f"Of {unsure:,} of these the file leaves open whether more stands in the way.")]
    return lines


def _text(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _item(entry: Advice, made: Contents) -> str:
    said = f"({entry.connections}) {entry.fix}"
    if entry.more:
        said += f"; {entry.more} of them need{'s' if entry.more == 1 else ''} more than that"
    said += f" ({made.live.as_of})" if entry.live else ""
    return textwrap.fill(said, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
