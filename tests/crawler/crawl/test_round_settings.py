"""A crawl with other settings than its round has is refused, or takes a round of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from originset.crawler.crawl.round_settings import RoundRecord, settle_round
from originset.crawler.settings import CrawlSettings, VisitSettings
from originset.data.captures.capture import Visit
from originset.data.errors import StudyError
from originset.data.studies.study import Study

CHROMIUM = CrawlSettings(vantage="lab")
FIREFOX = CrawlSettings(vantage="lab", visit=VisitSettings(browser="firefox"))


def visited(version: str | None) -> Visit:
    return Visit(
        visit_id="0" * 16,
        site="a.test",
        url="https://a.test/",
        started_at="2026-11-21T10:00:00.000000Z",
        status="ok",
        browser_version=version,
    )


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study(tmp_path / "study")
    study.create()
    return study


def begin(study: Study, settings: CrawlSettings, version: str) -> None:
    assert RoundRecord(study, settings).refusal(visited(version)) is None


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (FIREFOX, "browser chromium, not firefox"),
        (replace(CHROMIUM, visit=VisitSettings(device="mobile")), "device desktop, not mobile"),
        (
            replace(CHROMIUM, visit=VisitSettings(third_party_cookies="blocked")),
            "third party cookies allowed, not blocked",
        ),
        (replace(CHROMIUM, visit=VisitSettings(family="6")), "family none, not 6"),
        (replace(CHROMIUM, visit=VisitSettings(consent="accept")), "consent leave, not accept"),
        (replace(CHROMIUM, profile="paper-2022"), "profile none, not paper-2022"),
        (replace(CHROMIUM, visit=VisitSettings(profile_per_visit=True)), "profile per visit none, not yes"),
    ],
)
def test_other_settings_are_refused_or_a_round_of_their_own(study: Study, other: CrawlSettings, told: str) -> None:
    begin(study, CHROMIUM, "150.0")
    with pytest.raises(StudyError, match=told) as refused:
        settle_round(study, other)
    assert "round 1 of vantage lab" in str(refused.value)
    assert "--as-round" in str(refused.value)
    own = settle_round(study, replace(other, as_round=True))
    assert own.round_number == 2
    begin(study, own, "150.0")
    assert settle_round(study, replace(other, as_round=True)).round_number == 2, "and goes on with that"
    assert settle_round(study, replace(CHROMIUM, as_round=True)).round_number == 1
    assert settle_round(study, replace(other, vantage="home")).round_number == 1, (
        "another vantage has rounds of its own"
    )


def test_a_round_without_visits_is_bound_to_nothing(study: Study) -> None:
    RoundRecord(study, FIREFOX)
    assert settle_round(study, CHROMIUM) == CHROMIUM
    assert settle_round(Study(study.root / "none"), CHROMIUM) == CHROMIUM


def test_what_may_differ(study: Study) -> None:
    begin(study, CHROMIUM, "150.0")
    slower = replace(CHROMIUM, visit=VisitSettings(timeout_s=90, contact="a@b.example"), jobs=9, retries=0, internal=2)
    assert settle_round(study, slower) == slower


def test_another_version_of_the_browser(study: Study) -> None:
    begin(study, CHROMIUM, "150.0")
    record = RoundRecord(study, CHROMIUM)
    assert record.refusal(visited("150.0")) is None
    assert record.refusal(visited(None)) is None, "a browser that never started tells none"
    refusal = record.refusal(visited("151.0"))
    assert "browser version 150.0, not 151.0" in str(refusal)
    assert study.manifest()["rounds"] == [
        {
            "vantage": "lab",
            "round": 1,
            "settings": {
                "browser": "chromium",
                "device": "desktop",
                "third_party_cookies": "allowed",
                "consent": "leave",
                "family": None,
                "profile": None,
                "profile_per_visit": None,
                "browser_version": "150.0",
            },
        }
    ]
    assert settle_round(study, replace(CHROMIUM, as_round=True), "151.0").round_number == 2
    assert settle_round(study, replace(CHROMIUM, as_round=True), "150.0").round_number == 1


def test_a_round_from_before_versions_were_recorded_gets_one(study: Study) -> None:
    run = {
        "run_id": 1, "command": "crawl", "version": "0.1.0", "started_at": "2026-11-21T10:00:00+00:00",
        "parameters": {"vantage": "lab", "round": 1, "browser": "chromium"}, "ended_at": None,
        "counts": {"made": {"ok": 1}},
    }  # fmt: skip
    study.update_manifest(runs=[run])
    with pytest.raises(StudyError, match="browser chromium, not firefox"):
        settle_round(study, FIREFOX)
    record = RoundRecord(study, CHROMIUM)
    assert record.refusal(visited("150.0")) is None
    assert record.refusal(visited("151.0")) is not None
    assert len(study.manifest()["rounds"]) == 1
