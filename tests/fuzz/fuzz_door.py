"""Coverage-guided fuzzing of one door, by atheris (libFuzzer): ``fuzz_door.py DOOR FOLDER [LIBFUZZER'S OPTIONS]``.

Findings of earlier runs are read first, and those that are mended removed. It goes on after a finding: each is kept
once, by what was raised and where, in ``findings`` of the folder.
"""

from __future__ import annotations

import gc
import hashlib
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["originset"]):
    from doors import door
    from findings import BoundedReader, keep_finding, remove_mended_findings

    AT = door(sys.argv[1])

FOLDER = Path(sys.argv[2])
_STRUCTURED = 0.5

READER = BoundedReader(AT)


def fuzz_one(data: bytes) -> None:
    """Read one input; what is raised, or exceeds a bound, is kept, and fuzzing goes on."""
    try:
        READER.read(data)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        keep_finding(FOLDER, data, error)


def mutate(structured: Callable[[random.Random, bytes], bytes], data: bytes, most: int, seed: int) -> bytes:
    """By the door's structure or, as often, by libFuzzer's bytes."""
    source = random.Random(seed)  # noqa: S311 - libFuzzer's seed, so that a run can be repeated
    if source.random() > _STRUCTURED:
        return atheris.Mutate(data, most)
    try:
        changed = structured(source, data)
    except RecursionError:  # of json, where an input is nested deeply
        return atheris.Mutate(data, most)
    return changed if len(changed) <= most else changed[:most]


if __name__ == "__main__":
    corpus = FOLDER / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for one in AT.seeds():
        (corpus / hashlib.sha256(one).hexdigest()[:12]).write_bytes(one)
    options = [f"-max_len={AT.longest}", "-print_final_stats=1", "-verbosity=0", "-timeout=600", "-rss_limit_mb=4096"]
    remove_mended_findings(FOLDER, AT)
    gc.freeze()
    # Without a mutator of ours libFuzzer does not come back to Python between two inputs.
    mutators = {} if AT.mutate is None else {"custom_mutator": partial(mutate, AT.mutate)}
    atheris.Setup([sys.argv[0], *options, *sys.argv[3:], str(corpus)], fuzz_one, **mutators)
    atheris.Fuzz()
