"""The options of ``crawl``, and the settings that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from originset.cli.common.files import FILE
from originset.cli.common.finite_range import FiniteRange
from originset.cli.crawl_parameters import KnownGood, Shard, contact, vantage_address
from originset.crawler.crawl.profiles import PROFILES
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

_FILE = click.Path(exists=True, dir_okay=False)


_OPTIONS = (
    click.option("--column", metavar="NAME", help="SITES is a CSV file with a header; the sites are in this column."),
    click.option("--skip-invalid", is_flag=True, help="Leave out lines of SITES that are no sites, and say which."),
    click.option(
        "--dry-run", is_flag=True, help="Print how many visits there would be and their size on disk; visit nothing."
    ),
    click.option(
        "--browser",
        type=click.Choice(["chromium", "headless-shell", "firefox"]),
        default="chromium",
        show_default=True,
        help="The browser. headless-shell takes half the CPU time and records no HTTPS records; firefox records no "
        "connections.",
    ),
    click.option(
        "--jobs", type=click.IntRange(1, 256), help="Number of browsers.  [default: half the number of processors]"
    ),
    click.option(
        "--timeout",
        type=FiniteRange(1, 3600),
        default=30,
        show_default=True,
        metavar="SECONDS",
        help="Time for a page to load.",
    ),
    click.option(
        "--retries",
        type=click.IntRange(0, 10),
        default=1,
        show_default=True,
        help="Further attempts after a failure that may be temporary.",
    ),
    click.option("--vantage", metavar="NAME", default="default", show_default=True, help="Name of this vantage point."),
    click.option(
        "--vantage-address",
        "vantage_ip",
        callback=vantage_address,
        metavar="ADDRESS",
        help="Public IP address of this vantage point. analyze finds its AS.",
    ),
    click.option(
        "--round", "round_number", type=click.IntRange(1), default=1, show_default=True, help="Number of this round."
    ),
    click.option(
        "--as-round",
        is_flag=True,
        help="Go on with this vantage's round that has the same browser and settings, or begin the next one.",
    ),
    click.option(
        "--repeat",
        "repeats",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Visits to each site in this round.",
    ),
    click.option(
        "--shard",
        type=Shard(),
        default="1/1",
        help="Visit the K-th of N parts of the list. A site is always in one part.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, (1 << 63) - 1),
        help="The seed of the random order of visits.  [default: the study's]",
    ),
    click.option(
        "--internal",
        type=click.IntRange(0, 1000),
        default=0,
        show_default=True,
        metavar="N",
        help="Internal pages per site: up to N pages that the landing page links to.",
    ),
    click.option(
        "--profile",
        type=click.Choice(sorted(PROFILES)),
        help="Settings under one name. Options that are given take precedence.",
    ),
    click.option(
        "--profile-per-visit",
        is_flag=True,
        help="Make each visit with a Chromium of its own, which then also does what pages hint at (preconnect, "
        "dns-prefetch). Takes several times as long; to calibrate.",
    ),
    click.option(
        "--device",
        type=click.Choice(["desktop", "mobile"]),
        default="desktop",
        show_default=True,
        help="The device to emulate.",
    ),
    click.option(
        "--third-party-cookies",
        type=click.Choice(["allowed", "blocked"]),
        default="allowed",
        show_default=True,
        help="If blocked, Chromium does not share connections across sites.",
    ),
    click.option(
        "--family",
        type=click.Choice(["4", "6", "both"]),
        help="Use IPv4 only, or IPv6 only; both: start only if both are reachable.",
    ),
    click.option(
        "--allow-private",
        is_flag=True,
        help="Also contact IP addresses that are not public, such as this machine's, and names of local networks.",
    ),
    click.option(
        "--consent",
        type=click.Choice(["leave", "accept"]),
        default="leave",
        show_default=True,
        help="Whether to accept known consent banners.",
    ),
    click.option(
        "--resolver",
        default="system",
        show_default=True,
        metavar="ADDRESS[:PORT]",
        help="The DNS resolver to query for each page's names, besides the browser's own lookups: its IP address, "
        "system (the "
        "first of /etc/resolv.conf), or none.",
    ),
    click.option(
        "--contact",
        metavar="TEXT",
        callback=contact,
        help="The operator's contact in the user agent: an e-mail address or URL.",
    ),
    click.option(
        "--known-good",
        type=KnownGood(),
        multiple=True,
        help="A server that answers whenever there is a network, to tell an outage from a failed site. Can be repeated."
        "  [default: the sites that loaded last]",
    ),
    click.option(
        "--fail-above",
        type=FiniteRange(0, 100),
        metavar="PERCENT",
        help="Stop once more than so many of the visits have failed, from the 20th visit on; exit code 1.",
    ),
    click.option("--respect-robots", is_flag=True, help="Do not visit what a site's robots.txt disallows."),
    click.option(
        "--exclude-from",
        type=FILE,
        help="Do not visit the hosts in this file, one per line, and their subdomains.",
    ),
    click.option(
        "--per-address", type=FiniteRange(0.01, 6000), metavar="N", help="At most N visits a minute to one IP address."
    ),
    click.option("--per-as", type=FiniteRange(0.01, 60000), metavar="N", help="At most N visits a minute to one AS."),
    click.option(
        "--cluster", metavar="ADDRESS", help="Run browsers on the workers of this Dask scheduler, tls://HOST:PORT."
    ),
    click.option(
        "--tls-ca-file", type=_FILE, help="The cluster's CA certificate.  [default: from Dask's configuration]"
    ),
    click.option(
        "--tls-cert", type=_FILE, help="The client certificate for the cluster.  [default: from Dask's configuration]"
    ),
    click.option(
        "--tls-key", type=_FILE, help="The client certificate's private key.  [default: from Dask's configuration]"
    ),
    click.option(
        "--captures",
        metavar="PLACE",
        help="Keep captures there: a folder that all machines share, or s3://BUCKET/PREFIX.  [default: in the study]",
    ),
    click.option("--only", type=click.Choice(["failed"]), help="Visit again only the pages that failed before."),
    click.option(
        "--format",
        "output_format",
        type=click.Choice(["none", "jsonl"]),
        default="none",
        show_default=True,
        help="Format of the rows on stdout, one per visit.",
    ),
)


def crawl_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a crawl."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(ctx: click.Context, options: dict[str, Any]) -> CrawlSettings:
    """The settings by the options; a profile sets those that were not given."""
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
        profile_per_visit=options.pop("profile_per_visit"),
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
    if options["as_round"] and ctx.get_parameter_source("round_number") is not ParameterSource.DEFAULT:
        raise UsageError("--round and --as-round both say which round it is", "leave one of them out")
    if options["captures"] is not None:
        open_place(options["captures"])
    return CrawlSettings(visit=visit, resolver=parse_resolver(options.pop("resolver")), **options)
