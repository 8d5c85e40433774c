"""What a page costs of CPU and disk through import, analyze, model and figures, in studies of three sizes.

1,000, 10,000 and 100,000 generated pages of 10 requests each, or as many as ``ORIGINSET_BENCH_SIZES`` says
(``1000,10000``), and the smallest once more with 100 requests each, for what of a page's cost is its requests'. Hosts
are drawn by Zipf's law from 600,000, each at an address of its own in one of the ASes of the built-in table; the rest
is as in tests/fixtures/generated_hars.py. CPU seconds are those of each command and all its processes; what a command
takes for a study of ten pages is its start, and is not counted to the pages of the others. Only cost means anything.
Run it by itself: ``make bench``, or ``python tests/benchmarks/bench_scaling.py``; it takes some 2 GB of disk.
"""

from __future__ import annotations

import gzip
import os
import random
import resource
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
import polars as pl

sys.path.append(str(Path(__file__).parents[1] / "fixtures"))
from generated_hars import generated_har

from originset.data.reference.snapshot import built_in_reference

SIZES = [int(size) for size in os.environ.get("ORIGINSET_BENCH_SIZES", "1000,10000,100000").split(",")]
REQUESTS, MANY, START = 10, 100, 10
STAGES = ("import", "analyze", "model", "figures")
LIMIT = 1.1
# Small studies take less than other processes disturb: their middle of so many.
RUNS = {START: 3, 1000: 3}
_HOSTS, _EXPONENT = 600_000, 1.05
_A_FOLDER = 1000


@dataclass
class Cost:
    """CPU seconds of each stage, and bytes on disk."""

    cpu: dict[str, float]
    tables: int
    database: int
    hars: int


class Pages:
    """HARs of pages whose hosts many pages share."""

    def __init__(self) -> None:
        weights = np.arange(1, _HOSTS + 1) ** -_EXPONENT
        self._cumulative = np.cumsum(weights / weights.sum())
        networks = pl.Series([f"{first}.{second}.7.7" for first in range(1, 224) for second in range(0, 256, 5)])
        announced = built_in_reference().ip_to_as.origins(networks)["asn"].is_not_null()
        self._networks = networks.filter(announced).str.extract(r"(\d+\.\d+)\.").to_list()
        random.Random(0).shuffle(self._networks)  # noqa: S311 - the same in every run

    def write(self, folder: Path, pages: int, requests: int) -> int:
        """Write so many HARs, compressed; their bytes."""
        size = 0
        for number in range(pages):
            place = folder / f"{number // _A_FOLDER:04d}"
            place.mkdir(parents=True, exist_ok=True)
            packed = gzip.compress(orjson.dumps(self._page(number, requests)), 1)
            (place / f"{number}.har.gz").write_bytes(packed)
            size += len(packed)
        return size

    def _page(self, number: int, requests: int) -> dict[str, object]:
        source = random.Random(number)  # noqa: S311 - invented values, the same in every run
        har = generated_har(source, f"site{number}.example", requests)
        renamed: dict[str, str] = {}
        for entry in har["log"]["entries"]:
            host = entry["request"]["url"].split("/", 3)[2]
            if host not in renamed:
                drawn = int(np.searchsorted(self._cumulative, source.random()))
                renamed[host] = host if host.startswith("www.site") else f"h{drawn}.d{drawn // 3}.example"
            name = renamed[host]
            entry["request"]["url"] = entry["request"]["url"].replace(host, name, 1)
            entry["request"]["headers"][0]["value"] = name
            entry["serverIPAddress"] = self._address(name)
            entry["connection"] = str(1 + list(renamed).index(host))
            del entry["_connectionId"]
        return har

    def _address(self, host: str) -> str:
        digest = zlib.crc32(host.encode())
        # A few networks serve most of what is popular.
        network = self._networks[int((digest % 1000 / 1000) ** 3 * len(self._networks))]
        return f"{network}.{digest >> 10 & 255}.{digest >> 18 & 255}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def cpu_of(study: Path, *arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call = [sys.executable, "-m", "originset", "--study", str(study), *arguments]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost_of(pages: Pages, number: int, requests: int) -> Cost:
    """One study of so many pages, made and removed."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("ORIGINSET_BENCH_FOLDER")) as folder:
        hars, study = Path(folder, "hars"), Path(folder, "study")
        size = pages.write(hars, number, requests)
        calls = {
            "import": ["import", str(hars), "--jobs", "1"],
            "analyze": ["analyze", "--jobs", "1"],
            "model": ["study", "model"],
            "figures": ["study", "figures", "--out", str(Path(folder, "figures"))],
        }
        runs = [{stage: cpu_of(study, *call) for stage, call in calls.items()}]
        return Cost(runs[0], _size(study / "tables"), (study / "study.duckdb").stat().st_size, size)


def middle_cost(pages: Pages, number: int, requests: int) -> Cost:
    """The middle of several studies of one size, stage by stage."""
    made = [cost_of(pages, number, requests) for _ in range(RUNS.get(number, 1))]
    made[0].cpu = {stage: float(np.median([cost.cpu[stage] for cost in made])) for stage in STAGES}
    spent = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in made[0].cpu.items())
    say(f"{number:,} pages of {requests} requests: {spent} CPU seconds, the start included")
    return made[0]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def table(costs: dict[int, Cost], start: Cost) -> None:
    say(f"CPU seconds for 1,000 pages of {REQUESTS} requests, beyond what the command takes to start")
    say(f"{'':>9}" + "".join(f"{size:>12,}" for size in costs) + f"{'start':>12}")
    for stage in STAGES:
        cells = "".join(f"{net(cost, start, size, stage):>12.3f}" for size, cost in costs.items())
        say(f"{stage:>9}{cells}{start.cpu[stage]:>10.2f} s")
    say(f"{'all':>9}" + "".join(f"{net_of_all(cost, start, size):>12.3f}" for size, cost in costs.items()))
    for name in ("tables", "database", "hars"):
        say(f"{name:>9}" + "".join(f"{getattr(cost, name) / size:>12,.0f}" for size, cost in costs.items()) + " B/page")


def net(cost: Cost, start: Cost, pages: int, stage: str) -> float:
    return (cost.cpu[stage] - start.cpu[stage]) / (pages - START) * 1000


def net_of_all(cost: Cost, start: Cost, pages: int) -> float:
    return sum(net(cost, start, pages, stage) for stage in STAGES)


def main() -> int:
    pages = Pages()
    start = middle_cost(pages, START, REQUESTS)
    costs = {size: middle_cost(pages, size, REQUESTS) for size in SIZES}
    many = middle_cost(pages, SIZES[0], MANY)
    table(costs, start)
    for smaller, larger in pairwise(costs):
        steps = {
            stage: net(costs[larger], start, larger, stage) / net(costs[smaller], start, smaller, stage)
            for stage in STAGES
        }
        told = ", ".join(f"{stage} {step:.2f}" for stage, step in steps.items())
        say(f"from {smaller:,} to {larger:,} pages a page costs: {told}")
    few = costs[SIZES[0]]
    say(f"a page of {MANY} requests ({SIZES[0]:,} pages): CPU seconds for 1,000 pages; and for 1,000,000 requests more")
    for stage in STAGES:
        per_request = (many.cpu[stage] - few.cpu[stage]) / SIZES[0] / (MANY - REQUESTS)
        say(f"{stage:>9}{net(many, start, SIZES[0], stage):>12.3f}{per_request * 1e6:>12.2f}")
    say(f"   tables{many.tables / SIZES[0]:>12,.0f} B/page; database {many.database / SIZES[0]:,.0f} B/page")
    first, last = (net_of_all(costs[size], start, size) for size in (SIZES[0], SIZES[-1]))
    say(f"a page of the largest costs {last / first:.2f} times one of the smallest (to be at most {LIMIT})")
    return 0 if last <= LIMIT * first else 1


if __name__ == "__main__":
    sys.exit(main())
