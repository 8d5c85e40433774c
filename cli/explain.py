"""``originset explain``: why the connections of one HAR were not shared, and who can change that."""

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
from originset.queries.report.range_sentences import range_sentence
from originset.queries.report.report_advice import Advice
from originset.queries.report.report_contents import Contents
from originset.queries.report.report_page import render
from originset.queries.report.shown_text import counted, less_or_more
from originset.queries.report.undecided_sharing import without_advice, without_counts, without_findings

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

    With --live, each statement that is based on a live answer says when it was obtained.

    Example: originset explain page.har --out page.html
    """
    with study_of([har]) as study:
        if live:
            remark(enrich(study, policy(resolver, rate, allow_private=allow_private), max_time))
            analyze(study, current_reference())
        contents = report_contents(study, har.name, pages=100)
    say("\n".join(_lines(contents)))
    if out is not None:
        write_text(out, render(contents))
        note(f"report: {out}")


def _lines(contents: Contents) -> list[str]:
    lines = [
        _text(sentence)
        for page in contents.pages
        for sentence in (_page(page.facts), range_sentence(page.facts), page_sentence(page.facts))
        if sentence is not None
    ]
    for name, rungs in contents.ladders:
        lines += [name] if name else []
        lines += _ladder(rungs)
    lines += [_text(f"{sentence}.") for sentence in contents.rests_on]
    if contents.live.as_of is not None:
        answers = (
            f"{counted(contents.live.certificates, 'certificate')} and the DNS answers for "
            f"{counted(contents.live.names, 'name')}"
        )
        moved = (
            f"; {counted(contents.live.moved, 'host')} had moved to other addresses by then"
            if contents.live.moved
            else ""
        )
        lines += [_text(f"Obtained live, not from the file: {answers}, {contents.live.as_of}{moved}.")]
    live = contents.live.as_of is not None
    sentences = [
        *without_findings(contents.undecided),
        *without_advice(contents.undecided, asked_live=live),
        *without_counts(contents.undecided),
    ]
    for paragraph in (_advice(contents), *([_text(sentence)] for sentence in sentences)):
        lines += ["", *paragraph] if paragraph else []
    return [line for number, line in enumerate(lines) if line or lines[number - 1]]


def _page(facts: dict[str, Any]) -> str:
    """The page's URL, how it was recorded, and the limits of the recording."""
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


def _advice(contents: Contents) -> list[str]:
    lines: list[str] = []
    undecided, own = contents.undecided, contents.advice.get("site", [])
    if undecided.redundant:
        summary = (
            f"{counted(undecided.redundant, 'connection')} had an earlier connection on the same network, at the same "
            "address, or with a certificate that covers the host."
        )
        if contents.advice:
            summary += " The number before a change is the number of connections whose first obstacle it removes."
        lines += [_text(summary), ""]
    if own:
        lines.append("What the site's owner can change:")
        lines += [_item(entry, contents) for entry in own[:_MOST]]
    elif undecided.redundant > undecided.undecidable:
        lines.append("The site's owner alone can change nothing.")
    for by, entries in contents.advice.items():
        if by != "site":
            lines += ["", f"What {entries[0].who} would have to change:"]
            lines += [_item(entry, contents) for entry in entries[:_MOST]]
        if len(entries) > _MOST:
            lines.append(f"  and {len(entries) - _MOST} more, all of them in the report (--out)")
    unsure = sum(entry.unsure for entries in contents.advice.values() for entry in entries)
    if unsure:
        lines += ["", _text(f"For {unsure:,} of these the file does not show whether there are other obstacles too.")]
    return lines


def _text(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _item(entry: Advice, contents: Contents) -> str:
    text = f"({entry.connections}) {entry.fix}"
    if entry.more:
        text += f"; {entry.more} of them need{'s' if entry.more == 1 else ''} more than that"
    text += f" ({contents.live.as_of})" if entry.live else ""
    return textwrap.fill(text, _WIDTH, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False)
