"""What the models cost on a generated study: CPU against a bare scan of the same Parquet, time by the clock, memory.

3.6 million requests, or ``ORIGINSET_BENCH_PAGES`` pages (315796, the paper's number, give 36 million; 3157960 ten
times as many, and 25 GB on disk). All of the paper's models, evidence and merging included, in ``ORIGINSET_BENCH_JOBS``
processes (all cores), then the same with the browsers' rules. CPU seconds are those of all processes, memory the most
that these had together. With ``ORIGINSET_BENCH_BESIDE``, the Python of another checkout whose models are one function
of frames in memory, that checkout's models run on the same study in the same run. The study is synthetic: only its cost
means anything. Run it by itself: ``make bench``, or ``python tests/benchmarks/bench_models.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psutil
from generated_study import generate

from originset.cli.modelling.model_batches import side_by_side
from originset.data.schema.study_tables import REQUESTS
from originset.data.studies.shards import shard_paths
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.models.runner.batches import inputs_of
from originset.models.runner.definitions import modelled_tables
from originset.models.runner.runner import Run, run_models

PAGES = int(os.environ.get("ORIGINSET_BENCH_PAGES", "31580"))
JOBS = int(os.environ.get("ORIGINSET_BENCH_JOBS", str(os.cpu_count() or 1)))
BESIDE = os.environ.get("ORIGINSET_BENCH_BESIDE")
_LOOK_S = 0.05

# The columns that the models read.
SCANNED = (
    *("visit_id", "request_id", "url", "scheme", "host", "port", "status", "resource_type", "initiator_id"),
    *("connection_id", "server_ip", "started_ms", "blocked_ms", "dns_ms", "connect_ms", "send_ms", "wait_ms"),
    "receive_ms",
)

_OF_THAT_CHECKOUT = """
import sys
from pathlib import Path
from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.fill import model_tables
from originset.models.parameters import Parameters
study = Study(Path(sys.argv[1]))
stages = (Stage.ROWS, Stage.RESOLVED)
tables = {name: scan(study, name) for name, table in TABLES.items() if table.stage in stages}
model_tables(tables, Parameters(), browsers=False)
"""


@dataclass
class Cost:
    """CPU seconds, seconds by the clock and the most memory in MiB of a command and all below it."""

    cpu: float
    clock: float
    memory: float

    def __str__(self) -> str:
        return f"{self.cpu:9.1f} cpu-s {self.clock:9.1f} s by the clock {self.memory:8.0f} MiB at most"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def cost_of(*arguments: str, python: str = sys.executable) -> Cost:
    """What a Python with these arguments takes."""
    command = [python, str(Path(__file__).with_name("cpu_of.py")), python, *arguments]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    most = [0.0]
    watch = threading.Thread(target=_watch, args=(process, most))
    watch.start()
    output = process.communicate()[0]
    watch.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    return Cost(float(output.splitlines()[-1]), time.monotonic() - begun, most[0])


def _watch(process: subprocess.Popen[str], most: list[float]) -> None:
    while process.poll() is None:
        total = 0
        # Any of them may end while it is looked at.
        with suppress(psutil.NoSuchProcess):
            for each in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    total += each.memory_full_info().uss
        most[0] = max(most[0], total / 2**20)
        time.sleep(_LOOK_S)


def bare_scan(study: Study) -> None:
    texts = {column.name for column in REQUESTS.columns if column.type == "VARCHAR"}
    sums = ", ".join(f"sum(strlen({name}))" if name in texts else f"sum({name})" for name in SCANNED)
    with duckdb.connect() as connection:
        paths = [str(path) for path in shard_paths(study, "requests")]
        connection.execute(f"SELECT {sums} FROM read_parquet(?)", [paths]).fetchall()  # noqa: S608 - names from above


def model(study: Study, *, browsers: bool) -> None:
    """The model tables, as ``originset model`` fills them."""
    with tempfile.TemporaryDirectory(dir=study.root.parent) as folder:
        run = Run(inputs_of(study), Parameters(), Path(folder), modelled_tables(), browsers)
        run_models(run, side_by_side(JOBS))


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("ORIGINSET_BENCH_FOLDER")) as folder:
        study = Study(Path(folder) / "study")
        requests = generate(study, PAGES)
        say(f"synthetic: {PAGES} pages, {requests} requests, {JOBS} processes")
        nothing = cost_of(__file__, "nothing", str(study.root))
        scan = cost_of(__file__, "scan", str(study.root))
        steps = {"the paper's models": ("paper",), "with the browsers' rules": ("browsers",)}
        say(f"{'bare scan of 18 columns':<28}{scan}, the start of a process included: {nothing.cpu:.1f} cpu-s")
        own = scan.cpu - nothing.cpu
        for name, (step,) in steps.items():
            cost = cost_of(__file__, step, str(study.root))
            each = (cost.cpu - nothing.cpu) / requests * 1e9
            say(f"{name:<28}{cost} {(cost.cpu - nothing.cpu) / own:7.2f} x the scan {each:7.0f} ns a request")
        if BESIDE is not None:
            say(f"{'the same, other checkout':<28}{cost_of('-c', _OF_THAT_CHECKOUT, str(study.root), python=BESIDE)}")
    say("to be at most: 12 x the scan and 2048 MiB, with the browsers' rules 20 x and 3072 MiB")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[1] == "scan":
        bare_scan(Study(Path(sys.argv[2])))
    elif sys.argv[1] in {"paper", "browsers"}:
        model(Study(Path(sys.argv[2])), browsers=sys.argv[1] == "browsers")
