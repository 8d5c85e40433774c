"""A crawl of the testbed during which the network goes away: the whole command, in a process of its own."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest
from running_crawl import FULL, PATIENCE_S, Crawl, outage

from originset.crawler.testbed.many_sites import many_sites
from originset.crawler.testbed.testbed import Testbed

pytestmark = [pytest.mark.testbed, pytest.mark.browser]

SITES = 1000


@pytest.mark.soak
@pytest.mark.skipif(not FULL, reason="tests/cli/test_crawl_session.py has an outage in few seconds")
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
