"""A visit knows nothing of those before it in the same browser; and what it would know if contexts were shared."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.server_logs import LoggedDnsQuery, LoggedRequest, TlsHandshake
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits import visit_context
from originset.crawler.visits.chromium_visit import visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import Extension

pytestmark = [pytest.mark.browser, pytest.mark.testbed]

# Sets cookies, its own and a third party's, HSTS and Alt-Svc, and lets its resources be cached for an hour.
SITE = "strict.test"


@dataclass(frozen=True)
class Seen:
    """What the testbed saw of a visit, and what the capture says."""

    handshakes: list[TlsHandshake]
    requests: list[LoggedRequest]
    queries: list[LoggedDnsQuery]
    extension: Extension


@pytest.fixture(scope="module")
def browser(captures: Testbed) -> Iterator[Chromium]:
    settings = VisitSettings(
        timeout_s=20, quiet_s=0.3, environment=captures.environment, extra_flags=captures.browser_flags
    )
    with Chromium(settings) as chromium:
        yield chromium


def see(testbed: Testbed, browser: Chromium, times: int, site: str = SITE) -> list[Seen]:
    found = []
    for _ in range(times):
        logs = (testbed.handshakes, testbed.requests, testbed.dns_queries)
        before = [len(log()) for log in logs]
        _, extension = visit(browser, VisitRequest("0123456789abcdef", site, testbed.scenario.url_of(site)))
        found.append(
            Seen(
                testbed.handshakes()[before[0] :],
                testbed.requests()[before[1] :],
                testbed.dns_queries()[before[2] :],
                extension,
            )
        )
    return found


@pytest.mark.promise("visits-are-cold")
def test_a_second_visit_is_as_cold_as_the_first(captures: Testbed, browser: Chromium) -> None:
    first, second, third = see(captures, browser, 3)
    asked = [
        Counter((one.scheme, one.host, one.path, *one.cookies) for one in each.requests) for each in (first, second)
    ]
    assert asked[0] == asked[1], "no cache, no cookie"
    for each in (first, second, third):
        # HSTS would have made https of it without asking.
        assert (each.requests[0].scheme, each.requests[0].status) == ("http", 301)
        document = next(one for one in each.requests if one.scheme == "https")
        assert (document.path, document.cookies) == ("/", [])
        # Alt-Svc would have made h3 of it.
        assert document.protocol == "h2"
        assert each.handshakes[0].alpn == "h2"
        assert next(one for one in each.requests if one.host == "third.test").cookies == []
        assert Counter((one.name, one.rtype) for one in each.queries) == Counter(
            (one.name, one.rtype) for one in first.queries
        )
        assert {one.name for one in each.queries} == {"strict.test", "third.test"}
        assert not any(one.resumed for one in each.handshakes)
        assert {one.server_name for one in each.handshakes} == {"strict.test", "third.test"}
        assert any(one.alpn == "h3" for one in each.handshakes), "there was something to remember"
    numbers = [{one.connection for one in each.requests} for each in (first, second, third)]
    assert not numbers[0] & numbers[1]
    assert not numbers[1] & numbers[2]


@pytest.mark.promise("visits-are-cold")
def test_quic_is_cold_too(captures: Testbed, browser: Chromium) -> None:
    first, second = see(captures, browser, 2, "http3.test")
    for each in (first, second):
        assert Counter(one.server_name for one in each.handshakes) == Counter(["http3.test", "far.http3.test"])
        assert not any(one.resumed for one in each.handshakes)
        assert Counter(one.path for one in each.requests) == Counter(["/", "/main.css", "/1.png", "/2.png"])
        assert {one.name for one in each.queries} == {"http3.test", "far.http3.test"}


def test_a_shared_context_would_resume_quic(
    captures: Testbed, browser: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the log's word that nothing was resumed means something: here it says that something was."""
    # A browser that gives up idle sessions after a second.
    hasty = ("--force-fieldtrials=QUIC/Hasty", "--force-fieldtrial-params=QUIC.Hasty:idle_connection_timeout_seconds/1")
    settings = dataclasses.replace(browser.settings, extra_flags=(*browser.settings.extra_flags, *hasty))
    with Chromium(settings) as chromium:
        context = chromium.devtools.call("Target.createBrowserContext")["browserContextId"]
        monkeypatch.setattr(visit_context, "_fresh_context", lambda _: contextlib.nullcontext(context))
        see(captures, chromium, 1, "http3.test")
        time.sleep(1.5)
        (warm,) = see(captures, chromium, 1, "http3.test")
    told = {(c.server_ip, c.local_port): (c.resumed, c.chain) for c in warm.extension.connections if c.tls}
    assert {(h.server, h.client_port) for h in warm.handshakes if h.resumed} == set(told)
    assert set(told.values()) == {(True, None)}


@pytest.mark.promise("visits-are-cold")
def test_a_site_is_cold_after_another_with_the_same_third_party(captures: Testbed, browser: Chromium) -> None:
    see(captures, browser, 1, "fetches.test")
    (after,) = see(captures, browser, 1, "xhrs.test")
    assert "third.test" in {one.name for one in after.queries}
    assert "third.test" in {one.server_name for one in after.handshakes}
    assert next(one for one in after.requests if one.host == "third.test").cookies == []


def test_what_a_shared_context_would_remember(
    captures: Testbed, browser: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same two visits, warm: every mark of coldness above is one that a warm visit does not have."""
    context = browser.devtools.call("Target.createBrowserContext")["browserContextId"]
    monkeypatch.setattr(visit_context, "_fresh_context", lambda _: contextlib.nullcontext(context))
    cold, warm = see(captures, browser, 2)
    browser.devtools.call("Target.disposeBrowserContext", browserContextId=context)
    assert cold.requests[0].scheme == "http"
    assert {one.scheme for one in warm.requests} == {"https"}, "HSTS"
    document = next(one for one in warm.requests if one.path == "/")
    assert document.cookies == ["first"]
    assert (document.connection in {one.connection for one in cold.requests}) or document.protocol == "h3"
    assert "/main.css" not in {one.path for one in warm.requests}, "the cache"
    assert len(warm.queries) < len(cold.queries)
    assert "third.test" not in {one.name for one in warm.queries}
    assert len(warm.handshakes) < len(cold.handshakes)
