"""``originset crawl``: visit a list of sites with headless Chromium."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from originset.cli.crawl_display import Display
from originset.cli.files import FILE
from originset.cli.finite_range import FiniteRange
from originset.cli.output import note
from originset.crawler.crawl.estimate import Estimate, estimate
from originset.crawler.crawl.pending_visits import CrawlPlan
from originset.crawler.crawl.profiles import PROFILES
from originset.crawler.crawl.site_list import SiteList, read_exclusions, read_site_list
from originset.crawler.crawl_run import crawl
from originset.crawler.probe.resolver import parse_resolver
from originset.crawler.settings import (
    BrowserName,
    Cluster,
    Consent,
    CrawlSettings,
    Device,
    Family,
    ThirdPartyCookies,
    VisitSettings,
)
from originset.data.captures.capture_place import open_place
from originset.data.errors import UsageError
from originset.data.studies.study import Study

_SHOWN_LINES = 5
_FILE = click.Path(exists=True, dir_okay=False)
_CONTACT = re.compile(r"[\x21-\x27\x2a-\x7e]([\x20-\x27\x2a-\x7e]{0,198}[\x21-\x27\x2a-\x7e])?")


class _Shard(click.ParamType[tuple[int, int]]):
    name = "K/N"

    def convert(
        self,
        value: str | tuple[int, int],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", value, re.ASCII)
        if match is None or int(match[1]) > int(match[2]):
            self.fail(f"{value!r} is not K/N with K from 1 to N, such as 2/8", param, ctx)
        return int(match[1]), int(match[2])


def _contact(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None and _CONTACT.fullmatch(value) is None:
        raise click.BadParameter("up to 200 printable ASCII characters without parentheses")
    return value


def _address(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else str(ipaddress.ip_address(value))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command()
@click.argument("sites")
@click.option("--column", metavar="NAME", help="SITES is a CSV with a header; the sites stand in this column.")
@click.option(
    "--browser",
    type=click.Choice(["chromium", "headless-shell", "firefox"]),
    default="chromium",
    show_default=True,
    help="headless-shell takes about half of the CPU and no HTTPS records; Firefox names no connections.",
)
@click.option("--dry-run", is_flag=True, help="Say how many visits there would be and what room they take; make none.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Browsers at a time.  [default: half of the processors]")
@click.option("--timeout", type=FiniteRange(1, 3600), default=30, show_default=True, help="Seconds for a page.")
@click.option(
    "--retries",
    type=click.IntRange(0, 10),
    default=1,
    show_default=True,
    help="More attempts after failures that may pass.",
)
@click.option("--vantage", default="default", show_default=True, help="Name of the place that this crawl runs from.")
@click.option(
    "--vantage-address",
    "vantage_ip",
    callback=_address,
    metavar="ADDRESS",
    help="The address that this place is seen by; analyze finds its AS.",
)
@click.option(
    "--round", "round_number", type=click.IntRange(1), default=1, show_default=True, help="Number of the round."
)
@click.option("--repeat", "repeats", type=click.IntRange(1), default=1, show_default=True, help="Visits to each site.")
@click.option("--shard", type=_Shard(), default="1/1", help="The K-th of N parts of the list; a site is always in one.")
@click.option("--seed", type=click.IntRange(0, (1 << 63) - 1), help="What shuffles the order.  [default: the study's]")
@click.option(
    "--internal",
    type=click.IntRange(0, 1000),
    default=0,
    show_default=True,
    help="Links of each landing page.",
)
@click.option(
    "--profile", type=click.Choice(sorted(PROFILES)), help="Settings by one name; single options still overrule them."
)
@click.option(
    "--device", type=click.Choice(["desktop", "mobile"]), default="desktop", show_default=True, help="What to pass for."
)
@click.option(
    "--third-party-cookies",
    type=click.Choice(["allowed", "blocked"]),
    default="allowed",
    show_default=True,
    help="Blocked, Chromium does not share connections across sites.",
)
@click.option(
    "--family",
    type=click.Choice(["4", "6", "both"]),
    help="Keep browsers to IPv4 or to IPv6, or begin only where both are reached.",
)
@click.option(
    "--allow-private",
    is_flag=True,
    help="Let pages reach addresses that are not public, such as this machine's, and ask for names of its network.",
)
@click.option(
    "--consent",
    type=click.Choice(["leave", "accept"]),
    default="leave",
    show_default=True,
    help="What to do with consent banners that are known.",
)
@click.option(
    "--resolver",
    default="system",
    show_default=True,
    metavar="ADDRESS[:PORT]",
    help="Whom to ask for each page's names, beside the browser's own lookups; none for nobody.",
)
@click.option("--contact", metavar="TEXT", callback=_contact, help="Whom to ask, in the user agent: an address or URL.")
@click.option("--respect-robots", is_flag=True, help="Leave out what a site's robots.txt forbids.")
@click.option(
    "--exclude",
    type=FILE,
    help="List of hosts that do not want to be visited; their subdomains are left out too.",
)
@click.option("--per-address", type=FiniteRange(0.01, 6000), help="Most visits a minute to one address.")
@click.option("--per-as", type=FiniteRange(0.01, 60000), help="Most visits a minute to one AS.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Have the workers of a Dask scheduler make the visits: tls://HOST:PORT.",
)
@click.option("--tls-ca-file", type=_FILE, help="The cluster's own authority.  [default: of Dask's configuration]")
@click.option("--tls-cert", type=_FILE, help="Our certificate of that authority.  [default: as above]")
@click.option("--tls-key", type=_FILE, help="Its private key.  [default: as above]")
@click.option(
    "--captures",
    metavar="PLACE",
    help="Keep captures in a folder that all machines share, or s3://BUCKET/PREFIX.  [default: in the study]",
)
@click.option("--only", type=click.Choice(["failed"]), help="Visit again only those that failed before.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["none", "jsonl"]),
    default="none",
    show_default=True,
    help="jsonl: a line on stdout for every visit.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    sites: str,
    *,
    column: str | None,
    output_format: Literal["none", "jsonl"],
    only: Literal["failed"] | None,
    exclude: Path | None,
    dry_run: bool,
    **options: Any,  # noqa: ANN401 - an option each
) -> None:
    """Visit every site of a list, each in a fresh browser context; resumes by itself.

    SITES is a file, - for standard input, or tranco:ID[:N] (tranco:latest for the newest): one host, address or
    rank,host a line.

    A site that fails is a result and recorded. Ctrl-C ends in order; the same command then goes on.

    With --cluster, each worker makes as many visits at a time as it was started with:
    dask worker ADDRESS --nthreads 4 --resources "chrome=4"

    Example: originset --study S crawl sites.txt --jobs 4
    """
    study: Study = ctx.obj
    settings = _settings(ctx, options)
    listed = read_site_list(sites, column)
    _note_duplicates(listed)
    settings = replace(
        settings,
        only_failed=only == "failed",
        excluded=frozenset() if exclude is None else read_exclusions(exclude),
    )
    if dry_run:
        _print_estimate(estimate(study, listed, settings))
        return
    with Display(lines=output_format == "jsonl") as display:

        def planned(plan: CrawlPlan) -> None:
            display.begin(len(plan.pending))
            _note_plan(plan, only)

        summary = crawl(study, listed, settings, display.visited, planned)
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
    if summary.left_over:
        note(f"crawl: {summary.left_over} visits left over; run the command again")
        ctx.exit(1)


def _settings(ctx: click.Context, options: dict[str, Any]) -> CrawlSettings:
    """What the options say; a profile says what was not given by itself."""
    if (name := options["profile"]) is not None:
        given = {option for option in options if ctx.get_parameter_source(option) is not ParameterSource.DEFAULT}
        options |= {option: value for option, value in PROFILES[name].items() if option not in given}
    device: Device = options.pop("device")
    cookies: ThirdPartyCookies = options.pop("third_party_cookies")
    family: Family | None = options.pop("family")
    consent: Consent = options.pop("consent")
    browser: BrowserName = options.pop("browser")
    visit = VisitSettings(
        browser=browser,
        timeout_s=options.pop("timeout"),
        third_party_cookies=cookies,
        device=device,
        contact=options.pop("contact"),
        family=family,
        consent=consent,
        allow_private=options.pop("allow_private"),
    )
    if options["jobs"] is None:
        del options["jobs"]
    elif options["cluster"] is not None:
        raise UsageError("--jobs is for browsers of this machine", "say with --resources how many a worker has")
    tls: list[str | None] = [options.pop(f"tls_{name}") for name in ("ca_file", "cert", "key")]
    if options["cluster"] is not None:
        options["cluster"] = Cluster(options["cluster"], *tls)
    elif any(tls):
        raise UsageError("certificates are for a cluster", "name one with --cluster")
    if options["captures"] is not None:
        open_place(options["captures"])
    return CrawlSettings(visit=visit, resolver=parse_resolver(options.pop("resolver")), **options)


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


def _note_duplicates(listed: SiteList) -> None:
    if listed.duplicates:
        lines = ", ".join(str(number) for number in listed.duplicates[:_SHOWN_LINES])
        more = "" if len(listed.duplicates) <= _SHOWN_LINES else ", ..."
        note(f"{listed.source}: {len(listed.duplicates)} repeated entries left out (line {lines}{more})")


def _note_plan(plan: CrawlPlan, only: str | None) -> None:
    if plan.recovered:
        note(f"{plan.recovered} visits of a crawl that was killed were whole")
    _note_left_out(plan.skipped, plan.excluded, again="" if only else "; --only failed visits those again")


def _note_left_out(skipped: dict[str, int], excluded: int, again: str = "") -> None:
    if excluded:
        note(f"{excluded} sites do not want to be visited and are left out")
    if skipped:
        states = ", ".join(f"{count} {state}" for state, count in sorted(skipped.items()))
        note(f"already in the study: {states}{again if 'failed' in skipped else ''}")
