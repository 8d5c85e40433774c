"""The rules of a browser's version: those of the nearest older one that was observed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from originset.crawler.testbed.rules.versions.version_changes import columns
from originset.data.reference.browser_rules import browser_rules, rules_of_version

CHROMIUM = browser_rules()["chromium"]


@pytest.mark.parametrize(
    ("version", "taken", "heeds_origin"),
    [
        ("88.0.4298.0", "88.0.4298.0", False),
        ("88.0.4324.182", "88.0.4298.0", False),  # the next that was observed is newer
        ("88", "88.0.4298.0", False),
        ("110.0.0.0", "110.0.5478.0", False),  # as User-Agent headers have it
        ("90.0.4430.72", "88.0.4298.0", False),
        ("41.0.2272.76", "72.0.3617.0", False),  # before all that were observed
        ("131.0.6778.0", "131.0.6778.0", True),
        ("999.0", CHROMIUM.version, True),
        (CHROMIUM.version, CHROMIUM.version, True),
        (None, CHROMIUM.version, True),
        ("unknown", CHROMIUM.version, True),
    ],
)
def test_the_nearest_older_version_is_taken(version: str | None, taken: str, heeds_origin: bool) -> None:
    rules = rules_of_version("chromium", version)
    assert rules.version == taken
    assert bool(rules.origin_permits) is heeds_origin
    same = {"origin_permits": frozenset[str](), "origin_skips_lookup": frozenset[str](), "version": ""}
    assert replace(rules, origin_carries_others=frozenset(), **same) == replace(
        CHROMIUM, origin_carries_others=frozenset(), **same
    )


def test_of_a_browser_without_rules_none_are_made_up() -> None:
    with pytest.raises(KeyError):
        rules_of_version("safari", "17.0")


@pytest.mark.parametrize("browser", list(browser_rules()))
def test_versions_that_rules_name_were_observed(browser: str) -> None:
    """Each one in the testbed, over all rules."""
    for column in columns():
        if column.browser == browser:
            assert rules_of_version(browser, column.version).version == column.version
