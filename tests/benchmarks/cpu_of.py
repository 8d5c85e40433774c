"""``python cpu_of.py COMMAND ...``: run a command; the last line says how many CPU seconds it and all below it took.

The kernel counts them, in a control group of their own (version 1 or 2; that takes root). getrusage(2) would not do: a
sandboxed browser that is killed takes its processes' times with it, since nobody waits for those.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_PATIENCE_S = 10.0


class Group:
    """A control group. ``seconds`` of CPU that all took who are or were in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def join(self) -> None:
        """Put this process, and so all that it starts, into the group."""
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def seconds(self) -> float:
        if (usage := self._folder / "cpuacct.usage").exists():
            return int(usage.read_text()) / 1e9
        return int((self._folder / "cpu.stat").read_text().split()[1]) / 1e6

    def wait(self, left: int = 1) -> None:
        """Until no more processes are in it than are to be ``left``: nobody but us."""
        deadline = time.monotonic() + _PATIENCE_S
        while len((self._folder / "cgroup.procs").read_text().split()) > left and time.monotonic() < deadline:
            time.sleep(0.05)


@contextmanager
def group() -> Iterator[Group]:
    """A new group, in which this process is until the end.

    Raises ``OSError`` where none can be made.
    """
    folder = _parent() / f"originset-bench-{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir()
    try:
        yield Group(folder)
    finally:
        leave()
        folder.rmdir()


def leave() -> None:
    """Take this process out of the group that it joined; what it started stays there."""
    Group(_parent()).join()


def _parent() -> Path:
    return _ROOT / "cpuacct" if (_ROOT / "cpuacct").is_dir() else _ROOT


def main() -> int:
    with group() as counted:
        counted.join()
        before = counted.seconds
        done = subprocess.run(sys.argv[1:], check=False)
        counted.wait()
        used = counted.seconds - before
    sys.stdout.write(f"{used:.3f}\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
