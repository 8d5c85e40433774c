"""What reading one input takes: lines of Python, bytes of memory, processor time; and which branches it takes."""

from __future__ import annotations

import json
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType

import coverage
from doors import Door

from originset.data.errors import OriginsetError

ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = tuple(str(ROOT / name) for name in ("analysis", "cli", "crawler", "data", "models"))

Branch = tuple[str, int, int]
#: By folder: the branches that were taken, and all that there are.
Counts = dict[str, tuple[int, int]]


class BoundExceeded(Exception):
    """Reading an input took more than its door permits."""


def read_or_refuse(door: Door, data: bytes, *, whole: bool = True) -> None:
    """Read an input; being refused, in one line, is as good as being read."""
    refusal = ""
    try:
        door.read(data, whole=whole)
    except OriginsetError as error:
        refusal = str(error)
    assert "\n" not in refusal


def require_bounds(door: Door, data: bytes) -> None:
    """Read an input twice: for the lines of Python that it takes, and for the memory.

    Raises:
        BoundExceeded: it takes more than the door permits.
    """
    lines = lines_taken(lambda: read_or_refuse(door, data, whole=False))
    if lines > (most := door.lines.of(len(data))):
        raise BoundExceeded(f"{lines:,} lines of Python for {len(data):,} bytes, of which {most:,} are permitted")
    memory = memory_taken(lambda: read_or_refuse(door, data, whole=False))
    if memory > (most := door.memory.of(len(data))):
        raise BoundExceeded(f"{memory:,} bytes of memory for {len(data):,} bytes, of which {most:,} are permitted")


def lines_taken(call: Callable[[], None]) -> int:
    """The lines of the project's code that a call runs; the same in each run of it, on any machine."""
    count = 0

    def within(_frame: FrameType, event: str, _argument: object) -> Callable[..., object]:
        nonlocal count
        count += event == "line"
        return within

    def called(frame: FrameType, _event: str, _argument: object) -> Callable[..., object] | None:
        return within if frame.f_code.co_filename.startswith(_PACKAGES) else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def memory_taken(call: Callable[[], None]) -> int:
    """The most bytes of Python's memory that a call holds at once."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def branches_by_input(inputs: Mapping[str, tuple[Door, bytes]]) -> tuple[dict[str, set[Branch]], Counts]:
    """The branches in the doors' folders that each input takes at its door, and how many all of them take."""
    folders = sorted({folder for at, _ in inputs.values() for folder in at.folders})
    measured = coverage.Coverage(
        data_file=None, branch=True, config_file=False, source=[str(ROOT / folder) for folder in folders]
    )
    measured.start()
    try:
        for name, (at, data) in inputs.items():
            measured.switch_context(name)
            read_or_refuse(at, data)
    finally:
        measured.stop()
    found = measured.get_data()
    files = sorted(found.measured_files())
    taken: dict[str, set[Branch]] = {}
    for name in inputs:
        found.set_query_context(name)
        taken[name] = {(file, *arc) for file in files for arc in found.arcs(file) or ()}
    found.set_query_contexts(None)
    return taken, _counts(measured, folders)


def _counts(measured: coverage.Coverage, folders: Iterable[str]) -> Counts:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        measured.json_report(outfile=str(report))
        files = json.loads(report.read_text())["files"]
    counts = {}
    for part in folders:
        summaries = [of["summary"] for path, of in files.items() if (ROOT / path).is_relative_to(ROOT / part)]
        counts[part] = tuple(sum(one[key] for one in summaries) for key in ("covered_branches", "num_branches"))
    return counts
