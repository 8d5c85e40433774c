"""What was known of the browsers before, from runs with other servers: the stored observations say it again.

The runs were with Chromium 156.0.8078.79 and Firefox-ESR 153.7.0. A fact that ``make rules`` has
observed otherwise in another version fails, and is changed here.
"""

from __future__ import annotations

import msgspec
import pytest

from originset.crawler.testbed.rules import rule_catalogue, rule_findings
from originset.crawler.testbed.rules.observations import Browser, Cell, Cookies

SEEN = rule_catalogue.observations()

# rule, browser, third-party cookies -> connections that carried requests, in most of the loads
FACTS: list[tuple[str, Browser, Cookies, int]] = [
    ("address-same", "firefox", "allowed", 1),
    ("address-same", "chromium", "allowed", 1),
    ("address-same", "chromium", "blocked", 1),
    ("address-same-cross-site", "chromium", "blocked", 2),
    ("address-same-cross-site", "chromium", "allowed", 1),
    ("address-same-cross-site", "firefox", "allowed", 1),
    ("address-different", "firefox", "allowed", 2),
    ("address-different", "chromium", "allowed", 2),
    ("address-overlap-unconnected", "firefox", "allowed", 2),
    ("address-overlap-unconnected", "chromium", "allowed", 2),
    ("address-overlap-connected", "chromium", "allowed", 1),
    ("address-sets-equal", "chromium", "allowed", 1),
    ("origin-complete", "firefox", "allowed", 1),
    ("origin-complete", "chromium", "allowed", 2),
    ("origin-complete-same-address", "chromium", "allowed", 1),
    ("origin-own-only-same-address", "firefox", "allowed", 2),
    ("origin-empty-same-address", "firefox", "allowed", 2),
    ("origin-unknown", "firefox", "allowed", 1),
    ("origin-certificate-missing", "firefox", "allowed", 2),
    ("origin-wildcard", "firefox", "allowed", 2),
    ("origin-late-request", "firefox", "allowed", 1),
    ("origin-node", "firefox", "allowed", 1),
    ("credentials-crossorigin", "firefox", "allowed", 2),
    ("http3-different", "chromium", "allowed", 2),
    ("http3-origin-complete", "chromium", "allowed", 1),
    ("http3-origin-complete", "chromium", "blocked", 1),
    ("http3-origin-complete-cross-site", "chromium", "allowed", 1),
    ("http3-origin-complete-cross-site", "chromium", "blocked", 2),
    ("http3-origin-own-only", "chromium", "allowed", 2),
    ("http3-origin-certificate-missing", "chromium", "allowed", 2),
    ("http3-origin-unknown", "chromium", "allowed", 1),
    ("http3-same-address", "chromium", "allowed", 1),
    ("http3-record-first-only", "chromium", "allowed", 1),
    ("http3-record-first-only-same-address", "chromium", "allowed", 2),
    ("http3-different", "firefox", "allowed", 2),
    ("http3-origin-complete", "firefox", "allowed", 2),
    ("http3-same-address", "firefox", "allowed", 1),
]


def observed(rule: str, browser: Browser, cookies: Cookies = "allowed") -> Cell:
    cell = SEEN.cell(rule, browser, cookies)
    assert cell is not None
    return cell


@pytest.mark.parametrize(("rule", "browser", "cookies", "used"), FACTS)
def test_a_fact_comes_out_again(rule: str, browser: Browser, cookies: Cookies, used: int) -> None:
    majority = observed(rule, browser, cookies).majority
    assert len(majority.connections) == used
    assert majority.missing == ()


@pytest.mark.parametrize("rule", ["address-unknown", "origin-unknown"])
def test_chromium_loads_nothing_over_http2_from_a_name_that_dns_denies(rule: str) -> None:
    assert {one.partition("/")[0] for one in observed(rule, "chromium").majority.missing} == {f"static.{rule}.test"}


@pytest.mark.parametrize("rule", ["http3-origin-complete", "http3-origin-unknown", "http3-record-first-only"])
def test_chromium_asks_dns_for_nothing_that_an_origin_frame_over_http3_lists(rule: str) -> None:
    lookups = observed(rule, "chromium").lookups
    assert set(lookups) == {f"www.{rule}.test"}
    assert lookups[f"www.{rule}.test"]["HTTPS"] == (1,) * SEEN.loads


def test_firefox_asks_dns_for_every_name() -> None:
    """Whatever an ORIGIN frame lists, over HTTP/2 or HTTP/3."""
    for cell in SEEN.cells:
        if cell.browser == "firefox":
            page = rule_catalogue.page(cell.rule)
            for name in {one.host for one in page.walk() if one.host}:
                assert all(cell.lookups[name]["A"]), f"{cell.rule}: {name}"


def test_firefox_had_the_origin_frames_over_http3_that_it_did_not_heed() -> None:
    """The server's log as proof: the frame was sent on a connection that carried requests, and DNS was asked."""
    for rule in ("http3-origin-complete", "http3-origin-without-own", "http3-origin-two-frames"):
        loads = 0
        for outcome in observed(rule, "firefox").outcomes:
            told = [one for one in outcome.connections if one.protocol == "h3" and one.origins]
            own = [one for one in outcome.connections if one.opened_for == f"static.{rule}.test"]
            loads += len(outcome.loads) if told and own else 0
        assert 2 * loads > SEEN.loads, rule


def test_a_421_sends_requests_to_a_connection_of_their_own_every_time() -> None:
    for rule in ("protocol-misdirected", "http3-origin-misdirected"):
        first, second = observed(rule, "chromium").majority.connections
        assert first.misdirected == second.requests
        assert len(first.misdirected) == 3
        assert second.protocol == "h2"
    assert all(used > 2 for used in observed("protocol-misdirected", "firefox").used)


def test_findings_stand_on_rules_and_fall_with_them() -> None:
    for finding in rule_findings.FINDINGS:
        assert {rule for rule, *_ in finding.shown_by} <= set(rule_catalogue.rule_names())
        assert rule_findings.is_shown(finding, SEEN), finding.sentence
    other = msgspec.structs.replace(SEEN, cells=tuple(cell for cell in SEEN.cells if cell.rule != "address-same"))
    withdrawn = [line for line in rule_findings.lines(other) if "No longer so" in line]
    assert len(withdrawn) == 1
    assert "address-same" in withdrawn[0]


def test_browsers_open_more_than_they_use() -> None:
    assert any(sum(cell.opened) > sum(cell.used) for cell in SEEN.cells if cell.browser == "chromium")
    assert any(sum(cell.opened) > sum(cell.used) for cell in SEEN.cells if cell.browser == "firefox")
