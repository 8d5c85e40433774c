"""``originset crawl``: visit a list of sites with headless browsers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import note
from originset.cli.crawl_display import Display
from originset.cli.crawl_options import crawl_options, settings_of
from originset.crawler.crawl.estimate import Estimate, estimate
from originset.crawler.crawl.pending_visits import CrawlPlan
from originset.crawler.crawl.site_list import read_exclusions, read_site_list
from originset.crawler.crawl_run import CrawlSummary, crawl
from originset.data.ledger.visit_counts import visit_counts
from originset.data.studies.study import Study

_SHOWN_LINES = 5


@click.command(cls=Command)
@click.argument("sites")
@crawl_options
@study_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    sites: str,
    *,
    column: str | None,
    skip_invalid: bool,
    output_format: Literal["none", "jsonl"],
    only: Literal["failed"] | None,
    exclude_from: Path | None,
    dry_run: bool,
    **options: Any,  # noqa: ANN401 - an option each
) -> None:
    """Visit every site of a list with headless browsers.

    SITES is a file, - for stdin, or tranco:ID[:N] (tranco:latest for the newest list). A line is a host, a URL, or rank
    and host with a comma between them.

    Each visit has a fresh browser context. A visit that fails is recorded as failed, which is a result. Ctrl-C ends the
    crawl in order; the same command then continues it.

    With --cluster, each worker makes as many visits at a time as it has resources named chrome:
    dask worker ADDRESS --nthreads 4 --resources "chrome=4" --local-directory FOLDER

    Without a network the crawl waits for it: a visit that failed meanwhile is made again, and no site fails for it.

    Exit codes: 0 done, 1 visits are left over, or more failed than --fail-above says.

    Example: originset --study S crawl sites.txt --jobs 4
    """
    study: Study = ctx.obj
    settings = settings_of(ctx, options)
    listed = read_site_list(sites, column, skip_invalid=skip_invalid)
    _note_lines(listed.source, "repeated entries", listed.duplicates)
    _note_lines(listed.source, "lines that are no sites", listed.invalid)
    settings = replace(
        settings,
        only_failed=only == "failed",
        excluded=frozenset() if exclude_from is None else read_exclusions(exclude_from),
    )
    if dry_run:
        _print_estimate(estimate(study, listed, settings))
        return
    with Display(lines=output_format == "jsonl") as display:
        plans: list[CrawlPlan] = []

        def planned(plan: CrawlPlan) -> None:
            plans.append(plan)
            display.begin(len(plan.pending))
            if settings.as_round:
                note(f"round {plan.round_number} of vantage {settings.vantage}")
            _note_plan(plan, only)

        summary = crawl(study, listed, settings, display.visited, planned, announce=display.announce)
    _note_summary(summary)
    for plan in plans:
        _note_round(study, settings.vantage, plan)
    if summary.left_over or summary.failing is not None:
        ctx.exit(1)
    note(f"next: originset --study {study.root} analyze")


def _note_summary(summary: CrawlSummary) -> None:
    made = ", ".join(f"{count} {status}" for status, count in sorted(summary.made.items())) or "nothing to do"
    note(f"crawl: {made}")
    for worker in summary.left_out:
        note(f"crawl: left out: {worker}")
    if summary.unnamed:
        note(
            f"crawl: {summary.unnamed} visits have connections of which is not known for which host they were opened: "
            "the browser's NetLog tells of them in words that this originset does not know; browser.features in "
            "study.json says which features it has on"
        )
    if summary.shortage is not None:
        note(f"crawl: stopped: {summary.shortage}")
    if summary.failing is not None:
        note(f"crawl: {summary.failing}; with --only failed they are visited again")
    if summary.left_over:
        note(f"crawl: {summary.left_over} visits left over; run the command again")


def _print_estimate(found: Estimate) -> None:
    visits = f"{found.visits:,} visits to make"
    if found.internal and found.visits:
        visits += f", and up to {found.visits * found.internal:,} of pages that they link to"
    click.echo(visits)
    click.echo(f"{_size(found.page_bytes)} a capture: {found.basis}")
    bound = "at most " if found.internal else ""
    click.echo(f"{bound}{_size(found.total_bytes)} for captures; {_size(found.free_bytes)} free on the study's disk")
    _note_left_out(found.skipped, found.excluded)


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def _note_lines(source: str, what: str, numbers: Sequence[int]) -> None:
    if numbers:
        lines = ", ".join(str(number) for number in numbers[:_SHOWN_LINES])
        more = "" if len(numbers) <= _SHOWN_LINES else ", ..."
        note(f"{source}: {len(numbers)} {what} left out (line {lines}{more})")


def _note_plan(plan: CrawlPlan, only: str | None) -> None:
    if plan.recovered:
        note(f"{plan.recovered} visits of a crawl that was killed were whole")
    _note_left_out(plan.skipped, plan.excluded, again="" if only else "; --only failed visits those again")


def _note_round(study: Study, vantage: str, plan: CrawlPlan) -> None:
    """After a crawl that went on with an earlier one: what its round holds in all."""
    if not plan.skipped:
        return
    states: Counter[str] = Counter()
    for found in visit_counts(study.ledger_path):
        if (found.vantage, found.round) == (vantage, plan.round_number):
            states[found.state] += found.visits
    in_all = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    note(f"crawl: in all, round {plan.round_number} of vantage {vantage}: {in_all}")


def _note_left_out(skipped: dict[str, int], excluded: int, again: str = "") -> None:
    if excluded:
        note(f"{excluded} sites do not want to be visited and are left out")
    if skipped:
        states = ", ".join(f"{count} {state}" for state, count in sorted(skipped.items()))
        note(f"already in the study: {states}{again if 'failed' in skipped else ''}")
