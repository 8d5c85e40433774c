"""Visits at a time: how many a minute, what each takes, and whether what is recorded depends on how many there are.

The testbed's sites are crawled with one browser, with one again, with two and with eight, each into a study of its own.
Printed are CPU seconds a visit (``cpu_of.py``, starts of browsers included), visits a minute by the clock, what the
recordings have in common with those of the first crawl (``recorded_visits.py``), the median load time, and redundant
connections a visit by cause. The second crawl with one browser says how much two crawls differ by chance.

``ORIGINSET_BENCH_VISITS``: visits to each site, 5 by default, which take five minutes.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from recorded_visits import ASPECTS, in_common, recording

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.namespace import in_namespace, run_inside
from originset.crawler.testbed.testbed import Testbed
from originset.data.captures.capture import capture_paths, decode_extension, read_capture_bytes

JOBS = (1, 1, 2, 8)
REPEATS = os.environ.get("ORIGINSET_BENCH_VISITS", "5")
FAILING = {"gone.test", "refused.test", "expired.test"}
HERE = Path(__file__).resolve().parent
FIGURES = """
SELECT 'load_ms' AS figure, median(load_ms) AS value FROM visits
UNION ALL SELECT cause, count(*) / (SELECT count(*) FROM visits) FROM redundant_connections GROUP BY cause
ORDER BY figure
"""

Loads = list[tuple[str, dict[str, str]]]


def originset(*words: str, environment: dict[str, str]) -> tuple[str, float]:
    """What a command prints, and its CPU seconds with all that it starts."""
    command = [sys.executable, "-P", str(HERE / "cpu_of.py"), sys.executable, "-m", "originset", *words]
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True)
    printed, _, seconds = done.stdout.rstrip("\n").rpartition("\n")
    return printed, float(seconds)


def recordings(captures: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Site and recording of each capture."""
    for path in capture_paths(captures):
        text = read_capture_bytes(path)
        extension = decode_extension(text, str(path))
        yield extension.visit.site, recording(msgspec.json.decode(text)["log"], extension)


def crawl(study: Path, sites: Path, jobs: int, environment: dict[str, str]) -> Loads:
    """Crawl the sites, and print a line of it."""
    of_study = ("--study", str(study))
    words = (*of_study, "crawl", str(sites), "--jobs", str(jobs), "--repeat", REPEATS)
    began = time.monotonic()
    _, seconds = originset(*words, environment=environment)
    minutes = (time.monotonic() - began) / 60
    originset(*of_study, "analyze", environment=environment)
    rows, _ = originset(*of_study, "query", "--sql", FIGURES, "--format", "csv", environment=environment)
    figures = " ".join(f"{row['figure']} {float(row['value']):.2f}" for row in csv.DictReader(rows.splitlines()))
    loads = list(recordings(study / "captures"))
    rate, each = len(loads) / minutes, seconds / len(loads)
    say(f"{jobs} at a time: {rate:.0f} visits a minute, {each:.3f} CPU-s a visit; {figures}")
    return loads


def bench() -> None:
    with tempfile.TemporaryDirectory() as name, Testbed(scenario_file.built_in(), Path(name) / "testbed") as testbed:
        folder = Path(name)
        sites = folder / "sites.txt"
        sites.write_text("\n".join(site for site in testbed.sites if site not in FAILING))
        first: Loads = []
        for number, jobs in enumerate(JOBS):
            loads = crawl(folder / f"study-{number}", sites, jobs, testbed.environment)
            first = first or loads
            common = in_common(loads, first)
            say("  in common: " + ", ".join(f"{aspect} {100 * common[aspect]:.1f} %" for aspect in ASPECTS))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    if not in_namespace():
        return run_inside([sys.executable, __file__], os.environ)
    bench()
    return 0


if __name__ == "__main__":
    sys.exit(main())
