"""A crawl of the testbed during which the network goes away: the whole command, in a process of its own.

``make soak`` crawls 1,000 sites; otherwise it is 12, with the same assertions.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from originset.crawler.testbed.many_sites import many_sites
from originset.crawler.testbed.testbed import Testbed
from originset.data.captures.capture import capture_paths, decode_extension, read_capture_bytes
from originset.data.studies.study import Study

pytestmark = [pytest.mark.testbed, pytest.mark.browser]

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
PATIENCE_S = 3600 if FULL else 240
SITES = 1000 if FULL else 12


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def outage() -> Iterator[None]:
    """No address is reached, whatever it is: each packet finds a route that refuses it."""
    for family in ("-4", "-6"):
        # The rule for local addresses comes first of all, unless there is another.
        ip(family, "rule", "add", "pref", "10", "lookup", "local")
        ip(family, "rule", "del", "pref", "0")
        ip(family, "rule", "add", "pref", "5", "unreachable")
    try:
        yield
    finally:
        for family in ("-4", "-6"):
            ip(family, "rule", "del", "pref", "5")
            ip(family, "rule", "add", "pref", "0", "lookup", "local")
            ip(family, "rule", "del", "pref", "10")


class Crawl:
    """A running ``originset crawl``; what it says is read as it comes."""

    def __init__(self, testbed: Testbed, folder: Path, sites: list[str], *arguments: str) -> None:
        self.study = Study(folder / "study")
        (folder / "sites.txt").write_text("\n".join(sites))
        command = [sys.executable, "-m", "originset", "--study", str(self.study.root), "crawl"]
        self._process = subprocess.Popen(
            [*command, str(folder / "sites.txt"), "--retries", "0", *arguments],
            env={**os.environ, **testbed.environment},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stderr:
            self.said.extend(stderr)

    def wait_for(self, what: str, count: int) -> None:
        """Until so many lines have these words, or so many captures are there."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = self.captures() if what == "captures" else sum(what in line for line in list(self.said))
            if found >= count:
                return
            assert self._process.poll() is None, self.said
            time.sleep(0.1)
        pytest.fail(f"no {count} times {what!r} in {PATIENCE_S} s: {self.said}")

    def captures(self) -> int:
        return sum(1 for _ in capture_paths(self.study.captures)) if self.study.captures.exists() else 0

    def end(self) -> int:
        code = self._process.wait(PATIENCE_S)
        self._reader.join()
        return code

    def outcomes(self) -> Counter[tuple[str, str, str | None]]:
        visits = [
            decode_extension(read_capture_bytes(path), str(path)).visit for path in capture_paths(self.study.captures)
        ]
        return Counter((visit.site, visit.status, visit.error) for visit in visits)


@pytest.mark.soak
@pytest.mark.timeout(2 * PATIENCE_S)
def test_no_site_fails_for_three_outages(tmp_path: Path) -> None:
    scenario = dataclasses.replace(many_sites(SITES), dns_address="192.0.2.57")
    with Testbed(scenario, tmp_path / "lab") as testbed:
        crawl = Crawl(testbed, tmp_path, [*testbed.sites, "gone.test"], "--jobs", "2")
        for number in (1, 2, 3):
            crawl.wait_for("captures", SITES * number // 6)
            with outage():
                crawl.wait_for("this machine has no network", number)
                there = crawl.captures()
                time.sleep(1)
                assert crawl.captures() == there, "it waits"
            crawl.wait_for("this machine has a network again", number)
        assert crawl.end() == 0, crawl.said
    assert crawl.outcomes() == {("gone.test", "failed", "dns"): 1, **{(site, "ok", None): 1 for site in testbed.sites}}


def test_a_crawl_of_which_too_much_fails_stops(testbed: Testbed, tmp_path: Path) -> None:
    sites = ["anna.test", *(f"n{number}.gone.test" for number in range(29))]
    known_good = ("--known-good", "anna.test")
    crawl = Crawl(testbed, tmp_path, sites, "--jobs", "1", "--fail-above", "40", *known_good)
    assert crawl.end() == 1
    said = "".join(crawl.said)
    assert "of 20 visits failed, more than 40 %" in said
    assert "10 visits left over" in said
    assert crawl.captures() == 20
    again = Crawl(testbed, tmp_path, ["anna.test"], "--jobs", "1", "--fail-above", "40", *known_good)
    assert again.end() == 0, again.said
