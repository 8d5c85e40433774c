"""The inputs that are kept: by door, minimised, and every one that was a finding under a name that says of what."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from doors import NAMES, door
from measured import ROOT, Branch, Counts, branches_by_input

CORPORA = Path(__file__).parent / "corpora"
FUZZED = ROOT / "build" / "fuzz"
#: Inputs of these names were findings once, and stay.
FINDING = "finding-"


def corpus(name: str) -> dict[str, bytes]:
    """A door's inputs by the names of their files."""
    return {path.name: path.read_bytes() for path in sorted((CORPORA / name).iterdir())}


def content_name(data: bytes) -> str:
    """The name of an input that nothing else is known of."""
    return hashlib.sha256(data).hexdigest()[:12]


def minimised(inputs: Mapping[str, bytes], taken: Mapping[str, set[Branch]]) -> list[str]:
    """Few small inputs that take all branches that all of them take: the greedy cover, by branches for each byte.

    Findings are among them in any case.
    """
    kept = [name for name in inputs if name.startswith(FINDING)]
    left = set().union(*taken.values()).difference(*(taken[name] for name in kept))
    while left:
        best = max(sorted(inputs), key=lambda name: len(taken[name] & left) / (len(inputs[name]) + 200))
        kept.append(best)
        left -= taken[best]
    return kept


def counts_text(counts: Counts) -> str:
    """For people."""
    return ", ".join(f"{folder} {taken} of {every}" for folder, (taken, every) in counts.items())


def keep(name: str) -> None:
    """Write a door's corpus anew: the fewest of what it holds, of the door's seeds and of what fuzzing found."""
    at = door(name)
    inputs = {content_name(data): data for data in at.seeds()}
    fuzzed = FUZZED / name / "corpus"
    for path in sorted(fuzzed.iterdir()) if fuzzed.is_dir() else ():
        inputs.setdefault(content_name(path.read_bytes()), path.read_bytes())
    if (CORPORA / name).is_dir():
        for known, data in corpus(name).items():
            inputs.pop(content_name(data), None)
            inputs[known if known.startswith(FINDING) else content_name(data)] = data
    taken, counts = branches_by_input({one: (at, data) for one, data in inputs.items()})
    kept = minimised(inputs, taken)
    (CORPORA / name).mkdir(parents=True, exist_ok=True)
    for path in (CORPORA / name).iterdir():
        path.unlink()
    for one in kept:
        (CORPORA / name / one).write_bytes(inputs[one])
    size = sum(len(inputs[one]) for one in kept)
    sys.stdout.write(f"{name}: {len(kept)} of {len(inputs)} inputs, {size:,} bytes; branches: {counts_text(counts)}\n")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or NAMES:
        keep(wanted)
