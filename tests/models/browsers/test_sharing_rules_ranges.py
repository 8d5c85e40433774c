"""Where Firefox does not do the same each time, its range has all that it was seen to do, and no more."""

from collections.abc import Callable
from typing import Any

import pytest
from example_study import MakeTables

from tests.fixtures.browser_models import browser_tables

WWW, STATIC, IMG = "www.one.test", "static.one.test", "img.one.test"
THIRD = "img.three.test"
A, B, C = "104.16.0.1", "104.17.0.2", "104.18.0.3"

Ranges = Callable[..., list[tuple[int, int]]]

_DNS_MS, _CONNECT_MS, _WAIT_MS = 5.0, 20.0, 10.0


@pytest.fixture
def ranges(make_tables: MakeTables) -> Ranges:
    """The least and the most connections of a page, in Chromium and in Firefox.

    ``asked``: host, time in ms, and what differs from an image with credentials. ``answers``: the addresses of each
    host, of which the first is connected. Each host has a connection for each mode of credentials, over HTTP/1.1 for
    each request. All certificates have all names. ``connections``: by host, what differs of its connections.
    """

    def found(
        asked: list[tuple[str, float, dict[str, Any]]],
        answers: dict[str, list[str]],
        connections: dict[str, dict[str, Any]] | None = None,
    ) -> list[tuple[int, int]]:
        requests, opened = [], {}
        for number, (host, started, more) in enumerate(asked):
            kind = "image" if number else "document"
            row = {"credentials": "include", "protocol": "h2", "resource_type": kind} | more
            # A connection of HTTP/1.1 carries one request at a time.
            key = (host, row["credentials"], number if row["protocol"] == "http/1.1" else 0)
            new = key not in opened
            own = opened.setdefault(
                key,
                {
                    "connection_id": len(opened),
                    "opened_ms": started,
                    "established_ms": started + _DNS_MS + _CONNECT_MS,
                    "protocol": row["protocol"],
                },
            )
            ready = own["established_ms"]
            requests.append(
                {"visit_id": "v", "request_id": number, "scheme": "https", "host": host, "port": 443, "status": 200,
                 "frame_site": "one.test", "connection_id": own["connection_id"], "server_ip": answers[host][0],
                 "started_ms": started, "dns_ms": _DNS_MS if new else None, "connect_ms": _CONNECT_MS if new else None,
                 "blocked_ms": 0.0 if new else max(0.0, ready - started), "send_ms": 0.0, "wait_ms": _WAIT_MS,
                 "receive_ms": 0.0, **row}
            )  # fmt: skip
        hosts = list(answers)
        tables = make_tables(
            {
                "visits": [{"visit_id": "v", "site": WWW, "status": "ok", "source": "crawl", "browser": "chromium",
                            "third_party_cookies": "allowed"}],
                "requests": requests,
                "connections": [
                    {"visit_id": "v", "first_host": host, "server_ip": answers[host][0], "port": 443, "tls": True,
                     "certificate_id": "all", "source": "netlog", **own, **(connections or {}).get(host, {})}
                    for (host, *_), own in opened.items()
                ],
                "dns_queries": [
                    {"visit_id": "v", "lookup_id": number, "host": host, "rtype": "A", "answers": answers[host],
                     "asked_ms": min(row["started_ms"] for row in requests if row["host"] == host), "took_ms": _DNS_MS,
                     "source": "browser"}
                    for number, host in enumerate(hosts)
                ],
                "certificates": [{"certificate_id": "all", "san_count": len(hosts)}],
                "certificate_names": [{"certificate_id": "all", "name": host} for host in hosts],
                "hosts": [{"host": host, "registrable_domain": host.partition(".")[2]} for host in hosts],
            }
        )  # fmt: skip
        row = browser_tables(tables)["browser_counts"].row(0, named=True)
        return [(row[f"{browser}_tls_low"], row[f"{browser}_tls_high"]) for browser in ("chromium", "firefox")]

    return found


OMIT: dict[str, Any] = {"credentials": "omit"}
ELSEWHERE = {WWW: [A], STATIC: [B]}


@pytest.mark.parametrize(("first", "later"), [({}, OMIT), (OMIT, {})])
def test_a_connection_that_was_given_two_requests_is_shared_by_both_modes_of_credentials(
    ranges: Ranges, first: dict[str, Any], later: dict[str, Any]
) -> None:
    page = [(WWW, 0.0, {}), (STATIC, 50.0, first), (STATIC, 51.0, first), (STATIC, 500.0, later)]
    assert ranges(page, ELSEWHERE) == [(3, 3), (2, 2)]
    # They need not have been answered.
    slow = {"wait_ms": 900.0}
    unanswered = [page[0], *((STATIC, started, first | slow) for started in (50.0, 51.0)), page[3]]
    assert ranges(unanswered, ELSEWHERE) == [(3, 3), (2, 2)]
    # After one request, or before its handshake, it may be.
    assert ranges([page[0], page[1], page[3]], ELSEWHERE) == [(3, 3), (2, 3)]
    assert ranges([*page[:3], (STATIC, 52.0, later)], ELSEWHERE) == [(3, 3), (2, 3)]


def test_a_connection_joined_has_carried_another_hosts_request_before(ranges: Ranges) -> None:
    page = [(WWW, 0.0, {}), (STATIC, 50.0, {}), (STATIC, 500.0, OMIT)]
    assert ranges(page, {WWW: [A], STATIC: [A]}) == [(2, 2), (1, 1)]


def test_a_connection_that_another_host_joined_carries_both_modes_of_its_own(ranges: Ranges) -> None:
    page = [(WWW, 0.0, {}), (STATIC, 50.0, {}), (WWW, 500.0, OMIT)]
    assert ranges(page, {WWW: [A], STATIC: [A]}) == [(2, 2), (1, 1)]
    assert ranges(page, ELSEWHERE) == [(3, 3), (2, 3)]


@pytest.mark.parametrize(("first", "later"), [({}, OMIT), (OMIT, {})])
def test_both_modes_at_once_where_one_joins_another_hosts_connection(
    ranges: Ranges, first: dict[str, Any], later: dict[str, Any]
) -> None:
    page = [(WWW, 0.0, {}), (STATIC, 50.0, first), (STATIC, 51.0, later)]
    assert ranges(page, {WWW: [A], STATIC: [A]}) == [(2, 2), (1, 2)]


def test_a_host_whose_own_handshakes_all_fail_has_no_connection_of_its_own(ranges: Ranges) -> None:
    """As where its certificate has expired: it is asked over the other's connection, answered 421, and lost."""
    page = [(WWW, 0.0, {}), (STATIC, 500.0, {})]
    untrusted = {"tls": False, "protocol": None}
    refused = {WWW: {"misdirected": [STATIC]}, STATIC: untrusted}
    assert ranges(page, {WWW: [A], STATIC: [A]}, refused) == [(1, 1), (1, 2)]
    assert ranges(page, {WWW: [A], STATIC: [A]}, {WWW: {"misdirected": [STATIC]}}) == [(2, 2), (2, 3)]


def test_of_two_connections_under_way_at_once_one_may_be_spare(ranges: Ranges) -> None:
    shards = {WWW: [A], STATIC: [B], IMG: [B]}
    page = [(WWW, 0.0, {}), (STATIC, 50.0, {}), (IMG, 51.0, {})]
    assert ranges(page, shards) == [(3, 3), (2, 3)]
    assert ranges([*page[:2], (IMG, 500.0, {})], shards) == [(2, 2), (2, 2)]


def test_a_frame_that_comes_while_a_listed_name_connects_may_be_in_time(ranges: Ranges) -> None:
    listed = {"origin_set": [f"https://{WWW}", f"https://{STATIC}"]}
    page = [(WWW, 0.0, {}), (STATIC, 50.0, {})]
    assert ranges(page, ELSEWHERE, {WWW: listed | {"origin_ms": 70.0}}) == [(2, 2), (1, 2)]
    assert ranges(page, ELSEWHERE, {WWW: listed | {"origin_ms": 40.0}}) == [(2, 2), (1, 1)]
    assert ranges(page, ELSEWHERE, {WWW: listed | {"origin_ms": 900.0}}) == [(2, 2), (2, 2)]


def test_a_late_frame_ends_the_sharing_of_a_name_that_it_leaves_out(ranges: Ranges) -> None:
    page = [(WWW, 0.0, {}), (STATIC, 50.0, {}), (STATIC, 900.0, {})]
    alone = {WWW: {"origin_set": [f"https://{WWW}"], "origin_ms": 400.0}}
    assert ranges(page, {WWW: [A], STATIC: [A]}, alone) == [(1, 1), (2, 2)]
    assert ranges(page[:2], {WWW: [A], STATIC: [A]}, alone) == [(1, 1), (1, 1)]
    # What it has opened for itself, it goes on using.
    assert ranges(page, ELSEWHERE, alone) == [(2, 2), (2, 2)]
    both = {WWW: {"origin_set": [f"https://{WWW}", f"https://{STATIC}"], "origin_ms": 400.0}}
    assert ranges(page, {WWW: [A], STATIC: [A]}, both) == [(1, 1), (1, 1)]


def test_a_connection_that_hides_a_names_own_from_one_another(ranges: Ranges) -> None:
    page = [(WWW, 0.0, {}), *((STATIC, 50.0 + n, {}) for n in range(8))]
    assert ranges(page, {WWW: [A, B], STATIC: [B]}) == [(2, 2), (2, 7)], "at most six of one host"
    assert ranges(page[:3], {WWW: [A, B], STATIC: [B]}) == [(2, 2), (2, 3)]
    late = [*page[:3], *((STATIC, 500.0 + n, {}) for n in range(5))]
    assert ranges(late, {WWW: [A, B], STATIC: [B]}) == [(2, 2), (2, 3)], "what comes later uses the first"
    over_h3 = [(host, started, {"protocol": "h3"}) for host, started, _ in page[:2]]
    assert ranges(over_h3, {WWW: [A, B], STATIC: [B]}) == [(2, 2), (2, 2)]
    assert ranges(page, {WWW: [A, B], STATIC: [B, C]}) == [(2, 2), (2, 2)], "at the other address they meet"
    assert ranges(page, {WWW: [A, B], STATIC: [C]}) == [(2, 2), (2, 2)]


def test_requests_answered_421_are_repeated_on_several_connections(ranges: Ranges) -> None:
    page = [(WWW, 0.0, {}), *((STATIC, 50.0 + n, {}) for n in range(3))]
    refused = {WWW: {"misdirected": [STATIC]}}
    assert ranges(page, {WWW: [A], STATIC: [A]}, refused) == [(2, 2), (3, 5)]
    assert ranges(page[:2], {WWW: [A], STATIC: [A]}, refused) == [(2, 2), (2, 3)]


def test_a_connection_that_answered_421_may_be_left_for_a_new_one(ranges: Ranges) -> None:
    page = [(WWW, 0.0, {}), (STATIC, 200.0, {}), (IMG, 500.0, {})]
    listed = {"origin_set": [f"https://{host}" for host in (WWW, STATIC, IMG)]}
    everywhere = {WWW: [A], STATIC: [B], IMG: [A]}
    assert ranges(page, everywhere, {WWW: listed | {"misdirected": [STATIC]}}) == [(2, 2), (2, 4)]
    assert ranges(page, everywhere, {WWW: listed}) == [(2, 2), (1, 1)]


def test_quic_races_tcp_in_firefox(ranges: Ranges) -> None:
    h3 = {"protocol": "h3"}
    page = [(WWW, 0.0, h3), (WWW, 50.0, h3), (STATIC, 50.0, h3)]
    assert ranges(page, ELSEWHERE) == [(2, 2), (2, 3)], "one request cannot go over two connections"
    assert ranges([*page, (STATIC, 51.0, h3)], ELSEWHERE) == [(2, 2), (2, 3)], "nor was that seen of two names at once"


def test_what_a_name_is_asked_over_http3_after_others_over_http2_may_still_go_over_http2(ranges: Ranges) -> None:
    """Alt-Svc: when a browser heeds it is a matter of milliseconds."""
    page = [(WWW, 0.0, {}), (WWW, 500.0, {"protocol": "h3", "connection_id": 9})]
    assert ranges(page, {WWW: [A]}) == [(1, 2), (1, 2)]
    assert ranges(page[:1], {WWW: [A]}) == [(1, 1), (1, 1)]


def test_firefox_may_heed_an_alt_svc_field_that_chromium_only_connected_for(ranges: Ranges) -> None:
    page = [(WWW, 0.0, {}), (STATIC, 50.0, {}), (STATIC, 500.0, {})]
    assert ranges(page, ELSEWHERE, {STATIC: {"protocol": "h3"}}) == [(2, 2), (2, 3)]
    assert ranges(page[:2], ELSEWHERE, {STATIC: {"protocol": "h3"}}) == [(2, 2), (2, 2)]


def test_what_a_browser_was_seen_to_share_it_shared_in_time(ranges: Ranges) -> None:
    """It may have held the request back, or have connected second: the other way remains possible."""
    shards = {WWW: [A], STATIC: [B], IMG: [B]}
    page = [(WWW, 0.0, {}), (STATIC, 50.0, {}), (IMG, 51.0, {"connection_id": 1})]
    assert ranges(page, shards) == [(2, 3), (2, 3)]


HTTP1: dict[str, Any] = {
    "protocol": "http/1.1",
    "wait_ms": 300.0,
    "blocked_ms": 0.0,
    "connect_ms": None,
    "dns_ms": None,
}
IN_FRAME = HTTP1 | {"frame_site": "two.test"}


@pytest.mark.parametrize(("host", "of_all_frames"), [(STATIC, 5), (THIRD, 3)])
def test_what_frames_of_other_sites_ask_over_http1(ranges: Ranges, host: str, of_all_frames: int) -> None:
    """Chromium keeps it apart, Firefox if they ask the page's own site."""
    elsewhere = {WWW: [A], host: [B]}
    page = [(WWW, 0.0, {}), (host, 50.0, HTTP1), (host, 51.0, HTTP1), (host, 900.0, HTTP1)]
    at_once = [*page, (host, 60.0, IN_FRAME)]
    assert ranges(at_once, elsewhere) == [(4, 4), (4, 4)], "not the sum for each"
    after = [*page[:3], (host, 900.0, IN_FRAME), (host, 901.0, IN_FRAME)]
    assert ranges(after, elsewhere) == [(5, 5), (of_all_frames, of_all_frames)]


def test_what_frames_of_other_sites_ask_over_http1_shares_as_many_connections_as_all_were_seen_on(
    ranges: Ranges,
) -> None:
    image, other = HTTP1 | {"connection_id": 8}, HTTP1 | {"connection_id": 9, "frame_site": "three.test"}
    page = [(WWW, 0.0, {}), (THIRD, 50.0, image), (THIRD, 60.0, other), (THIRD, 400.0, image), (THIRD, 410.0, image)]
    assert ranges(page, {WWW: [A], THIRD: [B]})[1] == (3, 3)


def test_firefox_holds_images_back_over_http1(ranges: Ranges) -> None:
    script = HTTP1 | {"resource_type": "script"}
    page = [(WWW, 0.0, {}), (STATIC, 50.0, script), (STATIC, 51.0, script), (STATIC, 52.0, HTTP1)]
    assert ranges(page, ELSEWHERE) == [(4, 4), (3, 4)]
