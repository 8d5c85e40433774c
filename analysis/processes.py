"""Work shared out among processes, which end with the one that started them."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from typing import TypeVar

from originset.data.errors import UsageError

_R = TypeVar("_R")


def shared_out(jobs: int, function: Callable[..., _R], calls: Sequence[tuple[object, ...]]) -> Iterator[tuple[_R, int]]:
    """What ``function`` gives for each of these arguments, in the order in which they are done, and which it was.

    Raises:
        UsageError: a process was ended from outside.
    """
    with _single_threaded(), ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _end_with_parent) as pool:
        running = {pool.submit(function, *arguments): number for number, arguments in enumerate(calls)}
        try:
            for future in as_completed(running):
                yield future.result(), running[future]
        except BrokenProcessPool:
            problem = "one of the command's processes was ended from outside, perhaps as memory ran out"
            raise UsageError(problem, "run it again, with fewer --jobs: what is whole is kept") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


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
