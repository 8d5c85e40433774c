"""A command run inside a running testbed."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from originset.crawler.testbed.command_terminal import run_in_session
from originset.crawler.testbed.latency import LatencyProfile
from originset.crawler.testbed.many_sites import scenario_named
from originset.crawler.testbed.testbed import Testbed


def run_command(
    command: Sequence[str],
    scenario_name: str,
    folder: Path | None,
    latency: LatencyProfile,
    *,
    job_control: bool = False,
) -> int:
    """Bring a testbed up, run a command in it, and give its exit code. Called inside a namespace of the testbed.

    The command sees the scenario's names, addresses and servers and nothing else of the network. Its environment has
    HOME and its like set so that Chromium trusts the testbed, and ``ORIGINSET_TESTBED`` names the testbed's folder,
    where ``sites.txt`` lists the sites, ``logs/*.jsonl`` are what the servers saw and ``authority/root.pem`` is what to
    trust.

    ``scenario_name``: as :func:`originset.crawler.testbed.many_sites.scenario_named`. ``folder``: None for one that is
    removed in the end. ``job_control``: as :func:`originset.crawler.testbed.command_terminal.run_in_session`.

    Raises:
        InputError: the scenario's file cannot be used.
        TestbedError: the testbed could not be brought up, or there is no such command.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))  # so that the folder is removed
    scenario = scenario_named(scenario_name)
    with (
        tempfile.TemporaryDirectory(prefix="originset-testbed-") as temporary,
        Testbed(scenario, folder or Path(temporary, "testbed"), latency) as testbed,
    ):
        (testbed.folder / "sites.txt").write_text("".join(f"{site}\n" for site in scenario.sites))
        environment = {**os.environ, **testbed.environment, "ORIGINSET_TESTBED": str(testbed.folder)}
        return run_in_session(command, environment, job_control=job_control)
