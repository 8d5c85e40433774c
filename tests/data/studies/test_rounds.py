"""What ``study.json`` tells of the settings of each round, also of a study from before it did."""

from __future__ import annotations

from typing import Any

from originset.data.studies.rounds import differences, mixed_rounds, round_entries, settings_by_round

CHROMIUM = {"browser": "chromium", "browser_version": "150.0", "device": "desktop", "family": None}
FIREFOX = {"browser": "firefox", "browser_version": "140.0", "device": "desktop", "family": None}


def entry(number: int, settings: dict[str, Any], vantage: str = "lab") -> dict[str, Any]:
    return {"vantage": vantage, "round": number, "settings": settings}


def crawl_run(number: int, browser: str, made: dict[str, int]) -> dict[str, Any]:
    parameters = {"vantage": "lab", "round": number, "browser": browser, "family": None, "timeout_s": 30.0}
    return {"command": "crawl", "parameters": parameters, "counts": {"made": made}}


def test_differences_are_told_and_what_is_not_known_is_none() -> None:
    assert differences(CHROMIUM, CHROMIUM) == []
    assert differences(CHROMIUM, FIREFOX) == ["browser chromium, not firefox", "browser version 150.0, not 140.0"]
    assert differences(CHROMIUM, {"browser": "chromium", "family": "6", "profile": "paper-2022"}) == [
        "family none, not 6"
    ]


def test_rounds_of_earlier_studies_are_those_of_their_crawls() -> None:
    runs = [crawl_run(1, "chromium", {"ok": 3}), crawl_run(1, "firefox", {"ok": 1}), crawl_run(2, "firefox", {})]
    runs.append({"command": "crawl", "parameters": {"vantage": "lab", "round": []}, "counts": {"made": {"ok": 1}}})
    manifest = {"runs": [*runs, {"command": "import", "parameters": {}, "counts": {}}]}
    assert round_entries(manifest) == [entry(1, {"browser": "chromium", "family": None})]
    manifest["rounds"] = [entry(1, FIREFOX)]
    assert round_entries(manifest) == [entry(1, FIREFOX)], "what was recorded comes first"


def test_rounds_by_vantage_and_those_that_are_mixed() -> None:
    entries = [entry(1, CHROMIUM), entry(2, FIREFOX), entry(1, FIREFOX), entry(1, CHROMIUM, "home")]
    assert settings_by_round(entries, "lab") == {1: [CHROMIUM, FIREFOX], 2: [FIREFOX]}
    assert mixed_rounds(entries) == [("lab", 1)]
