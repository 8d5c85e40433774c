"""A bound on the memory of a browser, all its processes together: looked at while it visits a page, and ended beyond.

Not by control groups, which an ordinary user may make on few machines, and the superuser in few containers.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

import psutil

# Looking at the processes of the machine costs milliseconds, so they are looked at when its memory has become less by
# so much since the last time, and at the latest after so long: others may have given back what a page takes.
_PAUSE_S = 0.25
_LESS = 128 << 20
_POLL_S = 2.0

_LONGEST = 8 << 10  # of either file; names in them are short

# proc(5): what a process has for itself, what it shares with others of its family, and what of it was swapped out.
_OWN_KB = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap):\s*(\d+) kB$", re.MULTILINE)
_AVAILABLE_KB = re.compile(rb"^(?:MemAvailable|SwapFree):\s*(\d+) kB$", re.MULTILINE)


def process_tree_memory(roots: Iterable[int]) -> dict[int, int]:
    """Bytes of memory of each of these processes with all below it: what ending them would free, nearly.

    Memory that several of them share is counted once for each; program files are not. What is gone has none.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are wanted, of all processes
        if name.isdecimal() and (parent := _parent(name)) is not None:
            children.setdefault(parent, []).append(int(name))
    found = {}
    for root in roots:
        family, pending = {root}, [root]
        while pending:
            below = [child for child in children.get(pending.pop(), ()) if child not in family]
            family.update(below)
            pending += below
        found[root] = sum(map(_own_bytes, family))
    return found


def _parent(process: str) -> int | None:
    """The fourth field of proc(5)'s stat; the second is a name in parentheses, of any characters."""
    stat = _read(f"/proc/{process}/stat")
    return int(stat[stat.rindex(b")") + 4 :].split(b" ", 1)[0]) if stat else None


def _own_bytes(process: int) -> int:
    return sum(int(kb) for kb in _OWN_KB.findall(_read(f"/proc/{process}/status"))) << 10


def _read(path: str) -> bytes:
    """A file of a process; nothing of one that is gone. Without the layers of file objects, as there are hundreds."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return b""
    try:
        return os.read(descriptor, _LONGEST)
    except ProcessLookupError:
        return b""
    finally:
        os.close(descriptor)


class MemoryLimit:
    """``with MemoryLimit(pids, most, end)``: calls ``end`` once these processes have more than ``most`` bytes together.

    Nor may they have more than half of the machine's memory. ``end`` is called from a thread, and ends the processes.
    """

    def __init__(self, pids: Iterable[int], most: int, end: Callable[[], None]) -> None:
        self.pids = tuple(pids)
        self.most = min(most, psutil.virtual_memory().total // 2)
        self.end = end
        self.exceeded = False

    def __enter__(self) -> Self:
        _WATCH.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _WATCH.remove(self)

    def look(self, memory: dict[int, int]) -> None:
        """End what has too much, given what each process has."""
        if not self.exceeded and sum(memory.get(pid, 0) for pid in self.pids) > self.most:
            self.exceeded = True
            self.end()


class _Watch:
    """One thread for all limits of this process: a look at many browsers costs little more than one at one."""

    def __init__(self) -> None:
        self._limits: set[MemoryLimit] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, limit: MemoryLimit) -> None:
        with self._changed:
            self._limits.add(limit)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memory", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, limit: MemoryLimit) -> None:
        with self._changed:
            self._limits.discard(limit)

    def _run(self) -> None:
        pause = threading.Event()
        looked, left = 0.0, 0
        while True:
            with self._changed:
                while not self._limits:
                    self._changed.wait()
            pause.wait(_PAUSE_S)
            now, available = time.monotonic(), _available_memory()
            if left - available < _LESS and now - looked < _POLL_S:
                left = max(left, available)
                continue
            looked, left = now, available
            with self._changed:
                limits = tuple(self._limits)
            memory = process_tree_memory({pid for limit in limits for pid in limit.pids})
            for limit in limits:
                limit.look(memory)


def _available_memory() -> int:
    """Bytes that programs could still have, swapping included, as proc(5)'s meminfo estimates them."""
    return sum(int(kb) for kb in _AVAILABLE_KB.findall(_read("/proc/meminfo"))) << 10


_WATCH = _Watch()
