"""NetLog files to page loads: whole and cut off, in any layout, of several tabs, and with whatever strangers write."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from handwritten_netlog import SITE, HandwrittenNetLog, one_page
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import lines_taken

from originset.analysis.netlog.netlog_captures import netlog_captures
from originset.analysis.netlog.netlog_tables import netlog_tables
from originset.data.captures.capture import Extension
from originset.data.errors import InputError

RECORDED = Path(__file__).parents[2] / "data" / "netlog" / "recorded"


def extensions(text: bytes) -> list[Extension]:
    return [extension for _, extension in netlog_captures(text, "a.json").visits]


def test_a_page_with_its_connections() -> None:
    captures = netlog_captures(one_page().text(), "a.json")
    ((log, extension),) = captures.visits
    assert captures.lost is None
    visit = extension.visit
    assert (visit.site, visit.url, visit.status, visit.quality) == ("site.test", f"{SITE}/", "ok", [])
    assert (visit.browser, visit.browser_version) == ("chromium", "156.0.1.2")
    assert visit.started_at == "2026-05-28T20:26:41.000000Z"
    assert [(one.first_host, one.opened_ms, one.established_ms, one.used) for one in extension.connections] == [
        ("site.test", 0.0, 20.0, True),
        ("static.site.test", 30.0, 50.0, True),
    ]
    assert [entry.connection for entry in log.entries] == ["10", "20"]
    assert [(entry.resource_type, entry.response.status) for entry in log.entries] == [
        ("document", 200),
        ("other", 200),
    ]


def test_secrets_do_not_reach_the_rows() -> None:
    tables = netlog_tables(netlog_captures(one_page().text(), "a.json"), "a.json", "0" * 64)
    assert not tables["requests"]["url"].str.contains("secret").any()
    kept = netlog_tables(netlog_captures(one_page().text(), "a.json"), "a.json", "0" * 64, keep_secrets=True)
    assert kept["requests"]["url"].str.contains("secret").any()
    assert tables["visits"].select("source", "recorder", "round").row(0) == ("a.json", "netlog", None)


def test_two_tabs_have_what_is_theirs() -> None:
    log, other = one_page(), "https://other.test"
    log.connection(40, "other.test", 1005, "23.0.0.9", other)
    log.request(3, f"{other}/", 1005, 41, site=other, main=True)
    log.request(4, "https://static.site.test/b.css", 1040, 21)
    log.request(5, f"{other}/b.css", 1041, 41, site=other)
    first, second = netlog_captures(log.text(), "a.json").visits
    assert [one.id for one in first[1].connections] == [10, 20]
    assert [one.id for one in second[1].connections] == [40]
    assert [len(har.entries) for har, _ in (first, second)] == [3, 2]


def test_a_page_of_source_0() -> None:
    log = HandwrittenNetLog()
    log.request(0, f"{SITE}/", 1000, None, main=True)
    (extension,) = extensions(log.text())
    assert extension.visit.url == f"{SITE}/"


def test_what_a_lookup_gets_is_read_in_steps_that_grow_as_it_does() -> None:
    def text(count: int) -> bytes:
        log, job = one_page(), ("HOST_RESOLVER_IMPL_JOB", 100)
        kinds = [f"T{number}" for number in range(count)]
        log.event(1001, job, "HOST_RESOLVER_MANAGER_JOB", "begin", host=SITE, dns_query_types=kinds)
        for number in range(count):
            address = f"1.2.{number // 256}.{number % 256}:443"
            log.event(1008, job, "HOST_RESOLVER_SYSTEM_TASK", "end", address_list=[address])
            log.event(1009, job, "HOST_RESOLVER_MANAGER_JOB", "end", net_error=0)
        return log.text()

    few, many = (lines_taken(partial(netlog_captures, text(count), "a.json")) for count in (100, 400))
    assert many < 5 * few


def test_a_page_loaded_again_shares_what_was_open() -> None:
    log = one_page()
    log.request(6, f"{SITE}/", 9000, 11, main=True)
    log.request(7, f"{SITE}/a.js", 9020, None)
    first, second = extensions(log.text())
    assert first.visit.quality == []
    assert second.visit.quality == ["warm_sockets", "warm_start", "preserved_log", "cached"]
    assert [one.id for one in second.connections] == [10]


def test_connections_from_before_the_log_are_told() -> None:
    log = HandwrittenNetLog()
    log.request(1, f"{SITE}/", 1000, 77, main=True)
    (extension,) = extensions(log.text())
    assert extension.connections == []
    assert extension.visit.quality == ["warm_sockets", "warm_start", "no_connection_ids"]


@pytest.mark.parametrize("layout", [{"indent": 1}, {"separators": (",", ":")}])
def test_other_layouts(layout: dict[str, Any]) -> None:
    text = json.dumps(json.loads(one_page().text()), **layout).encode()
    captures = netlog_captures(b"\xef\xbb\xbf" + text, "a.json")
    assert captures.lost is None
    assert captures.visits[0][1] == extensions(one_page().text())[0]


def test_a_log_that_was_cut_off() -> None:
    text = one_page().text(whole=False)
    captures = netlog_captures(text, "a.json")
    assert captures.lost is not None
    assert (captures.lost.reason, captures.lost.byte_offset) == ("truncated", len(text))
    assert captures.visits[0][1].visit.quality == [], "the page was complete by then"
    unfinished = text[: text.rstrip().rindex(b"\n")]
    assert "truncated" in extensions(unfinished)[0].visit.quality


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"constants": {', "not-netlog"),
        (b'{"constants": 1, "events": []}', "not-netlog"),
        (b'{"constants":' + b"[" * 100_000, "not-netlog"),
        (HandwrittenNetLog().text(), "empty"),
        (HandwrittenNetLog().text(whole=False), "truncated"),
    ],
)
def test_what_holds_no_page(text: bytes, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        netlog_captures(text, "a.json")
    assert caught.value.reason == reason


HOSTILE = [
    {"network_isolation_key": 7, "url": ["x"], "method": {}, "load_flags": "x"},
    {"source_dependency": {"id": 1 << 80}, "group_id": "https://a <" + " <" * 5_000},
    {"headers": [1, None, "HTTP/1.1 99999999999", ":::"], "byte_count": -(1 << 70)},
    {"address_list": ["1.2.3.4:99999999999", 5], "remote_address": "::", "net_error": "x"},
    {"certificates": ["-----BEGIN CERTIFICATE-----" * 2_000], "version": {}, "next_proto": [], "is_resumed": "x"},
    {"origins": 5, "host": {"a": 1}, "offset": "y", "bytes": "!", "encryption_level": []},
    {"dns_query_types": 1, "results": [{"query_type": "A", "endpoints": 7}], "rcode": {}, "aliases": 1},
]


UNREADABLE = HOSTILE[-2:]
OTHER_NAMES = (
    *("HOST_RESOLVER_MANAGER_JOB", "HOST_RESOLVER_DNS_TASK_EXTRACTION_RESULTS", "HOST_RESOLVER_SYSTEM_TASK"),
    *("DNS_TRANSACTION", "QUIC_SESSION", "QUIC_SESSION_CRYPTO_FRAME_RECEIVED", "SSL_CERTIFICATES_RECEIVED"),
)


@pytest.mark.promise("netlogs-are-bounded")
@pytest.mark.parametrize("params", HOSTILE)
def test_an_event_that_chromium_would_not_write_costs_itself(params: dict[str, object]) -> None:
    plain = one_page()
    expected = netlog_tables(netlog_captures(plain.text(), "a.json"), "a.json", "0" * 64)
    log = one_page()
    names = [*plain._names]
    kinds = ("URL_REQUEST", "SOCKET", "QUIC_SESSION", "HOST_RESOLVER_IMPL_JOB")
    sources = [(kind, 90_001 + place) for place, kind in enumerate(kinds)]
    for source in sources:
        for name in (*names, *OTHER_NAMES):
            for phase in ("begin", "end", ""):
                log.event(1035, source, name, phase, **params)
    tables = netlog_tables(netlog_captures(log.text(), "a.json"), "a.json", "0" * 64)
    for table in ("requests", "connections", "visits"):
        assert tables[table].drop("quality", strict=False).equals(expected[table].drop("quality", strict=False)), table
    # A value of another kind is not known; an event that is nothing at all is told.
    assert ("unread_events" in tables["visits"]["quality"][0]) == (params in UNREADABLE)
    assert "unread_events" not in expected["visits"]["quality"][0]


@pytest.mark.promise("netlogs-are-bounded")
@pytest.mark.parametrize(("time", "number"), [(10**40, 1), (-(10**9) * 5, 1), (1035, 1 << 63), (1035, -1), ("x", 1)])
def test_times_and_ids_out_of_range_are_left_out(time: object, number: int) -> None:
    log = one_page()
    log.event(time, ("URL_REQUEST", number), "URL_REQUEST_START_JOB", "begin", url=f"{SITE}/", method="GET",
              request_type="main frame", network_isolation_key=f"{SITE} {SITE}")  # fmt: skip
    assert extensions(log.text()) == extensions(one_page().text())


@settings(max_examples=25)
@given(st.integers(0, 1 << 20), st.binary(max_size=40))
def test_a_recorded_log_may_be_cut_and_changed_anywhere(place: int, inserted: bytes) -> None:
    text = (RECORDED / "netlog.json").read_bytes()
    place %= len(text)
    with contextlib.suppress(InputError):
        captures = netlog_captures(text[:place] + inserted + text[place + 7 :], "a.json")
        netlog_tables(captures, "a.json", "0" * 64)


def test_recorded_logs() -> None:
    first, quic = (extensions((RECORDED / name).read_bytes()) for name in ("netlog.json", "netlog_quic.json"))
    assert [one.visit.final_url for one in first] == ["https://www.site.test/"]
    assert [one.first_host for one in first[0].connections if one.used] == ["site.test", "tracker.third.test"]
    assert [one.protocol for one in quic[0].connections] == ["h3", "h3"]
