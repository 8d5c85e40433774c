"""NetLogs of other versions of Chromium: who shared a connection by them, and by the servers' own logs."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from healthy_testbed import healthy_testbed

from originset.analysis.netlog.netlog_captures import netlog_captures
from originset.crawler.browsers.engine import find_binary
from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.observations import Cell
from originset.crawler.testbed.rules.rule_observation import observe_with
from originset.crawler.testbed.rules.versions.browser_packages import default_cache, fetched_binary, package_of
from originset.crawler.testbed.rules.versions.packaged_chromium import PackagedChromium

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
VERSIONS = ["88", "92", "103", "119", "131"] if FULL else ["installed"]
# Rules in one testbed, which has an address for each of their hosts.
AT_ONCE = 26

pytestmark = [pytest.mark.testbed, pytest.mark.browser, pytest.mark.soak, pytest.mark.alone]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", VERSIONS)
def test_shared_connections_are_the_servers(version: str, tmp_path: Path) -> None:
    """All rules in five versions by make soak; in CI every tenth, in the installed headless-shell."""
    if version == "installed":
        binary, rules = Path(find_binary("headless-shell")), rule_catalogue.rule_names()[::10]
    else:
        binary = fetched_binary(package_of(f"chromium@{version}"), default_cache())
        rules = rule_catalogue.rule_names()
    for start in range(0, len(rules), AT_ONCE):
        differing = compared(binary, rules[start : start + AT_ONCE], tmp_path / str(start))
        assert not differing, differing


def compared(binary: Path, rules: list[str], folder: Path) -> dict[str, object]:
    """Rules by which a NetLog has other requests on one connection than the servers, with both."""
    netlog = folder / "netlog.json"
    flags = (f"--log-net-log={netlog}", "--net-log-capture-mode=Everything")
    with healthy_testbed(rule_catalogue.combined_scenario(rules), folder / "testbed") as testbed:
        driver = PackagedChromium(testbed, binary, "headless-shell", flags)
        _, cells = observe_with(driver, testbed, rules, "chromium", "allowed", loads=1)
        pages = {rule: testbed.scenario.url_of(rule_catalogue.scenario(rule).sites[0]) for rule in rules}
    read = by_netlog(netlog)
    assert set(read) == set(pages.values())
    return {
        cell.rule: (logged, read[pages[cell.rule]])
        for cell in cells
        if (logged := by_servers(cell)) != read[pages[cell.rule]]
    }


def by_servers(cell: Cell) -> list[set[str]]:
    """Answered requests of each connection."""
    answered = (set(one.requests) - set(one.misdirected) for one in cell.majority.connections)
    return sorted(filter(None, answered), key=sorted)


def by_netlog(path: Path) -> dict[str, list[set[str]]]:
    """The same of each page, by its URL."""
    found = {}
    for har, extension in netlog_captures(path.read_bytes(), path.name).visits:
        carried: defaultdict[str, set[str]] = defaultdict(set)
        for entry in har.entries:
            if entry.connection:
                url = urlsplit(entry.request.url)
                carried[entry.connection].add(f"{url.hostname}{url.path}")
        found[extension.visit.url] = sorted(carried.values(), key=sorted)
    return found
