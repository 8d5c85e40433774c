"""Visits with Chromium's feature HappyEyeballsV3, which makes connections in another way and logs that otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from healthy_testbed import healthy_testbed

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.chromium_visit import visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import UNNAMED, Extension
from originset.data.netlog import request_events

pytestmark = [pytest.mark.testbed, pytest.mark.browser, pytest.mark.alone]

RULES = ("address-same", "protocol-misdirected", "protocol-http1-both", "credentials-crossorigin", "http3-same-address")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with healthy_testbed(rule_catalogue.combined_scenario(list(RULES)), tmp_path_factory.mktemp("lab") / "lab") as lab:
        yield lab


def load(lab: Testbed, rule: str) -> Extension:
    page = rule_catalogue.page(rule)
    flags = (*lab.browser_flags, "--enable-features=HappyEyeballsV3")
    settings = VisitSettings(quiet_s=0.3, environment=lab.environment, extra_flags=flags)
    with Chromium(settings) as chromium:
        _, extension = visit(chromium, VisitRequest("0123456789abcdef", page.host, page.url))
    assert extension.visit.status == "ok"
    return extension


@pytest.mark.parametrize("rule", RULES)
def test_all_connections_have_a_host(lab: Testbed, rule: str) -> None:
    extension = load(lab, rule)
    assert extension.features is not None
    assert "HappyEyeballsV3" in extension.features.enabled
    assert extension.visit.quality == []
    for connection in extension.connections:
        assert connection.first_host in {f"{name}.{rule}.test" for name in ("www", "static")}
        assert connection.partition_key == f"https://{rule}.test same_site"
        assert connection.privacy_mode in {"disabled", "enabled"}


def test_who_joined_by_address_and_who_was_refused(lab: Testbed) -> None:
    static = "static.protocol-misdirected.test"
    first, second = (one for one in load(lab, "protocol-misdirected").connections if one.used)
    assert (first.pooled_by_ip, first.misdirected) == ([static], [static])
    assert (second.first_host, second.pooled_by_ip, second.misdirected) == (static, [], [])
    (shared,) = (one for one in load(lab, "address-same").connections if one.used)
    assert shared.pooled_by_ip == ["static.address-same.test"]


def test_requests_without_credentials_have_a_pool_of_their_own(lab: Testbed) -> None:
    used = [one for one in load(lab, "credentials-crossorigin").connections if one.used]
    assert [one.privacy_mode for one in used] == ["disabled", "enabled"]


def test_a_way_to_connections_that_is_not_known_is_said(lab: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(request_events._HANDLERS, "TCP_BASED_ATTEMPT_BOUND_TO_POOL")
    extension = load(lab, "address-same")
    assert [one.first_host for one in extension.connections if one.used] == [None]
    assert extension.visit.quality == [UNNAMED]
