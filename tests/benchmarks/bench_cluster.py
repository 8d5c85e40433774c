"""What a second worker of a cluster gains for the models, on a generated study that all see at its path.

3.6 million requests in 16 batches, or ``ORIGINSET_BENCH_PAGES`` pages. A Dask scheduler and one worker run the paper's
models and the browsers' rules, then a scheduler and two; workers are processes with one thread each. What a stage over
the study takes is the command's own, whatever the workers: it is shown apart. Seconds by the clock are compared within
this run, on a machine with two cores that do nothing else. With other work beside it only the CPU seconds of the
busiest worker can be compared: what batches would take by the clock if each worker had a core of its own. The study is
synthetic: only its cost means anything. Run it by itself: ``make bench``, or this file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
from generated_study import generate

sys.path.append(str(Path(__file__).parents[1] / "fixtures"))
from cluster_lab import DASK, Papers, scheduler, wait_until

from originset.cli.modelling.model_cluster import on_workers
from originset.crawler.cluster.dask_client import client_of
from originset.crawler.settings import Cluster
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.models.runner.batches import inputs_of
from originset.models.runner.definitions import modelled_tables
from originset.models.runner.runner import Run, run_models

PAGES = int(os.environ.get("ORIGINSET_BENCH_PAGES", "31580"))
BATCHES = 16
WANTED = 1.8
# Each worker has one thread of each library too, as it would beside others on its machine.
_ONE_THREAD = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass
class Cost:
    """Seconds by the clock: of batches, and of all; CPU seconds of each worker, and of the command itself."""

    batches: float
    all: float
    workers: list[float]
    command: float


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def cost_with(workers: int, study: Study, warm_up: Study) -> Cost:
    """What the models take on a cluster of so many workers, which have run them on a small study before."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cl-", ignore_cleanup_errors=True)))
        papers = Papers(scratch / "papers")
        address = stack.enter_context(scheduler(scratch, "tls://127.0.0.1", *papers.options))
        command = [DASK, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *papers.options]
        log = stack.enter_context((scratch / "workers.txt").open("wb"))
        started = []
        for _ in range(workers):
            environment = {**os.environ, **_ONE_THREAD, "TMPDIR": str(scratch)}
            worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            stack.callback(worker.wait)
            stack.callback(worker.kill)
            started.append(psutil.Process(worker.pid))
        wait_until(lambda: (scratch / "workers.txt").read_text().count("Registered to") >= workers, "workers")
        cluster = Cluster(address, str(papers.authority), str(papers.certificate), str(papers.key))
        client = stack.enter_context(client_of(cluster))
        run_on(client, address, warm_up, scratch / "warm-up")
        before, own, begun = _cpu(started), time.process_time(), time.monotonic()
        batches = run_on(client, address, study, scratch / "models")
        taken = [after - earlier for after, earlier in zip(_cpu(started), before, strict=True)]
        return Cost(batches, time.monotonic() - begun, taken, time.process_time() - own)


def run_on(client: object, address: str, study: Study, folder: Path) -> float:
    """Run the models; the seconds that batches took."""
    run_batches = on_workers(client, address)
    taken = 0.0

    def timed(calls: Sequence[tuple[Run, int, int]]) -> None:
        nonlocal taken
        begun = time.monotonic()
        run_batches(calls)
        taken += time.monotonic() - begun

    run_models(Run(inputs_of(study, batch_bytes=1), Parameters(), folder, modelled_tables()), timed)
    return taken


def _cpu(processes: list[psutil.Process]) -> list[float]:
    return [times.user + times.system for times in (process.cpu_times() for process in processes)]


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("ORIGINSET_BENCH_FOLDER")) as folder:
        study, warm_up = Study(Path(folder) / "study"), Study(Path(folder) / "warm-up")
        requests = generate(study, PAGES, pages_per_shard=-(-PAGES // BATCHES))
        generate(warm_up, 40, pages_per_shard=10)
        say(f"synthetic: {PAGES} pages, {requests} requests, {BATCHES} batches")
        costs = {workers: cost_with(workers, study, warm_up) for workers in (1, 2)}
    for workers, cost in costs.items():
        each = " + ".join(f"{seconds:.1f}" for seconds in cost.workers)
        say(
            f"{workers} workers: {cost.batches:7.1f} s of batches, {cost.all - cost.batches:6.1f} s over the study; "
            f"CPU seconds: {each} of workers, {cost.command:.1f} of the command"
        )
    one, two = costs[1], costs[2]
    say(f"two workers: batches {one.batches / two.batches:.2f} times as fast, all {one.all / two.all:.2f} times")
    say(f"by CPU seconds of the busiest worker: {max(one.workers) / max(two.workers):.2f}; to be at least {WANTED}")


if __name__ == "__main__":
    main()
