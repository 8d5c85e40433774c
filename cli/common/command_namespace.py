"""The network namespace that commands of the testbed run in."""

from __future__ import annotations

import os
import sys

from originset.crawler.testbed.namespace import in_namespace, run_inside


def enter_namespace() -> None:
    """Run the same command line in a namespace of the testbed, and exit with its code; return if this is in one."""
    if not in_namespace():
        sys.exit(run_inside([sys.executable, "-m", "originset", *sys.argv[1:]], os.environ))
