"""Chromium, told to use nothing but QUIC, sees over HTTP/3 what the situations' files say."""

from __future__ import annotations

import os

import pytest
from lab_lint import require_servers
from lab_visits import lab_testbed, visited

from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.server_lab.situation_observation import running_situation
from originset.crawler.testbed.server_lab.situation_text import situations
from originset.crawler.visits.visit_browsers import browser_for

pytestmark = [pytest.mark.browser, pytest.mark.testbed, pytest.mark.alone, pytest.mark.soak]

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
SITUATIONS = {one.name: one for one in situations() if one.http3}
SAMPLE = ("envoy-http3-two-chains",)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory):
    with lab_testbed(tmp_path_factory.mktemp("testbed"), forces_http3=True) as testbed:
        yield testbed


@pytest.fixture(scope="module")
def chromium(lab):
    settings = VisitSettings(environment=lab.environment, extra_flags=lab.browser_flags)
    with browser_for(settings) as started:
        yield started


@pytest.mark.parametrize("name", SITUATIONS if FULL else SAMPLE)
def test_chromium_over_http3(name: str, lab, chromium, tmp_path) -> None:
    situation = SITUATIONS[name]
    require_servers(situation)
    with running_situation(situation, tmp_path / "server", lab.authority):
        seen = visited(chromium, name, "www", "static")
    outcome = situation.outcome_over_http3("www", "static")
    if situation.http3["www"]["www"] == "421":
        assert seen is None or seen.site is None
        return
    assert seen is not None
    assert seen.protocol == "h3" or outcome == "421"
    if outcome == "421":
        assert seen.site == ("static" if situation.http3["static"]["static"] == "200 static" else None)
    elif outcome.startswith("served"):
        assert (seen.is_shared, seen.statuses) == (True, (200,))
        # Caddy sends no length over HTTP/3.
        assert seen.site == "static" or (situation.server == "caddy" and seen.site is None)
    else:
        assert (seen.is_shared, seen.statuses) == (True, (int(outcome),))
