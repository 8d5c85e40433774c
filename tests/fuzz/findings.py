"""What fuzzing found at a door: inputs in its folder ``findings``, each beside a ``.txt`` that says what was raised."""

from __future__ import annotations

import os
import resource
import time
import traceback
import zlib
from pathlib import Path

from doors import Door
from measured import BoundExceeded, read_or_refuse

# One input in so many takes the steps that cost milliseconds, too: the same ones each time, by their bytes.
_WHOLE_OF = 64
# Processor time of one input: a thousand times what most take. What exceeds it does so twice.
_SECONDS, _SECONDS_PER_BYTE = 2.0, 0.001
# Beside what Python holds: libraries' own, at their first use.
_NATIVE_MEMORY = 128 << 20


class BoundedReader:
    """Reads inputs of a door one after another, and holds what each takes against the door's bounds."""

    def __init__(self, at: Door) -> None:
        self._door = at
        self._before = resource.getrusage(resource.RUSAGE_SELF)

    def read(self, data: bytes) -> None:
        """What an input took is told by the system at its end, and what the one before it left at its own.

        Raises:
            BoundExceeded: reading takes more of the processor, or of memory, than is permitted.
            Exception: what the door raises though it should not.
        """
        whole = zlib.crc32(data) % _WHOLE_OF == 0
        before = self._before
        try:
            read_or_refuse(self._door, data, whole=whole)
        finally:
            self._before = resource.getrusage(resource.RUSAGE_SELF)
        if self._before.ru_utime - before.ru_utime > (most := _SECONDS + _SECONDS_PER_BYTE * len(data)):
            begin = time.process_time()
            read_or_refuse(self._door, data, whole=whole)
            if (taken := time.process_time() - begin) > most:
                raise BoundExceeded(f"{taken:.1f} s of the processor for {len(data)} bytes")
        grown = 1024 * (self._before.ru_maxrss - before.ru_maxrss)
        if grown > _NATIVE_MEMORY + self._door.memory.of(len(data)):
            raise BoundExceeded(f"{grown:,} bytes of memory for {len(data)} bytes")


def keep_finding(folder: Path, data: bytes, error: Exception) -> None:
    """Keep an input in a door's folder: of those with one error at one place the shortest."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "/tests/fuzz/" not in one.filename]
    place = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}" if frames else "door"
    path = folder / "findings" / f"{type(error).__name__}-{place}"
    if not path.exists() or len(data) < path.stat().st_size:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))


def remove_mended_findings(folder: Path, at: Door) -> None:
    """Read each finding that is in a door's folder again; those that are read or refused within bounds go."""
    for description in sorted(folder.glob("findings/*.txt")):
        path = description.with_suffix("")
        if _is_within_bounds(at, path.read_bytes()):
            path.unlink()
            description.unlink()


def _is_within_bounds(at: Door, data: bytes) -> bool:
    """In a process of its own: the system tells the most memory that a process had, so only the first to take it."""
    process = os.fork()
    if not process:
        try:
            BoundedReader(at).read(data)
        except BaseException:  # noqa: BLE001 - the process must not go on as a second one of its parent
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
