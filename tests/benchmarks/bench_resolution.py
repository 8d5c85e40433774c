"""What names, addresses and evidence cost: by distinct hosts, addresses and certificates, not by requests.

A generated study is resolved as it is, and once more with every request five times over: what is distinct stays the
same, so the time may grow only by what reading more rows takes. CPU seconds of the whole process. Pages:
``ORIGINSET_BENCH_PAGES`` (315,796 are the paper's; a tenth by default).
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from generated_study import generate

from originset.analysis.resolution import resolve
from originset.data.reference.snapshot import built_in
from originset.data.schema import TABLES, Stage
from originset.data.shards import scan, write_shard
from originset.data.study import Study
from originset.models.evidence import colocation_evidence

PAGES = int(os.environ.get("ORIGINSET_BENCH_PAGES", "31580"))
TIMES = 5


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def measured(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def evidence(study: Study) -> pl.DataFrame:
    return colocation_evidence(
        {name: scan(study, name) for name, table in TABLES.items() if table.stage in (Stage.ROWS, Stage.RESOLVED)}
    )


def repeat_requests(study: Study) -> None:
    """Every request some times more: the same hosts, addresses and connections."""
    for shard in sorted((study.tables / "requests").glob("*.parquet")):
        rows = pl.read_parquet(shard)
        for copy in range(1, TIMES):
            moved = rows.with_columns(pl.col("request_id") + copy * 100_000)
            write_shard(study, "requests", f"{shard.stem}-{copy}", moved)


def main() -> None:
    reference = built_in()  # loading the tables is not what is measured
    with tempfile.TemporaryDirectory() as folder:
        study = Study(Path(folder) / "study")
        requests = generate(study, PAGES)
        seconds = []
        for count in (requests, requests * TIMES):
            if count > requests:
                repeat_requests(study)
            with study.changing("analyze", {}):
                resolving, counts = measured(lambda: resolve(study, reference))
            finding, pairs = measured(lambda: evidence(study))
            say(
                f"{PAGES:,} pages, {count:,} requests: {counts['hosts']:,} hosts and {counts['addresses']:,} addresses"
                f" resolved in {resolving:.1f} s; {pairs.height:,} rows of evidence in {finding:.1f} s"
            )
            seconds.append((resolving, finding))
        (one, more), (five, many) = seconds
        say(f"{TIMES} times the requests: resolving took {five / one:.1f} times as long, evidence {many / more:.1f}")


if __name__ == "__main__":
    main()
