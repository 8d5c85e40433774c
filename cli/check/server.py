"""``originset check server``: a live server, before it is trusted with other hosts' requests."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click
import polars as pl

from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE
from originset.cli.common.finite_range import FiniteRange
from originset.cli.common.output import format_option, note, write_rows
from originset.cli.writers.origin_set import choose
from originset.crawler.probe.server_findings import findings
from originset.crawler.probe.server_observation import DEADLINE_SECONDS, ProbeTarget, observe_server
from originset.crawler.probe.system_lookup import LOOKUP_SECONDS, addresses_of
from originset.data.errors import UsageError
from originset.data.host_names import address_and_port
from originset.models.plans.plan_file import read_plan

_COLUMNS = {"finding": pl.String, "fails": pl.Boolean, "subject": pl.String, "detail": pl.String}


@click.command(cls=Command)
@click.argument("site", metavar="HOST")
@click.option(
    "--connect",
    metavar="ADDRESS[:PORT]",
    help="Connect to this IP address.  [default: the first that DNS has for HOST, port 443]",
)
@click.option("--path", default="/", show_default=True, help="The path to request of each host.")
@click.option(
    "--plan",
    "plan_path",
    type=FILE,
    metavar="FILE",
    help="The plan: a file that plan site --out wrote. The server must announce its ORIGIN set.",
)
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="PEM",
    help="CA certificates to trust instead of the system's.",
)
@click.option(
    "--max-time",
    type=FiniteRange(1, 86_400),
    default=DEADLINE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Time for all contacts with servers and resolvers together.",
)
@format_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    site: str,
    connect: str | None,
    path: str,
    plan_path: Path | None,
    ca_file: str | None,
    max_time: float,
    output_format: str,
) -> None:
    """Check which origins a live server announces, and if it may.

    Connects to HOST's server, reads its ORIGIN frame, and requests the path of each announced host from it, on the
    first connection and on one that was opened for another host. Requests the same of each host's own server. Private
    addresses are contacted only if the server's own address is private.

    A row is a finding. Exit codes: 0 no fault found, 1 a fault found, 2 wrong usage.

    Example: originset check server www.example.com --connect 192.0.2.10
    """
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise UsageError(f"--path {path!r} is no path", "it begins with / and has no spaces")
    began = time.monotonic()
    address, port = _place(site, connect, max_time)
    target = ProbeTarget(site, address, port, path, ca_file)
    ctx.exit(_check(target, plan_path, max(0.0, max_time - (time.monotonic() - began)), output_format))


def _check(target: ProbeTarget, plan_path: Path | None, timeout: float, output_format: str) -> int:
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
            raise UsageError(f"{site} has no IP address, or DNS did not answer in time", "name one with --connect")
        return addresses[0], 443
    place = address_and_port(connect, 443)
    if place is None:
        raise UsageError(f"{connect!r} is no address", "give ADDRESS, ADDRESS:PORT or [IPV6]:PORT")
    return place
