"""What differs in how two sides were recorded, and what is of no interest."""

from __future__ import annotations

import polars as pl

from originset.data.studies.database import open_database
from originset.queries.comparison.recording_differences import recording_differences, recording_facts


def facts(**values: str) -> pl.DataFrame:
    rows = [
        (None, name.replace("_", " ").replace("third party", "third-party"), value) for name, value in values.items()
    ]
    return pl.DataFrame(rows, schema={"group": pl.String, "what": pl.String, "value": pl.String}, orient="row")


def test_cookies_and_device_are_named() -> None:
    before = facts(browser="chromium 1", third_party_cookies="allowed", viewport="1200x900", user_agent="X")
    after = facts(browser="chromium 1", third_party_cookies="not known", viewport="390x844", user_agent="X Mobile")
    assert recording_differences(before, after) == [
        "viewport: 1200x900 and 390x844",
        "user agent: X and X Mobile",
        "third-party cookies: allowed and not known",
    ]


def test_another_browser_calls_itself_otherwise_as_a_matter_of_course() -> None:
    before, after = facts(browser="chromium 1", user_agent="X/1"), facts(browser="chromium 2", user_agent="X/2")
    assert recording_differences(before, after) == ["browser: chromium 1 and chromium 2"]
    assert recording_differences(before, before) == []


def test_vantages_differ_in_their_vantage_by_intention(study) -> None:
    with open_database(study) as connection:
        found = recording_facts(connection, "vantage")
    here, there = (found.filter(group=name) for name in ("here", "there"))
    assert here.filter(what="vantage")["value"].to_list() == ["here"]
    assert not any(said.startswith("vantage") for said in recording_differences(here, there, "vantage"))
    assert "vantage: here and there" in recording_differences(here, there)
    assert here.filter(what="limits of the recording")["value"].to_list() == ["none"]
