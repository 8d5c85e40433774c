"""Crawls under a virtual clock, with a simulated network, browsers and cluster: whatever a seed lets go wrong.

Coordinator, frontier, ledger, politeness, workers and both sides of the cluster are the program's own; the modules
``time``, ``threading`` and ``socket``, and Dask, are simulated (tests/fixtures/simulated_crawl.py). 100 runs, or with
``ORIGINSET_SOAK=full`` 10,000. ``ORIGINSET_SEED=N`` runs one alone.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest
from simulated_crawl import simulate

from originset.crawler.crawl.coordinator import Coordinator, VisitResult
from originset.crawler.crawl.frontier import Frontier
from originset.data.ledger.crawl_ledger import LedgerRow

_FULL = os.environ.get("ORIGINSET_SOAK") == "full"
_ONE = os.environ.get("ORIGINSET_SEED")
_RUNS = 10_000 if _FULL else 100

pytestmark = pytest.mark.slow


@pytest.mark.soak
def test_no_visit_is_lost_or_doubled(memory_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began, visits, slowest = time.process_time(), 0, (0.0, 0)
    for seed in range(_RUNS) if _ONE is None else [int(_ONE)]:
        run_began = time.process_time()
        try:
            visits += simulate(seed, memory_folder / "run").visits
        except BaseException as error:
            error.add_note(f"to see it again: ORIGINSET_SEED={seed}")
            raise
        slowest = max(slowest, (time.process_time() - run_began, seed))
    hourly = 3600 * _RUNS / (time.process_time() - began)
    with capsys.disabled():
        print(f"\n{_RUNS} simulated crawls, {visits} visits; {hourly:.0f} an hour of one core; slowest {slowest}")  # noqa: T201


@pytest.mark.parametrize("seed", [1, 29])
def test_a_seed_gives_the_same_again(seed: int, memory_folder: Path) -> None:
    first, second = (simulate(seed, memory_folder / "run") for _ in range(2))
    assert (first.threads.digest, first.visits) == (second.threads.digest, second.visits)
    assert simulate(seed + 1, memory_folder / "run").threads.digest != first.threads.digest


def _lease_not_written(stack: ExitStack) -> None:
    """Leases are not in the ledger: a crawl that is killed would leave no trace of its visits."""
    stack.enter_context(patch("simulated_crawl._LEASE", lambda _ledger, _rows: None))


def _lost_worker_keeps_its_visits(stack: ExitStack) -> None:
    """What a lost worker was asked for is done with, as if it had been made."""
    stack.enter_context(patch.object(Coordinator, "_requeue", lambda self, row, lost: self._frontier.done(row)))


def _double_retry(stack: ExitStack) -> None:
    """A visit that is to be tried again is queued twice."""
    put = Frontier.put

    def put_twice(frontier: Frontier, row: LedgerRow, wait_s: float | None = None) -> None:
        put(frontier, row, wait_s)
        if wait_s is not None:
            put(frontier, row, wait_s)

    stack.enter_context(patch.object(Frontier, "put", put_twice))


def _told_before_it_is_kept(stack: ExitStack) -> None:
    """The ledger says that a visit is made before its capture is in its place, where the disk can be full."""

    def keep(self: Coordinator, row: LedgerRow, made: VisitResult) -> None:
        self._ledger.finish(row, "done", None, None, ())
        self._keep_capture(made)
        self._frontier.done(row)

    stack.enter_context(patch.object(Coordinator, "_keep_result", keep))


def _no_pace(stack: ExitStack) -> None:
    """The limits of visits a minute are forgotten after each visit."""
    release = Frontier._release

    def forget(frontier: Frontier, row: LedgerRow) -> None:
        frontier._free.clear()
        release(frontier, row)

    stack.enter_context(patch.object(Frontier, "_release", forget))


# Each with what the invariant that it breaks says.
_PLANTED: dict[Callable[[ExitStack], None], str] = {
    _lease_not_written: "the ledger's leases are not those of the crawl",
    _lost_worker_keeps_its_visits: "a crawl that ended left visits leased",
    _double_retry: "is made already",
    _told_before_it_is_kept: "is said to be made without its capture",
    _no_pace: "is visited too soon",
}


@pytest.mark.parametrize("planted", _PLANTED, ids=lambda planted: planted.__name__)
def test_a_planted_bug_is_found(planted: Callable[[ExitStack], None], memory_folder: Path) -> None:
    def simulate_seeds() -> None:
        for seed in range(100):
            simulate(seed, memory_folder / "run", planted)

    with pytest.raises(AssertionError, match=_PLANTED[planted]):
        simulate_seeds()
