"""A core of the rules in the installed browsers, against what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from healthy_testbed import healthy_testbed

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.observation_differences import connection_counts, differences, is_known_outcome
from originset.crawler.testbed.rules.observations import Browser, Cookies, Observations
from originset.crawler.testbed.rules.rule_observation import observe_rules
from originset.crawler.testbed.testbed import Testbed
from originset.data.captures import capture

pytestmark = [pytest.mark.testbed, pytest.mark.browser, pytest.mark.alone]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with healthy_testbed(
        rule_catalogue.combined_scenario(rule_catalogue.CORE), tmp_path_factory.mktemp("rules") / "core"
    ) as running:
        yield running


@pytest.mark.parametrize("browser", get_args(Browser))
@pytest.mark.parametrize("cookies", get_args(Cookies))
def test_the_core_is_as_it_was(core: Testbed, browser: Browser, cookies: Cookies, tmp_path: Path) -> None:
    rules = list(rule_catalogue.CORE) if cookies == "allowed" else ["address-same-cross-site"]
    stored = rule_catalogue.observations()
    version, cells = observe_rules(core, rules, browser, cookies, loads=1, captures=tmp_path)
    assert [cell.key for cell in cells] == [(rule, browser, cookies) for rule in rules]
    wrong = [cell.rule for cell in cells if not is_known_outcome(stored.cell(*cell.key), cell)]
    if wrong:  # by chance, or is it so?
        _, cells = observe_rules(core, wrong, browser, cookies, loads=3)
        wrong = [
            f"{cell.rule}: {connection_counts(cell)}"
            for cell in cells
            if not is_known_outcome(stored.cell(*cell.key), cell)
        ]
    assert wrong == [], (
        f"{browser} {version} does something else than {stored.versions[browser]} did, of which the observations are;"
        " to observe the rules again: make rules"
    )
    if browser == "chromium":
        sites = {
            capture.decode_extension(capture.read_capture_bytes(path), path.name).visit.site
            for path in capture.capture_paths(tmp_path)
        }
        assert sites == {rule_catalogue.scenario(rule).sites[0] for rule in rules}


def test_differences_are_told() -> None:
    stored = rule_catalogue.observations()
    assert list(differences(stored, stored)) == []
    nothing = Observations({"firefox": "1.0"}, "", "none", 1, ())
    told = list(differences(nothing, stored))
    assert told[0].startswith("chromium: never observed -> ")
    assert told[1].startswith("firefox: 1.0 -> ")
    assert len(told) == 2 + len(stored.cells)
