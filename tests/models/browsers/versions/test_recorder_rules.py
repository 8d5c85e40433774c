"""Which rules a recording's browser follows, and what is decided by them."""

from __future__ import annotations

import polars as pl
import pytest

from originset.data.reference.browser_rules import browser_rules, rule_sets
from originset.models.browsers.versions.recorder_rules import by_recorder, recorder_rules

TODAYS = {browser: rules.version for browser, rules in browser_rules().items()}


def visits(*made_by: tuple[str | None, str | None]) -> pl.DataFrame:
    return pl.DataFrame(made_by, schema={"browser": pl.String, "browser_version": pl.String}, orient="row")


@pytest.mark.parametrize(
    ("browser", "version", "heeds_over", "taken"),
    [
        ("chromium", "88.0.4324.182", [], "88.0.4298.0"),
        ("chromium-headless-shell", "95.0.4638.54", [], "92.0.4512.0"),
        ("chromium", TODAYS["chromium"], ["h3"], TODAYS["chromium"]),
        ("chromium", None, ["h3"], TODAYS["chromium"]),
        ("firefox", None, ["h2"], TODAYS["firefox"]),
    ],
)
def test_the_recorders_own_version_decides(
    browser: str, version: str | None, heeds_over: list[str], taken: str
) -> None:
    row = recorder_rules(visits((browser, version))).row(0, named=True)
    assert row["rules_version"] == taken
    assert sorted(rule_sets()[row["rules"]].origin_permits) == heeds_over


def test_of_a_browser_that_nobody_observed_the_rules_are_not_known() -> None:
    assert recorder_rules(visits(("safari", "17.0"), (None, None))).rows() == [(None, None)] * 2


def test_each_recording_is_decided_by_its_own_rules_and_by_todays_chromiums_without_any() -> None:
    made_by = visits(("chromium", "88"), ("chromium", "156"), ("firefox", "153"), ("safari", "17"))
    heeded = recorder_rules(made_by).select(by_recorder("origin_permits", lambda over: pl.lit(sorted(over).__repr__())))
    assert heeded.to_series().to_list() == ["[]", "['h3']", "['h2']", "['h3']"]
