"""What the browsers' rules cost on a generated study: CPU against a bare scan of the same Parquet, and peak memory.

3.6 million requests, or ``ORIGINSET_BENCH_PAGES`` pages (315796, the paper's number, give 36 million), as in
bench_models.py. The study is synthetic: only its cost means anything. Run it by itself: ``make bench``, or
``python tests/benchmarks/bench_browsers.py``.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from bench_models import PAGES, bare_scan, generate_apart, peak, say

from originset.data.schema import TABLES, Stage
from originset.data.shards import scan
from originset.data.study import Study
from originset.models.browsers import tables as browsers
from originset.models.browsers.known import Known
from originset.models.parts import parts

# What browser_tables calls, by what it is for.
STEPS = {
    "read": ("read",),
    "what was asked for": ("modes_of", "groups_of"),
    "replay and counts": (
        *("pairs", "planned_pairs", "ways", "replayed", "connections", "without_tls", "of_pages", "_counts"),
        "_named",
    ),
    "causes": ("redundant_connections",),
    "exposures": ("page_names",),
}

spent: defaultdict[str, float] = defaultdict(float)


def main() -> None:
    for name, functions in STEPS.items():
        for function in functions:
            setattr(browsers, function, timed(name, getattr(browsers, function)))
    with tempfile.TemporaryDirectory(dir=os.environ.get("ORIGINSET_BENCH_FOLDER")) as folder:
        study = Study(Path(folder) / "study")
        requests = generate_apart(study)
        say(f"synthetic: {PAGES} pages, {requests} requests; peak memory before {peak():.0f} MiB")
        timed("scan", bare_scan)(study)
        tables = {
            name: scan(study, name) for name, table in TABLES.items() if table.stage in {Stage.ROWS, Stage.RESOLVED}
        }
        begun = time.process_time()
        # Kept until the last part, as the models do.
        known = Known(tables)
        kept = [browsers.browser_tables(part, known=known) for part in parts(tables)]
        whole = time.process_time() - begun
    scan_cost = spent.pop("scan")
    say(f"{'bare scan of 18 columns':<26} {scan_cost:8.2f} cpu-s {scan_cost / requests * 1e9:19.0f} ns/request")
    for name, seconds in spent.items():
        say(f"{name:<26} {seconds:8.2f} cpu-s {seconds / scan_cost:7.2f} x {seconds / requests * 1e9:7.0f} ns/request")
    say(f"all {whole / scan_cost:.2f} x the scan (to be at most 10)")
    for name in kept[0]:
        rows, size = sum(each[name].height for each in kept), sum(each[name].estimated_size("mb") for each in kept)
        say(f"{name:<26} {rows:10} rows {size:8.0f} MiB")
    say(f"peak memory {peak():.0f} MiB (to be at most 2048)")


def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def measured(*arguments: Any, **named: Any) -> Any:
        begun = time.process_time()
        try:
            return function(*arguments, **named)
        finally:
            spent[name] += time.process_time() - begun

    return measured


if __name__ == "__main__":
    main()
