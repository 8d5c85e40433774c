"""``originset dev testbed``: a command, or a shell, inside a running testbed."""

from __future__ import annotations

from pathlib import Path

import click

from originset.cli.common.command_namespace import enter_namespace
from originset.cli.common.command_tree import Command
from originset.cli.common.files import FILE
from originset.crawler.testbed.latency import PROFILES, LatencyProfile
from originset.crawler.testbed.run_command import run_command


@click.command(cls=Command, context_settings={"allow_interspersed_args": False})
@click.argument("words", metavar="[COMMAND]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--scenario", type=FILE, metavar="FILE.toml", help="The scenario.  [default: the small internet]")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Keep certificates and servers' logs in this folder.  [default: a temporary folder]",
)
@click.option(
    "--latency",
    type=click.Choice(PROFILES),
    default="none",
    show_default=True,
    help="Round-trip times of this kind of access network.",
)
@click.pass_context
def command(
    ctx: click.Context, *, words: tuple[str, ...], scenario: Path | None, out: Path | None, latency: LatencyProfile
) -> None:
    """Run a command, or a shell, inside the testbed.

    COMMAND sees the scenario's names, IP addresses and servers, and no other network. Chromium trusts the testbed's CA
    there. The environment variable ORIGINSET_TESTBED names the testbed's folder: logs/*.jsonl are the servers' logs,
    authority/root.pem is the CA certificate. The exit code is the command's.

    Example: originset dev testbed -- getent hosts shop.test
    """
    enter_namespace()
    ctx.exit(run_command(words or ("/bin/sh",), scenario, out, latency))
