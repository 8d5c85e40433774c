"""``originset check``: a live server before it is trusted with other hosts' requests; pages by a budget."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click
import polars as pl

from originset.cli.budget import GITHUB, check_budget
from originset.cli.files import FILE
from originset.cli.finite_range import FiniteRange
from originset.cli.output import FORMATS, note, write_rows
from originset.cli.plan_source import read_plan
from originset.cli.writers.origin_set import choose
from originset.crawler.probe.server_findings import findings
from originset.crawler.probe.server_observation import DEADLINE_SECONDS, ProbeTarget, observe_server
from originset.crawler.probe.system_lookup import LOOKUP_SECONDS, addresses_of
from originset.data.errors import UsageError
from originset.data.host_names import address_and_port
from originset.data.studies.study import Study

_COLUMNS = {"finding": pl.String, "fails": pl.Boolean, "subject": pl.String, "detail": pl.String}


@click.command()
@click.argument("hars", nargs=-1, metavar="[HAR]...", type=FILE)
@click.option("--site", metavar="HOST", help="The site whose server is checked.")
@click.option("--connect", metavar="ADDRESS[:PORT]", help="The server's address; else what the name leads to.")
@click.option("--path", default="/", show_default=True, help="What is asked for of each host.")
@click.option(
    "--plan",
    "plan_path",
    type=FILE,
    metavar="FILE",
    help="The plan that was deployed: the set must be its set.",
)
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="PEM",
    help="Authorities to trust instead of the system's.",
)
@click.option(
    "--timeout",
    type=FiniteRange(1, 86_400),
    default=DEADLINE_SECONDS,
    show_default=True,
    help="Seconds for the whole check of a site, whatever its servers do.",
)
@click.option(
    "--budget",
    "budget_path",
    type=FILE,
    metavar="FILE.toml",
    help="What the pages of the HARs, or of the study without any, may cost.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice([*FORMATS, GITHUB]),
    default="table",
    show_default=True,
    help="How rows are written to stdout; github, for budgets: annotations of a workflow.",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    hars: tuple[Path, ...],
    site: str | None,
    connect: str | None,
    path: str,
    plan_path: Path | None,
    ca_file: str | None,
    timeout: float,
    budget_path: Path | None,
    output_format: str,
) -> None:
    """Check a live server (--site), or pages by a budget (--budget): for before a change, and for CI.

    With --site: the origins that the server announces, and whether it can answer for them. Asks it for each announced
    host, first and after another host's request, and each host's own server for the same; private addresses are not
    contacted unless the server's own is one. A line a finding; exit code 1 if one of them is a fault, 0 if none is.

    With --budget: a line for each page and each limit of [budget] and [[page]] (with site or url) in the file:
    connections, redundant_connections, missing_names, third_party_ases. Exit code 0 within, 1 over, 2 if what was
    recorded does not suffice to say so.

    Example: originset check --budget budget.toml page.har
    """
    if (site is None) == (budget_path is None):
        raise click.UsageError("Give either --site or --budget.")
    if budget_path is not None:
        study: Study = ctx.obj
        ctx.exit(check_budget(study, budget_path, hars, output_format))
    if hars or output_format == GITHUB:
        raise click.UsageError("HARs and --format github are for --budget.")
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise UsageError(f"--path {path!r} is no path", "it begins with / and has no spaces")
    began = time.monotonic()
    address, port = _place(site or "", connect, timeout)
    target = ProbeTarget(site or "", address, port, path, ca_file)
    ctx.exit(_check_site(target, plan_path, max(0.0, timeout - (time.monotonic() - began)), output_format))


def _check_site(target: ProbeTarget, plan_path: Path | None, timeout: float, output_format: str) -> int:
    planned = None
    if plan_path is not None:
        planned = choose(read_plan(plan_path), target.site)[0].origins
    seen = observe_server(target, timeout)
    found = findings(seen, planned)
    rows = [(one.code, not one.is_note, one.subject, one.detail) for one in found]
    write_rows(pl.DataFrame(rows, schema=_COLUMNS, orient="row"), output_format)
    faults = sum(not one.is_note for one in found)
    announced = f"{target.site} at {target.address} announces {len(seen.origins)} origins over HTTP/2"
    note(f"{announced}; {len(seen.hosts)} hosts were tried")
    note(f"{faults} faults" if faults else "no fault was found")
    return 1 if faults else 0


def _place(site: str, connect: str | None, timeout: float) -> tuple[str, int]:
    if connect is None:
        addresses = asyncio.run(addresses_of(site, min(timeout, LOOKUP_SECONDS)))
        if not addresses:
            raise UsageError(f"{site} has no address, or none was told in time", "name one with --connect")
        return addresses[0], 443
    place = address_and_port(connect, 443)
    if place is None:
        raise UsageError(f"{connect!r} is no address", "give ADDRESS, ADDRESS:PORT or [IPV6]:PORT")
    return place
