"""A headless-shell as packages have it: the installed one, by the driver that old ones are observed with."""

from __future__ import annotations

from pathlib import Path

import pytest
from healthy_testbed import healthy_testbed

from originset.crawler.browsers.engine import find_binary
from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.rule_observation import observe_with
from originset.crawler.testbed.rules.versions.packaged_chromium import PackagedChromium

pytestmark = [pytest.mark.testbed, pytest.mark.browser, pytest.mark.alone]


def test_rules_are_observed_without_a_netlog(tmp_path: Path) -> None:
    rules = ["address-same", "address-different"]
    binary = Path(find_binary("headless-shell"))
    with healthy_testbed(rule_catalogue.combined_scenario(rules), tmp_path / "testbed") as testbed:
        driver = PackagedChromium(testbed, binary, "headless-shell")
        version, cells = observe_with(driver, testbed, rules, "chromium", "allowed", loads=1)
    assert version.count(".") == 3
    assert [(cell.used, cell.majority.missing) for cell in cells] == [((1,), ()), ((2,), ())]
