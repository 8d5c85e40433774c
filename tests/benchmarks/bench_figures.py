"""What drawing the paper's figures and tables costs on a generated study: time and peak memory of the command.

31,580 pages, or ``ORIGINSET_BENCH_PAGES`` pages (315796, the paper's number, take 36 million requests and a quarter of
an hour, most of it for the models). The study is synthetic: only its cost means anything. Run it by itself: ``make
bench``, or ``python tests/benchmarks/bench_figures.py``.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generated_study import generate

from originset.cli.modelling.rebuild import rebuild
from originset.data.studies.study import Study
from originset.models.parameters import Parameters

PAGES = int(os.environ.get("ORIGINSET_BENCH_PAGES", "31580"))
LIMIT_MIB = 1024


def make(folder: str) -> None:
    """The study, with its database."""
    study = Study(Path(folder))
    generate(study, PAGES)
    rebuild(study, Parameters())


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own, started afresh: the kernel counts to a child what its parent had when it began.
        making = multiprocessing.get_context("spawn").Process(target=make, args=(f"{folder}/study",))
        making.start()
        making.join()
        if making.exitcode:
            return 1
        out = Path(folder, "figures")
        call = [sys.executable, "-m", "originset", "--study", f"{folder}/study", "study", "figures", "--out", str(out)]
        begun = time.monotonic()
        drawing = subprocess.Popen(call, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(drawing.pid, 0)
        took, cpu, peak = time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        files = len(list(out.iterdir())) if status == 0 else 0
    sys.stdout.write(
        f"figures of {PAGES:,} pages: {files} files, {took:.1f} s, {cpu:.1f} s of CPU, peak {peak:.0f} MiB "
        f"(limit {LIMIT_MIB})\n"
    )
    return 0 if files and peak < LIMIT_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
