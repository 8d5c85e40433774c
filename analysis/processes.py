"""Work shared out between this process and others, which end with it."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import connection
from queue import SimpleQueue
from typing import TypeVar

from originset.data.errors import UsageError

_R = TypeVar("_R")
_T = TypeVar("_T")


def shared_out(jobs: int, function: Callable[..., _R], calls: Sequence[tuple[object, ...]]) -> Iterator[tuple[_R, int]]:
    """What ``function`` gives for each of these arguments, in the order in which they are done, and which it was.

    This process, which has all that is needed imported already, does its part of them beside ``jobs - 1`` others; at
    least one.

    Raises:
        UsageError: a process was ended from outside.
    """
    waiting = deque(enumerate(calls))
    finished: SimpleQueue[tuple[Future[_R], int]] = SimpleQueue()
    spawn = multiprocessing.get_context("spawn")
    others = max(jobs - 1, 1)

    def give() -> None:
        """One more to the other processes: not more than they can begin with, so that all end together."""
        if (one := _first(waiting)) is None:
            return
        number, arguments = one
        # It raises where the pool is broken or shut: then whoever waits for the results learns it by them.
        with suppress(RuntimeError):
            pool.submit(function, *arguments).add_done_callback(partial(take, number))

    def take(number: int, future: Future[_R]) -> None:
        finished.put((future, number))
        give()

    with _single_threaded(), ProcessPoolExecutor(others, spawn, _end_with_parent) as pool:
        left = len(calls)
        try:
            for _ in range(others):
                give()
            while left:
                mine = _first(waiting)
                if mine is not None:
                    number, arguments = mine
                    yield function(*arguments), number
                    left -= 1
                while left and (mine is None or not finished.empty()):
                    done, number = finished.get()
                    yield done.result(), number
                    left -= 1
        except BrokenProcessPool:
            problem = "one of the command's processes was ended from outside, perhaps as memory ran out"
            raise UsageError(problem, "run it again, with fewer --jobs: what is whole is kept") from None
        finally:
            waiting.clear()
            pool.shutdown(wait=True, cancel_futures=True)


def _first(waiting: deque[_T]) -> _T | None:
    """Taken out of it; None where nothing is left. Several threads do so at once."""
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _end_with_parent() -> None:
    """End this process at once when its parent ends, however that ends.

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
    """Processes started herein use one thread each for their columns: the cores are shared out already."""
    before = os.environ.get("POLARS_MAX_THREADS")
    os.environ["POLARS_MAX_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["POLARS_MAX_THREADS"]
        else:
            os.environ["POLARS_MAX_THREADS"] = before
