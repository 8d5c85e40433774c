"""Observe the situations with the installed servers and write their files: ``make servers``.

    python -m originset.crawler.testbed.server_lab [SITUATION...]

Without SITUATIONs all of them. A server that is not installed is named, and its situations stay as they are.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from originset.crawler.testbed.namespace import in_namespace, run_inside
from originset.crawler.testbed.server_lab.situation_observation import lab_addresses, observe
from originset.crawler.testbed.server_lab.situation_text import TEXTS, serialize, situations
from originset.data.errors import MissingDependency, OriginsetError


def main(names: list[str]) -> int:
    if not in_namespace():
        return run_inside([sys.executable, "-m", "originset.crawler.testbed.server_lab", *names])
    with tempfile.TemporaryDirectory() as temporary, lab_addresses():
        for situation in situations():
            if names and situation.name not in names:
                continue
            try:
                observed = observe(situation, Path(temporary, situation.name))
            except MissingDependency as missing:
                sys.stderr.write(f"{situation.name}: not observed: {missing}\n")
                continue
            (TEXTS / f"{situation.name}.md").write_text(serialize(observed))
            sys.stderr.write(f"{situation.name}: {observed.answers}\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OriginsetError as problem:
        sys.stderr.write(f"{problem}\n")
        sys.exit(problem.exit_code)
