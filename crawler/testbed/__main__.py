"""Run a command inside a running testbed, in a namespace of its own.

    python -m originset.crawler.testbed [--scenario FILE] [--folder DIR] [--latency PROFILE] [--] COMMAND...

The command sees the scenario's names, addresses and servers and nothing else of the network. Its environment has HOME
and its like set so that Chromium trusts the testbed, and ``ORIGINSET_TESTBED`` names the testbed's folder, where
``logs/*.jsonl`` are what the servers saw and ``authority/root.pem`` is what to trust. Without a command: a shell.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.latency import PROFILES
from originset.crawler.testbed.namespace import in_namespace, run_inside
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import OriginsetError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m originset.crawler.testbed", description="Run inside a testbed.")
    parser.add_argument("--scenario", type=Path, help="a scenario's TOML file (default: the small internet)")
    parser.add_argument("--folder", type=Path, help="where certificates and logs go (default: a temporary folder)")
    parser.add_argument("--latency", choices=PROFILES, default="none", help="round trips as on such an access network")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="default: a shell")
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    try:
        if not in_namespace():
            return run_inside([sys.executable, "-m", "originset.crawler.testbed", *sys.argv[1:]])
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the folder is removed
        scenario = scenario_file.read(arguments.scenario) if arguments.scenario else scenario_file.built_in()
        with tempfile.TemporaryDirectory(prefix="originset-testbed-") as temporary:
            folder = arguments.folder or Path(temporary, "testbed")
            with Testbed(scenario, folder, arguments.latency) as testbed:
                environment = {**os.environ, **testbed.environment, "ORIGINSET_TESTBED": str(testbed.folder)}
                return subprocess.run(command or ["/bin/sh"], env=environment, check=False).returncode
    except OriginsetError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
