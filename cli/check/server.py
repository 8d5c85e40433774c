"""``originset check server``: live servers, before they are trusted with other hosts' requests."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import get_args

import click
import polars as pl

from originset.cli.check.server_expectation import ServerExpectation, Step, by_plan, by_ring
from originset.cli.check.server_report import CHECKED, SERVER_FORMATS, Row, write_checked
from originset.cli.common.command_tree import Command
from originset.cli.common.contact_options import ca_file_option, max_time_option
from originset.cli.common.files import FILE
from originset.cli.common.output import note
from originset.cli.common.ring_options import inventory_option, ring_option
from originset.crawler.probe.many_servers import observe_servers
from originset.crawler.probe.server_facts import facts
from originset.crawler.probe.server_observation import (
    DEADLINE_SECONDS,
    ProbeTarget,
    ServerObservation,
)
from originset.crawler.probe.system_lookup import LOOKUP_SECONDS, addresses_of
from originset.data.errors import ProbeError, UsageError
from originset.data.host_names import address_and_port
from originset.data.quantity import quantity
from originset.models.plans.inventory.ring_changes import ring_changes
from originset.models.plans.plan_file import read_plan

_NO_FAULT, _FAULT, _NOT_ASKED = 0, 1, 3

_HTTPS = 443


@click.command(cls=Command)
@click.argument("sites", metavar="[HOST]...", nargs=-1)
@click.option(
    "--connect",
    multiple=True,
    metavar="ADDRESS[:PORT]",
    help="Connect to this IP address. Can be repeated: each HOST is checked at each address.  [default: the first that "
    "DNS has for HOST, port 443]",
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
    "--rollout",
    type=FILE,
    metavar="FILE",
    help="Check hosts of a ring, instead of those named: a file that plan inventory --rollout wrote.",
)
@inventory_option
@ring_option
@click.option(
    "--step",
    type=click.Choice(get_args(Step)),
    default="origin",
    show_default=True,
    help="With --rollout: how far the ring is. today: none of its names is announced; certificates: they also cover "
    "its names; origin: its experiment group announces them.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="With --rollout: check at most N hosts of either group.",
)
@click.option(
    "--expect",
    type=click.Choice(["set", "none"]),
    default="set",
    show_default=True,
    help="Whether the server is to send an ORIGIN set; none: before a deployment, or after it was taken back.",
)
@ca_file_option
@max_time_option(DEADLINE_SECONDS)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(SERVER_FORMATS),
    default="table",
    show_default=True,
    help="Format of the rows on stdout; junit: XML for a CI's list of tests; sarif: SARIF 2.1.0; github: annotations "
    "of a GitHub workflow.",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    sites: tuple[str, ...],
    connect: tuple[str, ...],
    path: str,
    plan_path: Path | None,
    rollout: Path | None,
    inventory: Path | None,
    ring: int | None,
    step: Step,
    sample: int,
    expect: str,
    ca_file: Path | None,
    max_time: float,
    output_format: str,
) -> None:
    """Check which origins live servers announce, and if they may.

    Connects to each HOST's server, reads its ORIGIN frame, and requests the path of each announced host from it, on the
    first connection and on one that was opened for another host. Requests the same of each host's own server. Private
    addresses are contacted only if the server's own address is private.

    With --rollout, the hosts are drawn from a ring. That its certificates cover the names that it adds, and who
    announces them, is checked too.

    A row is a test: what was seen, a note, a fault, or failed where the server could not be asked. Exit codes: 0 no
    fault found, 1 a fault found, 2 wrong usage, 3 no fault found and a server could not be asked.

    Example: originset check server www.example.com --connect 192.0.2.10
    """
    if not path.startswith("/") or not path.isascii() or not path.isprintable() or " " in path:
        raise UsageError(f"--path {path!r} is no path", "it begins with / and has no spaces")
    if expect == "none" and plan_path is not None:
        raise UsageError("--expect none and --plan contradict each other", "leave one of them out")
    if rollout is None:
        if not sites or ring is not None or inventory is not None:
            raise click.UsageError("Name a HOST, or a ring by --rollout, --inventory and --ring.")
        plan = None if plan_path is None else read_plan(plan_path)
        expected = {site: by_plan(plan, site, sends=expect == "set") for site in dict.fromkeys(sites)}
    elif inventory is None or ring is None or sites or plan_path is not None or expect == "none":
        raise click.UsageError("--rollout takes --inventory and --ring, and no HOST, --plan or --expect.")
    else:
        expected = by_ring(ring_changes(rollout, inventory, ring)[ring], step, sample)
    began = time.monotonic()
    places = _targets(tuple(expected), tuple(dict.fromkeys(connect)), max_time)
    targets = [ProbeTarget(site, *place, path, ca_file) for site, found in places for place in found]
    rows = [_unresolved(site) for site, found in places if not found]
    for target, seen in zip(
        targets, observe_servers(targets, max(0.0, max_time - (time.monotonic() - began))), strict=True
    ):
        rows += _checked_rows(target, seen, expected[target.site])
    ctx.exit(_report(pl.DataFrame(rows, schema=CHECKED, orient="row"), output_format))


def _report(rows: pl.DataFrame, output_format: str) -> int:
    """Write the rows and a summary; the exit code."""
    write_checked(rows, output_format)
    faults, failed = (rows.filter(result=result) for result in ("fault", "failed"))
    servers = rows.select("site", "address", "port").n_unique() - failed.height
    found = quantity(faults.height, "fault") if faults.height else "no fault found"
    note(f"{quantity(servers, 'server')} checked{f': {found}' if servers else ''}")
    for row in failed.iter_rows(named=True):
        where = "" if row["address"] is None else f" at {row['address']} port {row['port']}"
        note(f"not checked: {row['site']}{where}: {row['detail']}")
    return _FAULT if faults.height else _NOT_ASKED if failed.height else _NO_FAULT


def _checked_rows(target: ProbeTarget, seen: ServerObservation | ProbeError, expected: ServerExpectation) -> list[Row]:
    server = {"site": target.site, "address": target.address, "port": target.port}
    if isinstance(seen, ProbeError):
        return [{**server, "test": "connection", "result": "failed", "subject": target.site, "detail": seen.problem}]
    rows = [
        {**server, "test": one.test, "result": "seen", "subject": one.subject, "detail": one.detail}
        for one in facts(seen)
    ]
    for one in expected.findings(seen):
        result = "note" if one.is_note else "fault"
        rows.append({**server, "test": one.code, "result": result, "subject": one.subject, "detail": one.detail})
    return rows


def _unresolved(site: str) -> Row:
    detail = "has no IP address, or DNS did not answer in time; name one with --connect"
    return {"site": site, "test": "connection", "result": "failed", "subject": site, "detail": detail}


def _targets(
    sites: tuple[str, ...], connect: tuple[str, ...], timeout: float
) -> list[tuple[str, list[tuple[str, int]]]]:
    """Addresses and ports of each site: those given, or the first of DNS, if there is one.

    Raises:
        UsageError: one of those given is no address.
    """
    places = []
    for text in connect:
        place = address_and_port(text, _HTTPS)
        if place is None:
            raise UsageError(f"{text!r} is no address", "give ADDRESS, ADDRESS:PORT or [IPV6]:PORT")
        places.append(place)
    if places:
        return [(site, places) for site in sites]

    async def look_up() -> list[list[str]]:
        return await asyncio.gather(*(addresses_of(site, min(timeout, LOOKUP_SECONDS)) for site in sites))

    found = asyncio.run(look_up())
    return [(site, [(one, _HTTPS) for one in addresses[:1]]) for site, addresses in zip(sites, found, strict=True)]
