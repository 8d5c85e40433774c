"""``originset explain``: why the connections of recorded pages were not shared, and who can change that."""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import click
import msgspec
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.files import write_text
from originset.cli.common.live import enrich, handshake_problems, live_options, policy, remark
from originset.cli.common.output import note, say
from originset.cli.common.study_report import report_contents
from originset.cli.modelling.analysis import analyze
from originset.cli.modelling.as_browser import rules_of_browser, with_needs_in_browser
from originset.cli.modelling.scratch_study import study_of
from originset.data.errors import InputError
from originset.data.quantity import quantity
from originset.data.reference.browser_rules import BrowserRules
from originset.data.reference.snapshot import current_reference
from originset.data.sanitising.printable import path_text, printable_json
from originset.queries.report.backtest_sentences import page_sentence
from originset.queries.report.cause_sentences import recorded, remaining
from originset.queries.report.explanation import explanation
from originset.queries.report.printable_text import less_or_more
from originset.queries.report.range_sentences import range_sentence
from originset.queries.report.report_advice import Advice
from originset.queries.report.report_contents import Contents, Page
from originset.queries.report.report_page import render
from originset.queries.report.rules_sentences import as_browser_sentence, rules_sentence
from originset.queries.report.undecided_sharing import without_advice, without_counts, without_findings

_MOST = 5
_MOST_PAGES = 100
_WIDTH = 100


@click.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True, path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Also write a report as one HTML file.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the answer on stdout; docs/json-schema.json is JSON's schema.",
)
@click.option(
    "--as-browser",
    "as_rules",
    metavar="BROWSER[@VERSION]",
    callback=rules_of_browser,
    help="Also say what each page would have needed in this browser, such as chromium@88 or firefox.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Contact a resolver and servers for what the file lacks. Without it nothing is contacted.",
)
@live_options
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[Path, ...],
    out: Path | None,
    *,
    output_format: str,
    as_rules: BrowserRules | None,
    live: bool,
    resolver: str,
    rate: float,
    max_time: float,
    ca_file: Path | None,
    allow_private: bool,
) -> None:
    """Explain recorded pages: why connections were not shared.

    FILES are HARs, NetLogs of chrome://net-export or --log-net-log, folders, patterns, or - for stdin. Of several the
    answer is over all, and then for each page. For each redundant connection: why it was opened, and what the site's
    owner or others can change. Every statement follows from the files, or says what they lack.

    Exit codes: 0 all files were read, 1 some were refused, 2 none can be read.

    Connections are explained by the rules of the recorded browser's version, or of the nearest that was observed.

    With --live, each statement that is based on a live answer says when it was obtained.

    Example: originset explain page.har --out page.html
    """
    refused: list[InputError] = []
    with study_of(files, refused) as study:
        if live:
            how = policy(resolver, rate, allow_private=allow_private, ca_file=ca_file)
            remark(enrich(study, how, max_time), handshake_problems(study))
            analyze(study, current_reference())
        title = path_text(Path(files[0].name)) if len(files) == 1 else f"{len(files)} recordings"
        contents = report_contents(study, title, pages=_MOST_PAGES)
        if as_rules is not None:
            contents = with_needs_in_browser(study, contents, as_rules)
    if output_format == "json":
        click.echo(printable_json(msgspec.json.encode(explanation(contents)).decode()))
    else:
        say("\n".join(_lines(contents)))
    if out is not None:
        write_text(out, render(contents))
        note(f"report: {out}")
    ctx.exit(1 if refused else 0)


def _lines(contents: Contents) -> list[str]:
    lines = _page_sentences(contents.pages[0]) if len(contents.pages) == 1 else [_all_pages(contents)]
    for name, rungs in contents.ladders:
        lines += [name] if name else []
        lines += _ladder(rungs)
    lines += [_text(f"{sentence}.") for sentence in contents.rests_on]
    if contents.live.as_of is not None:
        answers = (
            f"{quantity(contents.live.certificates, 'certificate')} and the DNS answers for "
            f"{quantity(contents.live.names, 'name')}"
        )
        moved = (
            f"; {quantity(contents.live.moved, 'host')} had moved to other addresses by then"
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
    for page in contents.pages if len(contents.pages) > 1 else ():
        lines += ["", *_page_sentences(page), _text(f"{remaining(page.facts)}."), *_page_changes(page)]
    return [line for number, line in enumerate(lines) if line or lines[number - 1]]


def _all_pages(contents: Contents) -> str:
    recordings = quantity(contents.facts["visits"], "page load")
    shown_pages = len(contents.pages)
    rest = f", of which {shown_pages} follow one by one" if shown_pages < contents.all_pages else ""
    return _text(f"{recordings} of {quantity(contents.facts['sites'], 'site')} together{rest}:")


def _page_sentences(page: Page) -> list[str]:
    facts, asked = page.facts, page.as_browser
    in_browser = None if asked is None else as_browser_sentence(asked)
    sentences = (_page(facts), rules_sentence(facts), range_sentence(facts), page_sentence(facts), in_browser)
    return [_text(sentence) for sentence in sentences if sentence is not None]


def _page_changes(page: Page) -> list[str]:
    """What would help a page: the changes that most of its connections wait for."""
    changes = Counter(f"{entry['fix']} ({entry['who']})" for entry in page.connections if entry["fix"] is not None)
    lines = [
        textwrap.fill(f"({number}) {change}", _WIDTH, initial_indent="  - ", subsequent_indent="    ")
        for change, number in changes.most_common(_MOST)
    ]
    return lines if len(changes) <= _MOST else [*lines, f"  and {len(changes) - _MOST} more (--format json)"]


def _page(facts: dict[str, Any]) -> str:
    """The page's URL, how it was recorded, and the limits of the recording."""
    failed = f"; it failed: {facts['error'] or 'unknown'}" if facts["status"] == "failed" else ""
    name = facts["url"] or facts["site"] or facts["visit_id"]
    return f"{name}, {recorded(facts)}{failed}"


def _ladder(rows: pl.DataFrame) -> list[str]:
    lines = []
    for counts, total, rung, saved in (
        rows.filter(~pl.col("comparison_only")).select("counts", "total", "rung", "saved_pct").iter_rows()
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
            f"{quantity(undecided.redundant, 'connection')} had an earlier connection on the same network, at the same "
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
