"""What the models cost on a generated study: CPU against a bare scan of the same Parquet, and peak memory.

3.6 million requests, or ``ORIGINSET_BENCH_PAGES`` pages (315796, the paper's number, give 36 million). CPU seconds of
the whole process, all threads, one run. The study is synthetic: only its cost means anything. Run it by itself:
``make bench``, or ``python tests/benchmarks/bench_models.py``.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import originset  # isort: skip  # before polars, for which it sets something: as the command does

import duckdb
from generated_study import generate

from originset.data.schema import REQUESTS, TABLES, Stage
from originset.data.shards import scan, shard_paths
from originset.data.study import Study
from originset.models import fill
from originset.models.parameters import Parameters

PAGES = int(os.environ.get("ORIGINSET_BENCH_PAGES", "31580"))

# What model_tables calls, by the part of the models that it belongs to.
STEPS = {
    "read": ("keys", "pages", "known_connections"),
    "page counts": ("first_connections", "page_counts"),
    "certificates": ("documents", "at_documents", "colocated_hosts", "certificate_additions", "site_certificates"),
    "timeline": ("timed", "page_load_times"),
    "provider changes": ("carried", "provider_changes"),
    "evidence between hosts": ("colocation_evidence", "pair_levels"),
    "merging by evidence": ("with_merges",),
    "ORIGIN sets": ("misdirected_hosts", "origin_sets"),
}

# The columns that the models read.
SCANNED = (
    *("visit_id", "request_id", "url", "scheme", "host", "port", "status", "resource_type", "initiator_id"),
    *("connection_id", "server_ip", "started_ms", "blocked_ms", "dns_ms", "connect_ms", "send_ms", "wait_ms"),
    "receive_ms",
)

spent: defaultdict[str, float] = defaultdict(float)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def timed(name: str) -> Iterator[None]:
    begun = time.process_time()
    yield
    spent[name] += time.process_time() - begun


def peak() -> float:
    """The most memory that the process has had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bare_scan(study: Study) -> None:
    texts = {column.name for column in REQUESTS.columns if column.type == "VARCHAR"}
    sums = ", ".join(f"sum(strlen({name}))" if name in texts else f"sum({name})" for name in SCANNED)
    with duckdb.connect() as connection:
        paths = [str(path) for path in shard_paths(study, "requests")]
        connection.execute(f"SELECT {sums} FROM read_parquet(?)", [paths]).fetchall()  # noqa: S608 - names from above


def watch(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def watched(*arguments: Any, **named: Any) -> Any:
        with timed(name):
            return function(*arguments, **named)

    return watched


def model(study: Study) -> None:
    """The paper's model tables, as ``originset model`` fills them; without the browsers' rules."""
    stages = (Stage.ROWS, Stage.RESOLVED)
    tables = {name: scan(study, name) for name, table in TABLES.items() if table.stage in stages}
    for step, functions in STEPS.items():
        for function in functions:
            setattr(fill, function, watch(getattr(fill, function), step))
    begun = time.process_time()
    fill.model_tables(tables, Parameters(), browsers=False)
    # Which rows belong together, and what is between the steps.
    spent["read"] += time.process_time() - begun - sum(spent[step] for step in STEPS)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("ORIGINSET_BENCH_FOLDER")) as folder:
        study = Study(Path(folder) / "study")
        requests = generate_apart(study)
        say(f"originset {originset.__version__}, synthetic: {PAGES} pages, {requests} requests")
        say(f"peak memory before {peak():.0f} MiB")
        with timed("scan"):
            bare_scan(study)
        say(f"peak memory of the scan {peak():.0f} MiB")
        model(study)
    scan_cost = spent.pop("scan")
    say(f"{'bare scan of 18 columns':<26} {scan_cost:8.2f} cpu-s {scan_cost / requests * 1e9:19.0f} ns/request")
    for name, seconds in spent.items():
        say(f"{name:<26} {seconds:8.2f} cpu-s {seconds / scan_cost:7.2f} x {seconds / requests * 1e9:7.0f} ns/request")
    pages = sum(spent[name] for name in ("read", "page counts", "certificates", "timeline"))
    say(f"counts, certificates, timeline {pages / scan_cost:.2f} x the scan (to be at most 4)")
    evidence = pages + spent["evidence between hosts"] + spent["merging by evidence"]
    say(f"with evidence between hosts, and merging by it {evidence / scan_cost:.2f} x the scan")
    say(f"provider changes {spent['provider changes'] / scan_cost:.2f} x the scan (to be at most 4)")
    say(f"peak memory {peak():.0f} MiB (to be at most 2048)")


def generate_apart(study: Study) -> int:
    """In a process of its own, so that its memory is not the models'."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(generate, (study, PAGES))


if __name__ == "__main__":
    main()
