"""What names and addresses cost: by what is distinct of them, not by requests; and peak memory.

A generated study is resolved as it is, and once more with every request five times over: what is distinct stays the
same, so the time may grow only by what reading more rows takes, which is shown beside it. CPU seconds of the whole
process. Pages: ``ORIGINSET_BENCH_PAGES`` (315796, the paper's number, give 36 million requests; a tenth by default).
What coverage and evidence cost is in bench_models.
"""

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from generated_study import generate

from originset.analysis.resolution.name_resolution import resolve_names
from originset.data.reference.snapshot import built_in_reference
from originset.data.studies.shards import scan, shard_paths
from originset.data.studies.study import Study

PAGES = int(os.environ.get("ORIGINSET_BENCH_PAGES", "31580"))
TIMES = 5


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def measured(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def peak() -> float:
    """The most memory that the process has had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read(study: Study) -> int:
    """Nothing but the columns of requests that resolving reads."""
    lengths = scan(study, "requests").select(pl.col("host", "server_ip").str.len_bytes().cast(pl.Int64).sum())
    return int(sum(lengths.collect(engine="streaming").row(0)))


def repeat_requests(study: Study) -> None:
    """Every request some times more, as one more name for each file."""
    for shard in shard_paths(study, "requests"):
        for copy in range(1, TIMES):
            os.link(shard, shard.with_name(f"{shard.stem}-{copy}.parquet"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = Study(Path(folder) / "study")
        # In a process of its own, so that its memory is not counted here.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            requests = pool.apply(generate, (study, PAGES))
        reference = built_in_reference()
        before = peak()
        took = []
        for count in (requests, requests * TIMES):
            if count > requests:
                repeat_requests(study)
            reading, _ = measured(lambda: read(study))
            with study.changing("analyze", {}):
                resolving, counts = measured(lambda: resolve_names(study, reference))
            took.append((reading, resolving))
            say(
                f"{PAGES:,} pages, {count:,} requests: {counts['hosts']:,} hosts and {counts['addresses']:,} addresses"
                f" resolved in {resolving:.1f} s; nothing but reading their columns takes {reading:.1f} s"
            )
        (read_once, once), (read_more, more) = took
        say(
            f"{TIMES} times the requests: resolving took {more / once:.1f} times as long,"
            f" reading {read_more / read_once:.1f} times"
        )
        say(f"peak memory {peak():.0f} MiB, {before:.0f} of them before")


if __name__ == "__main__":
    main()
