"""``originset crawl``: visit a list of sites with headless Chromium."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Literal

import click

from originset.cli.output import note, progress
from originset.crawler.crawl import Plan, crawl
from originset.crawler.settings import CrawlSettings, ThirdPartyCookies, VisitSettings
from originset.crawler.site_list import read_site_list
from originset.data.capture import Visit
from originset.data.study import Study

_SHOWN_LINES = 5


@click.command()
@click.argument("sites")
@click.option("--jobs", type=click.IntRange(1, 256), help="Browsers at a time.  [default: half of the processors]")
@click.option("--timeout", type=click.FloatRange(1, 3600), default=30, show_default=True, help="Seconds for a page.")
@click.option(
    "--retries",
    type=click.IntRange(0, 10),
    default=1,
    show_default=True,
    help="More attempts after failures that may pass.",
)
@click.option("--vantage", default="default", show_default=True, help="Name of the place that this crawl runs from.")
@click.option(
    "--round", "round_number", type=click.IntRange(1), default=1, show_default=True, help="Number of the round."
)
@click.option("--repeat", "repeats", type=click.IntRange(1), default=1, show_default=True, help="Visits to each site.")
@click.option(
    "--third-party-cookies",
    type=click.Choice(["allowed", "blocked"]),
    default="allowed",
    show_default=True,
    help="Blocked, Chromium does not share connections across sites.",
)
@click.option("--only", type=click.Choice(["failed"]), help="Visit again only those that failed before.")
@click.pass_context
def command(
    ctx: click.Context,
    sites: str,
    *,
    jobs: int | None,
    timeout: float,
    retries: int,
    vantage: str,
    round_number: int,
    repeats: int,
    third_party_cookies: ThirdPartyCookies,
    only: Literal["failed"] | None,
) -> None:
    """Visit every site of a list, each in a fresh browser context; resumes by itself.

    SITES is a file, or - for standard input: one host, address or rank,host a line.

    A site that fails is a result and recorded. Ctrl-C ends in order; the same command then goes on.

    Example: originset --study S crawl sites.txt --jobs 4
    """
    study: Study = ctx.obj
    listed = read_site_list(sites)
    if listed.duplicates:
        lines = ", ".join(str(number) for number in listed.duplicates[:_SHOWN_LINES])
        more = "" if len(listed.duplicates) <= _SHOWN_LINES else ", ..."
        note(f"{listed.source}: {len(listed.duplicates)} repeated entries left out (line {lines}{more})")
    settings = CrawlSettings(
        visit=VisitSettings(timeout_s=timeout, third_party_cookies=third_party_cookies),
        retries=retries,
        vantage=vantage,
        round_number=round_number,
        repeats=repeats,
        only_failed=only == "failed",
    )
    if jobs is not None:
        settings = replace(settings, jobs=jobs)
    lock = threading.Lock()
    with progress() as display:
        task = display.add_task("crawl", total=None)

        def planned(plan: Plan) -> None:
            display.update(task, total=len(plan.pending))
            if plan.skipped:
                states = ", ".join(f"{count} {state}" for state, count in sorted(plan.skipped.items()))
                hint = "" if only or "failed" not in plan.skipped else "; --only failed visits those again"
                note(f"already in the study: {states}{hint}")

        def advance(_: Visit) -> None:
            with lock:
                display.advance(task)

        summary = crawl(study, listed, settings, advance, planned)
    made = ", ".join(f"{count} {status}" for status, count in sorted(summary.made.items())) or "nothing to do"
    note(f"crawl: {made}")
    if summary.left_over:
        note(f"crawl: {summary.left_over} visits left over; run the command again")
        ctx.exit(1)
