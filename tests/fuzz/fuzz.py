"""Fuzzes the doors one after another: ``fuzz.py [DOOR...]``, each for FUZZ_SECONDS or FUZZ_RUNS inputs.

It prints how many inputs were read, by this run and by all runs so far, and how many branches behind each door those
take that are worth keeping. What they left is in ``build/fuzz``; ``corpora.py`` keeps the least of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from corpora import CORPORA, FUZZED, counts_text
from doors import NAMES, door
from measured import branches_by_input

_EXECUTED = re.compile(rb"stat::number_of_executed_units: (\d+)")
_SECONDS = os.environ.get("FUZZ_SECONDS") or "60"
_RUNS = os.environ.get("FUZZ_RUNS")


def fuzz(name: str) -> int:
    """Fuzz one door, beginning with the corpus that is kept; the number of inputs that were read.

    Raises:
        subprocess.CalledProcessError: the process ended otherwise than at its end: a crash of native code.
    """
    folder = FUZZED / name
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    for path in (CORPORA / name).iterdir() if (CORPORA / name).is_dir() else ():
        (folder / "corpus" / path.name).write_bytes(path.read_bytes())
    limit = f"-max_total_time={_SECONDS}" if not _RUNS else f"-runs={_RUNS}"
    call = [sys.executable, str(Path(__file__).with_name("fuzz_door.py")), name, str(folder), limit]
    log = folder / "log"
    with log.open("wb") as opened:
        subprocess.run(call, cwd=folder, stdout=opened, stderr=subprocess.STDOUT, check=True)
    executed = _EXECUTED.search(log.read_bytes())
    if executed is None:
        raise LookupError(f"{log} does not tell how many inputs were read")
    return int(executed[1])


def executions(name: str, more: int = 0) -> int:
    """How many inputs of a door were read so far, in all runs of this checkout."""
    path = FUZZED / name / "executions"
    total = (int(path.read_text()) if path.exists() else 0) + more
    path.write_text(f"{total}\n")
    return total


def report(name: str, executed: int) -> list[str]:
    """Print a line on a door; the names of what was found there."""
    at = door(name)
    inputs = {path.name: path.read_bytes() for path in sorted((FUZZED / name / "corpus").iterdir())}
    _, counts = branches_by_input([at], inputs)
    findings = [str(path) for path in sorted((FUZZED / name).glob("findings/*.txt"))]
    sys.stdout.write(
        f"{name:22} {executed:>12,} inputs read, {executions(name, executed):>13,} so far; "
        f"{len(findings)} findings; branches: {counts_text(counts)}\n"
    )
    sys.stdout.flush()
    return findings


def main() -> int:
    """Exit code 1 where something was found."""
    findings = [finding for name in sys.argv[1:] or NAMES for finding in report(name, fuzz(name))]
    total = sum(executions(name) for name in NAMES if (FUZZED / name).is_dir())
    sys.stdout.write("".join(f"{finding}\n" for finding in findings) + f"{total:,} inputs were read so far\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
