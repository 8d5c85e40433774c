"""What drawing the paper's figures and tables costs on a generated study: seconds and peak memory of the command.

31,580 pages, or ``ORIGINSET_BENCH_PAGES`` pages (315796, the paper's number, take 36 million requests and a quarter of
an hour, most of it for the models). The study is synthetic: only its cost means anything. Run it by itself: ``make
bench``, or ``python tests/benchmarks/bench_figures.py``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generated_study import generate

from originset.cli.rebuild import rebuild
from originset.data.study import Study
from originset.models.parameters import Parameters

PAGES = int(os.environ.get("ORIGINSET_BENCH_PAGES", "31580"))
LIMIT_MIB = 1024


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        study = Study(Path(folder) / "study")
        requests = generate(study, PAGES)
        rebuild(study, Parameters())
        call = [sys.executable, "-m", "originset", "--study", str(study.root), "figures", "--out", f"{folder}/figures"]
        begun = time.monotonic()
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        took = time.monotonic() - begun
        # Of all children the largest; there is one.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        files = len(list(Path(folder, "figures").iterdir())) if done.returncode == 0 else 0
    sys.stdout.write(done.stderr)
    sys.stdout.write(
        f"figures of {PAGES:,} pages, {requests:,} requests: {files} files, {took:.1f} s, peak {peak:.0f} MiB "
        f"(limit {LIMIT_MIB})\n"
    )
    return 0 if files and peak < LIMIT_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
