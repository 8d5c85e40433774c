"""A command run inside a running testbed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.latency import LatencyProfile
from originset.crawler.testbed.testbed import Testbed


def run_command(
    command: Sequence[str], scenario_path: Path | None, folder: Path | None, latency: LatencyProfile
) -> int:
    """Bring a testbed up, run a command in it, and give its exit code. Called inside a namespace of the testbed.

    The command sees the scenario's names, addresses and servers and nothing else of the network. Its environment has
    HOME and its like set so that Chromium trusts the testbed, and ``ORIGINSET_TESTBED`` names the testbed's folder,
    where ``logs/*.jsonl`` are what the servers saw and ``authority/root.pem`` is what to trust.

    ``scenario_path``: None for the small internet. ``folder``: None for one that is removed in the end.

    Raises:
        InputError: the scenario's file cannot be used.
        TestbedError: the testbed could not be brought up.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the folder is removed
    scenario = scenario_file.built_in() if scenario_path is None else scenario_file.read(scenario_path)
    with (
        tempfile.TemporaryDirectory(prefix="originset-testbed-") as temporary,
        Testbed(scenario, folder or Path(temporary, "testbed"), latency) as testbed,
    ):
        environment = {**os.environ, **testbed.environment, "ORIGINSET_TESTBED": str(testbed.folder)}
        return subprocess.run(command, env=environment, check=False).returncode
