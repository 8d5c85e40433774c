"""Fuzzes the doors one after another: ``fuzz.py [DOOR...]``, each for FUZZ_SECONDS or FUZZ_RUNS inputs.

It prints how many inputs were read: by this run, by all runs with the code that lies behind the door today, and by all
runs that ``executions.json`` beside this file tells of, which each run is added to; and how many branches behind each
door those take that are worth keeping. What they left is in ``build/fuzz``; ``corpora.py`` keeps the least of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from corpora import CORPORA, FUZZED, counts_text
from doors import NAMES, Door, door
from measured import ROOT, branches_by_input

_EXECUTED = re.compile(rb"stat::number_of_executed_units: (\d+)")
_EXECUTIONS = Path(__file__).with_name("executions.json")
_SECONDS = os.environ.get("FUZZ_SECONDS") or "60"
_RUNS = os.environ.get("FUZZ_RUNS")


@dataclass(frozen=True, slots=True)
class Part:
    """What one run at a door did: how many inputs it read, in how many seconds of the processor."""

    executed: int
    seconds: float


def fuzz(name: str) -> Part:
    """Fuzz one door, beginning with the corpus that is kept.

    Raises:
        subprocess.CalledProcessError: the process ended otherwise than at its end: a crash of native code.
    """
    folder = FUZZED / name
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    for path in (CORPORA / name).iterdir() if (CORPORA / name).is_dir() else ():
        (folder / "corpus" / path.name).write_bytes(path.read_bytes())
    limit = f"-max_total_time={_SECONDS}" if not _RUNS else f"-runs={_RUNS}"
    options = [limit, f"-artifact_prefix={folder}/"]
    call = [sys.executable, str(Path(__file__).with_name("fuzz_door.py")), name, str(folder), *options]
    log = folder / "log"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("wb") as opened:
        subprocess.run(call, stdout=opened, stderr=subprocess.STDOUT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    executed = _EXECUTED.search(log.read_bytes())
    if executed is None:
        raise LookupError(f"{log} does not tell how many inputs were read")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Part(int(executed[1]), seconds)


def executions(at: Door, more: int = 0) -> tuple[int, int]:
    """How many inputs of a door all runs have read: with the code of today, and with any."""
    counts: dict[str, dict[str, int]] = json.loads(_EXECUTIONS.read_text()) if _EXECUTIONS.exists() else {}
    of_door, version = counts.setdefault(at.name, {}), code_version(at)
    of_door[version] = of_door.get(version, 0) + more
    if more:
        _EXECUTIONS.write_text(json.dumps(counts, indent=1) + "\n")
    return of_door[version], sum(of_door.values())


def code_version(at: Door) -> str:
    """A digest of the door and of the folders behind it."""
    paths = [path for folder in at.folders for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".sql"}]
    digest = hashlib.sha256()
    for path in sorted([*paths, Path(__file__).parent / "doors" / f"{at.name}.py"]):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def report(name: str, part: Part) -> list[str]:
    """Print a line on a door; the names of what was found there."""
    at = door(name)
    inputs = {path.name: (at, path.read_bytes()) for path in sorted((FUZZED / name / "corpus").iterdir())}
    _, counts = branches_by_input(inputs)
    findings = [str(path) for path in sorted((FUZZED / name).glob("findings/*.txt"))]
    of_today, of_all = executions(at, part.executed)
    sys.stdout.write(
        f"{name:22} {part.executed:>10,} inputs read, {part.executed / part.seconds:>6,.0f} for each second of the "
        f"processor; so far {of_today:>11,} with this code, {of_all:>11,} in all; "
        f"{len(findings)} findings; branches: {counts_text(counts)}\n"
    )
    sys.stdout.flush()
    return findings


def main() -> int:
    """Exit code 1 where something was found."""
    findings = [finding for name in sys.argv[1:] or NAMES for finding in report(name, fuzz(name))]
    of_today, of_all = (sum(column) for column in zip(*(executions(door(name)) for name in NAMES), strict=True))
    total = f"{of_today:,} inputs were read so far with the code of today, {of_all:,} in all\n"
    sys.stdout.write("".join(f"{finding}\n" for finding in findings) + total)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
