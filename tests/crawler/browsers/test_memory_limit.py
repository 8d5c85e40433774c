"""A family of processes that takes too much memory is ended, and others are not."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from originset.crawler.browsers.memory_limit import MemoryLimit, process_tree_memory

PATIENCE_S = 60
MB = 1 << 20


@contextmanager
def family(megabytes: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose child takes so much once it is told to, says so, and waits."""
    child = f"input(); a = b'x' * ({megabytes} << 20); print('taken', flush=True); input()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            for one in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
                one.kill()


def take(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"taken\n"


def test_memory_of_a_family() -> None:
    with family(200) as one, family(0) as other:
        take(one)
        take(other)
        memory = process_tree_memory([one.pid, other.pid])
        assert 200 * MB < memory[one.pid] < 300 * MB
        assert 0 < memory[other.pid] < 100 * MB
    assert process_tree_memory([one.pid]) == {one.pid: 0}, "what is gone has none"


@pytest.mark.promise("browsers-memory-is-bounded")
def test_who_takes_too_much_is_ended() -> None:
    ended = threading.Event()
    with family(200) as one, family(200) as other:
        large, small = MemoryLimit([one.pid], 1000 * MB, ended.set), MemoryLimit([other.pid], 100 * MB, ended.set)
        with large, small:
            take(one)
            take(other)
            assert ended.wait(PATIENCE_S)
            assert (large.exceeded, small.exceeded) == (False, True)


def test_nobody_is_looked_at_any_more() -> None:
    ended = threading.Event()
    with family(200) as one:
        limit = MemoryLimit([one.pid], 100 * MB, ended.set)
        with limit:
            pass
        take(one)
        other = threading.Event()
        with MemoryLimit([one.pid], 100 * MB, other.set):
            assert other.wait(PATIENCE_S)
        assert not ended.is_set()


@pytest.mark.promise("browsers-memory-is-bounded")
def test_no_more_than_half_of_the_machine() -> None:
    assert MemoryLimit([], 1 << 60, lambda: None).most == psutil.virtual_memory().total // 2
