"""How many batches of the models are done, on a progress display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from rich.progress import Progress

from originset.models.runner.runner import Run, RunBatches


class CountedBatches(Protocol):
    """Runs :func:`originset.models.runner.runner.run_batch` with each of these arguments."""

    def __call__(self, calls: Sequence[tuple[Run, int, int]], done: Callable[[], None] = ..., /) -> None:
        """Run the batches; ``done`` is called after each, by any thread."""


def with_progress(run_batches: CountedBatches, runs: Iterable[Run], display: Progress) -> RunBatches:
    """The same function, with a task on the display for all batches of ``runs``."""
    total = sum(stage % 2 for run in runs for stage in run.stages for _ in run.inputs.batches)
    task = display.add_task("batches of the models", total=total)
    return lambda calls: run_batches(calls, lambda: display.advance(task))
