"""A process beside ours that ends browsers whose visit takes too long, even while nothing else runs in our interpreter.

A thread of our own could not: whoever holds the global interpreter lock, such as one long match of a regular
expression, keeps every other thread waiting. All visits of this process share one watchdog.

It runs as a script, without the package around it, so it may import nothing but psutil and the standard library.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

import psutil

# A process, and when it is to end by the monotonic clock, which all processes share; 0 if it no longer is.
_COMMAND = struct.Struct("=qd")
# Whole commands: each is written at once, and is shorter than what the kernel may divide (PIPE_BUF).
_MOST_BYTES = 4096 * _COMMAND.size


class Deadline:
    """``with Deadline(pids, seconds, end)``: these processes and all below them are killed if the block takes longer.

    If it did, ``end`` is called after the block, and ``passed`` is true.
    """

    def __init__(self, pids: Iterable[int], seconds: float, end: Callable[[], None]) -> None:
        self._pids = tuple(pids)
        self._seconds = seconds
        self._end = end
        self._at = 0.0

    def __enter__(self) -> Self:
        self._at = time.monotonic() + self._seconds
        for pid in self._pids:
            _WATCHDOG.command(pid, self._at)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # First the commands: if time is left after them, nothing was killed.
        for pid in self._pids:
            _WATCHDOG.command(pid, 0.0)
        if self.passed:
            self._end()

    @property
    def passed(self) -> bool:
        """Whether it is over, and the processes were killed."""
        return time.monotonic() >= self._at


class _Watchdog:
    """The process, started when the first command is given, and again if somebody ended it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self._close)

    def command(self, process: int, at: float) -> None:
        command = _COMMAND.pack(process, at)
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._close()
                self._process = _start()
            if self._process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):  # ended a moment ago: the next command starts another
                    self._process.stdin.write(command)

    def _close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process = None


def _start() -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C in a terminal goes to the whole process group.
    return subprocess.Popen(
        [sys.executable, "-I", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )


def kill_process_tree(process: psutil.Process) -> None:
    """Kill a process and all below it; what is gone already is passed over."""
    with contextlib.suppress(psutil.Error):
        for one in [process, *process.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                one.kill()


def run_watchdog(commands: int) -> None:
    """End each process at its time, until nobody is left to give commands; then those too that had time left."""
    deadlines: dict[psutil.Process, float] = {}
    while True:
        patience = max(min(deadlines.values()) - time.monotonic(), 0) if deadlines else None
        select.select([commands], [], [], patience)
        now = time.monotonic()
        while select.select([commands], [], [], 0)[0]:  # what was said before now is heard before anything ends
            if not (read := os.read(commands, _MOST_BYTES)):
                for process in deadlines:
                    kill_process_tree(process)
                return
            for number, at in _COMMAND.iter_unpack(read):
                with contextlib.suppress(psutil.NoSuchProcess):
                    deadlines[psutil.Process(number)] = at
        deadlines = {process: at for process, at in deadlines.items() if at}
        for process in [process for process, at in deadlines.items() if at <= now]:
            del deadlines[process]
            kill_process_tree(process)


_WATCHDOG = _Watchdog()

if __name__ == "__main__":
    run_watchdog(sys.stdin.fileno())
