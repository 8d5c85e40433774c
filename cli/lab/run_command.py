"""``originset lab run``: a command inside a running testbed."""

from __future__ import annotations

import click

from originset.cli.common.command_namespace import enter_namespace
from originset.cli.common.command_tree import Command
from originset.cli.lab.lab_options import SCENARIO, LabOptions, lab_options
from originset.crawler.testbed.testbed_command import run_command


@click.command(cls=Command)
@click.argument("scenario", type=SCENARIO)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@lab_options
@click.pass_context
def command(ctx: click.Context, *, scenario: str, words: tuple[str, ...], lab: LabOptions) -> None:
    """Run a command inside the lab.

    SCENARIO is a TOML file, or one that comes with originset: thirty_sites (with links to inner pages), small_internet,
    captures or rough. COMMAND sees its names, IP addresses and servers, and no other network. Chromium trusts the lab's
    CA there. The environment variable ORIGINSET_TESTBED names the lab's folder: sites.txt is the list of its sites,
    logs/*.jsonl are the servers' logs, authority/root.pem is the CA certificate.

    Ctrl-C reaches the command alone. The exit code is the command's.

    Example: originset lab run thirty_sites -- getent hosts www.site7.test
    """
    enter_namespace()
    ctx.exit(run_command(words, scenario, lab.out, lab.latency))
