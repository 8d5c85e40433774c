"""Options that the commands of a rollout have in common, so that all of them can be called alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from originset.cli.common.contact_options import ca_file_option
from originset.cli.common.files import FILE
from originset.cli.plan.requests_command import REQUEST_FORMATS
from originset.cli.plan.rollout.ring_commands import RolloutFiles
from originset.cli.writers.capabilities import CAPABILITIES

_OPTIONS = (
    click.argument("rollout", type=FILE),
    click.option(
        "--inventory", type=FILE, required=True, metavar="FILE", help="The certificates, as for plan inventory."
    ),
    click.option(
        "--before",
        type=FILE,
        metavar="FILE",
        help="Traffic of before the rollout: a CSV or Parquet file with the columns site, host and connections.",
    ),
    click.option(
        "--program",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Your own program that changes servers and measures. Called with a task, the ring's number and a path. "
        "Tasks: certificates, origins, origins-back, certificates-back (the path is the folder of requests or "
        "configurations) and traffic (the path is the file to write).",
    ),
    click.option(
        "--for",
        "target",
        type=click.Choice(REQUEST_FORMATS),
        default="csr",
        show_default=True,
        help="What requests the certificates, as for plan requests.",
    ),
    click.option("--issuer", metavar="NAME", help="For cert-manager: the issuer."),
    click.option(
        "--server",
        type=click.Choice([name for name, one in CAPABILITIES.items() if one.sends == "yes"]),
        default="node",
        show_default=True,
        help="The server that reads the configurations.",
    ),
    ca_file_option,
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("rollout"),
        show_default=True,
        metavar="DIRECTORY",
        help="The folder of the rollout's state and files.",
    ),
)


def rollout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options from which :func:`files_of` makes what a rollout works with."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def files_of(
    *,
    rollout: Path,
    inventory: Path,
    before: Path | None,
    program: Path | None,
    target: str,
    issuer: str | None,
    server: str,
    ca_file: Path | None,
    out: Path,
) -> RolloutFiles:
    """What a rollout works with, all paths absolute."""
    return RolloutFiles(
        rollout=rollout.absolute(),
        inventory=inventory.absolute(),
        folder=out.absolute(),
        before=None if before is None else before.absolute(),
        program=None if program is None else program.absolute(),
        requests_for=("--for", target, *(() if issuer is None else ("--issuer", issuer))),
        server=server,
        checks=() if ca_file is None else ("--ca-file", str(ca_file.absolute())),
    )
