"""Coverage-guided fuzzing of one door, by atheris (libFuzzer): ``fuzz_door.py DOOR FOLDER [LIBFUZZER'S OPTIONS]``.

It goes on after a finding: each is kept once, by what was raised and where, in ``findings`` of the folder.
"""

from __future__ import annotations

import gc
import hashlib
import random
import resource
import sys
import time
import traceback
import zlib
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["originset"]):
    from doors import door
    from measured import BoundExceeded, read_or_refuse

    AT = door(sys.argv[1])

FOLDER = Path(sys.argv[2])
# One input in so many takes the steps that cost milliseconds, too: the same ones each time, by their bytes.
_WHOLE_OF = 64
# Processor time of one input: a thousand times what most take. What exceeds it does so twice.
_SECONDS, _SECONDS_PER_BYTE = 2.0, 0.001
# Beside what Python holds: libraries' own, at their first use.
_NATIVE_MEMORY = 128 << 20
_STRUCTURED = 0.5

_before = resource.getrusage(resource.RUSAGE_SELF)


def fuzz_one(data: bytes) -> None:
    """Read one input; what is raised, or exceeds a bound, is kept, and fuzzing goes on."""
    try:
        _read_within_bounds(data)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        _keep_finding(data, error)


def _read_within_bounds(data: bytes) -> None:
    """What an input took is told by the system at its end, and what the one before it left at its own."""
    global _before  # noqa: PLW0603 - one system call for each input, not four
    whole = zlib.crc32(data) % _WHOLE_OF == 0
    before = _before
    try:
        read_or_refuse(AT, data, whole=whole)
    finally:
        _before = resource.getrusage(resource.RUSAGE_SELF)
    if _before.ru_utime - before.ru_utime > (most := _SECONDS + _SECONDS_PER_BYTE * len(data)):
        begin = time.process_time()
        read_or_refuse(AT, data, whole=whole)
        if (taken := time.process_time() - begin) > most:
            raise BoundExceeded(f"{taken:.1f} s of the processor for {len(data)} bytes")
    if (grown := 1024 * (_before.ru_maxrss - before.ru_maxrss)) > _NATIVE_MEMORY + AT.memory.of(len(data)):
        raise BoundExceeded(f"{grown:,} bytes of memory for {len(data)} bytes")


def _keep_finding(data: bytes, error: Exception) -> None:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "/tests/fuzz/" not in one.filename]
    place = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}" if frames else "door"
    name = f"{type(error).__name__}-{place}"
    path = FOLDER / "findings" / name
    if not path.exists() or len(data) < path.stat().st_size:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """By the door's structure or, as often, by libFuzzer's bytes."""
    source = random.Random(seed)  # noqa: S311 - libFuzzer's seed, so that a run can be repeated
    if AT.mutate is None or source.random() > _STRUCTURED:
        return atheris.Mutate(data, most)
    try:
        changed = AT.mutate(source, data)
    except RecursionError:  # of json, where an input is nested deeply
        return atheris.Mutate(data, most)
    return changed if len(changed) <= most else changed[:most]


if __name__ == "__main__":
    corpus = FOLDER / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for one in AT.seeds():
        (corpus / hashlib.sha256(one).hexdigest()[:12]).write_bytes(one)
    options = [f"-max_len={AT.longest}", "-print_final_stats=1", "-verbosity=0", "-timeout=600", "-rss_limit_mb=4096"]
    gc.freeze()
    atheris.Setup([sys.argv[0], *options, *sys.argv[3:], str(corpus)], fuzz_one, custom_mutator=mutate)
    atheris.Fuzz()
