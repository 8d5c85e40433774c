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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import polars as pl
from generated_study import generate

from originset.data.schema import COLOCATION_EVIDENCE, REQUESTS, TABLES, Stage
from originset.data.shards import scan, shard_paths
from originset.data.study import Study
from originset.models.colocated import colocated_hosts
from originset.models.documents import documents
from originset.models.evidence import SAME_EDGE, colocation_evidence, pair_levels
from originset.models.page_counts import page_counts
from originset.models.parameters import Parameters
from originset.models.parts import parts
from originset.models.provider_changes import carried, provider_changes
from originset.models.site_certificates import certificate_additions, site_certificates
from originset.models.timeline import page_load_times

PAGES = int(os.environ.get("ORIGINSET_BENCH_PAGES", "31580"))
# Evidence of every pair of hosts is a step of its own; without it the ladder's upper rungs merge nothing.
EVIDENCE = os.environ.get("ORIGINSET_BENCH_EVIDENCE") == "1"

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


def model(study: Study) -> None:
    stages = (Stage.ROWS, Stage.RESOLVED)
    tables = {name: scan(study, name) for name, table in TABLES.items() if table.stage in stages}
    parameters = Parameters()
    evidence = COLOCATION_EVIDENCE.polars_schema.to_frame()
    if EVIDENCE:
        with timed("evidence"):
            evidence = colocation_evidence(tables)
    with timed("evidence"):
        levels = pair_levels(evidence.lazy(), SAME_EDGE).collect().lazy()
    kept: defaultdict[str, list[pl.DataFrame]] = defaultdict(list)
    remaining = parts(tables, parameters.colocation)
    while True:
        with timed("read"):
            part = next(remaining, None)
        if part is None:
            break
        with timed("certificates"):
            own = documents(part, parameters.colocation).collect()
            kept["documents"].append(own)
            kept["colocated"].append(colocated_hosts(part, own.lazy(), parameters.colocation))
        with timed("timeline"):
            kept["page_load_times"].append(page_load_times(part, parameters))
        with timed("page counts"):
            kept["page_counts"].append(page_counts(part, levels, parameters))
        with timed("provider changes"):
            kept["carried"].append(carried(part, own.lazy(), parameters))
    whole = {name: pl.concat(frames) for name, frames in kept.items()}
    own_lazy = whole["documents"].lazy()
    with timed("certificates"):
        additions = certificate_additions(tables, evidence.lazy(), own_lazy, whole["colocated"].lazy(), parameters)
        site_certificates(tables, own_lazy, additions.lazy())
    with timed("provider changes"):
        provider_changes(tables, own_lazy, whole["carried"], parameters)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("ORIGINSET_BENCH_FOLDER")) as folder:
        study = Study(Path(folder) / "study")
        requests = generate_apart(study)
        say(f"synthetic: {PAGES} pages, {requests} requests; peak memory before {peak():.0f} MiB")
        with timed("scan"):
            bare_scan(study)
        say(f"peak memory of the scan {peak():.0f} MiB")
        model(study)
    scan_cost = spent.pop("scan")
    say(f"{'bare scan of 18 columns':<26} {scan_cost:8.2f} cpu-s")
    for name, seconds in spent.items():
        say(f"{name:<26} {seconds:8.2f} cpu-s {seconds / scan_cost:7.2f} x {seconds / requests * 1e9:7.0f} ns/request")
    pages = sum(spent[name] for name in ("read", "certificates", "timeline", "page counts"))
    say(f"counts, certificates, timeline {pages / scan_cost:.2f} x the scan (to be at most 4)")
    say(f"provider changes {spent['provider changes'] / scan_cost:.2f} x the scan (to be at most 4)")
    say(f"peak memory {peak():.0f} MiB (to be at most 2048)")


def generate_apart(study: Study) -> int:
    """In a process of its own, so that its memory is not the models'."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(generate, (study, PAGES))


if __name__ == "__main__":
    main()
