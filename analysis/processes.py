"""Work shared out between this process and others, which end with it."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import connection
from queue import SimpleQueue
from typing import Generic, TypeVar

_R = TypeVar("_R")
_T = TypeVar("_T")
_SPAWN = multiprocessing.get_context("spawn")


class ProcessEnded:
    """The result of a call whose process crashed, and that crashed a process of its own too."""


def run_in_processes(
    jobs: int, function: Callable[..., _R], calls: Sequence[tuple[object, ...]]
) -> Iterator[tuple[_R | ProcessEnded, int]]:
    """The result of ``function`` for each of these arguments, with its number, in the order of completion.

    This process, which has all that is needed imported already, does its part of them beside ``jobs - 1`` others; at
    least one. Where one of these ends before its time, perhaps as memory ran out, what was under way is done again,
    each call in a process of its own: only the call that ends that one too is given up. So ``function`` must bear to
    be called again with what it has half done.
    """
    waiting = deque(range(len(calls)))
    while waiting:
        under_way: set[int] = set()
        try:
            yield from _shared_by_one_pool(jobs, function, calls, waiting, under_way)
        except BrokenProcessPool:
            for number in sorted(under_way):
                yield run_in_own_process(function, calls[number]), number


def run_in_own_process(function: Callable[..., _R], arguments: tuple[object, ...]) -> _R | ProcessEnded:
    """The result of ``function``, run in a process of its own."""
    with _single_threaded(), ProcessPoolExecutor(1, _SPAWN, _end_with_parent) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            return ProcessEnded()


class _WorkerProcesses(Generic[_R]):
    """The other processes, and the calls of ``waiting`` that they were given."""

    def __init__(
        self,
        pool: ProcessPoolExecutor,
        function: Callable[..., _R],
        calls: Sequence[tuple[object, ...]],
        waiting: deque[int],
        under_way: set[int],
    ) -> None:
        self._pool = pool
        self._function = function
        self._calls = calls
        self._waiting = waiting
        self._under_way = under_way
        self._finished: SimpleQueue[tuple[Future[_R], int]] = SimpleQueue()

    def give(self) -> None:
        """Submit one more call. Each process gets one at a time, so that all end at about the same time."""
        if (number := _next_call(self._waiting)) is None:
            return
        self._under_way.add(number)
        try:
            self._pool.submit(self._function, *self._calls[number]).add_done_callback(partial(self._take, number))
        except RuntimeError as error:  # the pool is broken or shut
            failed: Future[_R] = Future()
            failed.set_exception(BrokenProcessPool(str(error)))
            self._finished.put((failed, number))

    def _take(self, number: int, future: Future[_R]) -> None:
        self._finished.put((future, number))
        if not future.cancelled() and future.exception() is None:
            self.give()

    def none_finished(self) -> bool:
        """Whether no result is ready."""
        return self._finished.empty()

    def finished(self) -> tuple[_R, int]:
        """The next result.

        Raises:
            BrokenProcessPool: a process ended.
        """
        future, number = self._finished.get()
        result = future.result()
        self._under_way.discard(number)
        return result, number


def _shared_by_one_pool(
    jobs: int,
    function: Callable[..., _R],
    calls: Sequence[tuple[object, ...]],
    waiting: deque[int],
    under_way: set[int],
) -> Iterator[tuple[_R, int]]:
    """As :func:`run_in_processes`. ``waiting``: calls not begun; ``under_way``: those that other processes were given.

    Raises:
        BrokenProcessPool: a process ended.
    """
    count = max(jobs - 1, 1)
    left = len(waiting)
    with _single_threaded(), ProcessPoolExecutor(count, _SPAWN, _end_with_parent) as pool:
        others = _WorkerProcesses(pool, function, calls, waiting, under_way)
        try:
            for _ in range(count):
                others.give()
            while left:
                if (mine := _next_call(waiting)) is not None:
                    yield function(*calls[mine]), mine
                    left -= 1
                while left and (mine is None or not others.none_finished()):
                    yield others.finished()
                    left -= 1
        except BrokenProcessPool:
            raise  # what is waiting is for another pool
        except BaseException:
            waiting.clear()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _next_call(waiting: deque[_T]) -> _T | None:
    """Take the next call out of ``waiting``; None if nothing is left. Several threads call this at the same time."""
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _end_with_parent() -> None:
    """Exit at once when the parent process ends for any reason.

    The study's lock is the parent's: what went on writing after it would meet with the next command's work.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_and_end, args=(parent.sentinel,), daemon=True).start()


def _wait_and_end(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Processes that are started within use one polars thread each, because there is a process for each core."""
    before = os.environ.get("POLARS_MAX_THREADS")
    os.environ["POLARS_MAX_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["POLARS_MAX_THREADS"]
        else:
            os.environ["POLARS_MAX_THREADS"] = before
