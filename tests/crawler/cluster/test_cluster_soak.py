"""A cluster of three workers in three network namespaces: one killed, one frozen, one cut off while they crawl.

``make soak`` does that 20 times over 300 sites; otherwise once over 24, with the same assertions.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cluster_lab import Papers, Worker, cluster, many_sites, wait_until

from originset.crawler.cluster.cluster_crawl import SILENCE_S
from originset.crawler.testbed.testbed import Testbed
from originset.data.captures.capture import capture_paths, decode_extension, read_capture_bytes
from originset.data.studies.study import Study

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
RUNS, SITES = (20, 300) if FULL else (1, 24)
LONGEST_S = 600

pytestmark = [
    pytest.mark.soak,
    pytest.mark.browser,
    pytest.mark.testbed,
    pytest.mark.timeout(7200 if FULL else 300),
]


@pytest.fixture
def scratch() -> Iterator[Path]:
    # Not below pytest's folder: the name of a socket has to be short.
    folder = Path(tempfile.mkdtemp(prefix="cl-"))
    yield folder
    shutil.rmtree(folder)


def captures(study: Study) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in capture_paths(study.captures)}


def ledger(study: Study) -> list[tuple[str, str, int]]:
    with closing(sqlite3.connect(study.ledger_path)) as connection:
        return connection.execute("SELECT site, state, attempts FROM visits ORDER BY site").fetchall()


class Faults:
    """What befalls three workers in one run, each as soon as some number of visits has been recorded."""

    def __init__(self, workers: list[Worker], chance: random.Random) -> None:
        self._killed, self._frozen, self._cut = chance.sample(workers, 3)
        strikes: list[Callable[[], None]] = [self._kill, self._freeze, self._cut_off]
        self._to_come = [(chance.randint(1, SITES // 2), strike) for strike in strikes]
        # In some runs they come back while the crawl goes on, long after it gave them up, in others after it has ended.
        self._relents_after_s = chance.choice([SILENCE_S * 1.5, None])
        self._relents_at: float | None = None
        self.struck: list[str] = []

    def look(self, recorded: int) -> None:
        for moment in [moment for moment in self._to_come if moment[0] <= recorded]:
            self._to_come.remove(moment)
            moment[1]()
            self.struck.append(f"{moment[1].__name__.strip('_')} at {recorded}")
            if self._relents_after_s is not None:
                self._relents_at = time.monotonic() + self._relents_after_s
        if self._relents_at is not None and time.monotonic() >= self._relents_at and not self._to_come:
            self.relent()
            self._relents_at = None

    def relent(self) -> None:
        self._frozen.send(signal.SIGCONT)
        self._cut.plug("up")

    def _kill(self) -> None:
        self._killed.send(signal.SIGKILL)

    def _freeze(self) -> None:
        self._frozen.send(signal.SIGSTOP)

    def _cut_off(self) -> None:
        self._cut.plug("down")


def test_workers_that_are_killed_frozen_and_cut_off(tmp_path: Path, scratch: Path) -> None:
    sites = tmp_path / "sites.txt"
    with Testbed(many_sites(SITES), tmp_path / "testbed") as testbed:
        sites.write_text("\n".join(testbed.sites))
        with cluster(tmp_path, scratch, testbed) as (address, papers, workers):
            for number in range(RUNS):
                wait_until(lambda: all(worker.keep_running() for worker in workers), "worker")
                study = Study(tmp_path / f"study{number}")
                said = crawl_once(address, papers, workers, study, sites, random.Random(number))  # noqa: S311 - moments
                check_once(study, set(testbed.sites))
                print(f"run {number + 1} of {RUNS}: {said}", flush=True)  # noqa: T201
                shutil.rmtree(study.root)


def crawl_once(  # noqa: PLR0917 - what a run consists of
    address: str, papers: Papers, workers: list[Worker], study: Study, sites: Path, chance: random.Random
) -> str:
    command = [sys.executable, "-m", "originset", "--study", str(study.root), "crawl", str(sites)]
    command += ["--browser", "headless-shell", "--timeout", "15", "--cluster", address, *papers.options]
    began = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        faults = Faults(workers, chance)
        while process.poll() is None:
            assert time.monotonic() - began < LONGEST_S, f"the crawl does not end: {Counter(ledger(study))}"
            faults.look(len(captures(study)))
            for worker in workers:
                worker.keep_running()
            time.sleep(0.1)
        _, said = process.communicate()
    assert process.returncode == 0, said
    assert len(faults.struck) == 3, f"it was over before all was tried: {faults.struck}"
    before = captures(study), ledger(study)
    faults.relent()
    for worker in workers:
        wait_until(lambda worker=worker: not worker.browsers(), "end of the browsers")
    assert (captures(study), ledger(study)) == before, "something came late and changed what was recorded"
    again = sum(attempts - 1 for _, _, attempts in before[1])
    return f"{', '.join(faults.struck)}; {again} leases more than visits; {time.monotonic() - began:.0f} s"


def check_once(study: Study, sites: set[str]) -> None:
    visits = [decode_extension(read_capture_bytes(path), str(path)).visit for path in capture_paths(study.captures)]
    assert Counter(visit.site for visit in visits) == Counter(sites)
    assert {visit.status for visit in visits} == {"ok"}
    assert [(site, state) for site, state, _ in ledger(study)] == sorted((site, "done") for site in sites)
    assert list(study.root.rglob("*.tmp")) == []
