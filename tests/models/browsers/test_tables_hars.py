"""Counts of pages as a foreign HAR tells them: without DNS answers, and with phases of requests for all times."""

import pytest

from tests.fixtures.browser_models import browser_tables

pytestmark = pytest.mark.slow

WWW, STATIC = "www.one.test", "static.one.test"
ADDRESS = "104.16.0.1"


def request(number, host, connection, started_ms, phases=(None, None, None), **more):
    """A request of a HAR; ``phases``: blocked, dns and connect in ms."""
    blocked_ms, dns_ms, connect_ms = phases
    return {
        "visit_id": "v", "request_id": number, "scheme": "https", "host": host, "port": 443, "protocol": "h2",
        "status": 200, "resource_type": "document" if number == 0 else "image", "connection_id": connection,
        "server_ip": ADDRESS, "started_ms": started_ms, "blocked_ms": blocked_ms, "dns_ms": dns_ms,
        "connect_ms": connect_ms, "send_ms": 1.0, "wait_ms": 5.0, "receive_ms": 1.0, **more,
    }  # fmt: skip


@pytest.fixture
def har(make_tables):
    """The tables of a HAR of one page: ``connections`` by number, each with its first host, address and names."""

    def made(requests, connections, lookups=(), **visit):
        hosts = {row["host"] for row in requests}
        return make_tables(
            {
                "visits": [{"visit_id": "v", "site": WWW, "status": "ok", "source": "page.har", **visit}],
                "requests": requests,
                "dns_queries": list(lookups),
                "connections": [
                    {"visit_id": "v", "connection_id": number, "first_host": host, "server_ip": ip, "port": 443,
                     "tls": True, "protocol": "h2", "certificate_id": f"c{number}", "source": "har"}
                    for number, (host, ip, _) in connections.items()
                ],
                "certificates": [
                    {"certificate_id": f"c{number}", "san_count": len(names)}
                    for number, (_, _, names) in connections.items()
                ],
                "certificate_names": [
                    {"certificate_id": f"c{number}", "name": name}
                    for number, (_, _, names) in connections.items()
                    for name in names
                ],
                "addresses": [{"ip": ip, "asn": 1} for ip in {ip for _, ip, _ in connections.values() if ip}],
                "hosts": [{"host": host, "registrable_domain": ".".join(host.split(".")[-2:])} for host in hosts],
            }
        )  # fmt: skip

    return made


def looked_up(host, *answers):
    """The lookup of a host, as a capture has it."""
    return {"visit_id": "v", "lookup_id": 0, "host": host, "rtype": "A", "answers": list(answers), "asked_ms": 0.0,
            "took_ms": 1.0, "source": "browser"}  # fmt: skip


def ranges(tables):
    """The least and the most connections, in Chromium and in Firefox."""
    row = browser_tables(tables)["browser_counts"].row(0, named=True)
    return [(row[f"{browser}_tls_low"], row[f"{browser}_tls_high"]) for browser in ("chromium", "firefox")]


def test_a_name_whose_lookup_was_not_recorded_is_there_when_its_request_stops_waiting(har) -> None:
    # The second waited for 85 ms, for the connection of the first, which is there at 70 ms.
    requests = [
        request(0, WWW, 7, 0.0, (0.0, 50.0, 20.0)),
        request(1, STATIC, 7, 2.0, (85.0, None, None)),
    ]
    assert ranges(har(requests, {7: (WWW, ADDRESS, [WWW, STATIC])})) == [(1, 2), (1, 2)]
    requests[1]["blocked_ms"] = 40.0
    requests[1]["connection_id"] = 8
    apart = {7: (WWW, ADDRESS, [WWW, STATIC]), 8: (STATIC, ADDRESS, [STATIC])}
    assert ranges(har(requests, apart))[0] == (2, 2)  # Chromium does not wait


def page_at_two_addresses():
    requests = [
        request(0, WWW, 1, 0.0, (0.0, 5.0, 20.0)),
        request(1, STATIC, 2, 200.0, (0.0, 5.0, 20.0), server_ip="104.16.0.2", credentials="include"),
    ]
    return requests, {1: (WWW, ADDRESS, [WWW, STATIC]), 2: (STATIC, "104.16.0.2", [STATIC])}


def test_without_answers_the_address_that_requests_were_sent_to_is_where_the_host_is(har) -> None:
    assert ranges(har(*page_at_two_addresses())) == [(2, 2), (2, 2)]


def test_answers_say_more_than_the_address_that_requests_were_sent_to(har) -> None:
    both = looked_up(STATIC, ADDRESS, "104.16.0.2")
    assert ranges(har(*page_at_two_addresses(), [both]))[0] == (1, 1)


def page_over_http1(starts, connections, phases=(0.0, None, None)):
    """Twelve requests over HTTP/1.1, of which nothing says which are sent with credentials, after the document's."""
    requests = [
        request(0, WWW, 1, 0.0, (0.0, 5.0, 20.0)),
        *(
            request(n, STATIC, connections[n % len(connections)], start, phases, protocol="http/1.1")
            for n, start in enumerate(starts, 1)
        ),
    ]
    of_static = {number: (STATIC, "104.16.0.2", [STATIC]) for number in connections}
    return [{**each, "server_ip": "104.16.0.2"} if each["host"] == STATIC else each for each in requests], {
        1: (WWW, ADDRESS, [WWW]),
        **of_static,
    }


def test_each_mode_needs_over_http1_what_all_requests_at_once_would(har) -> None:
    one_by_one = [100.0 * n for n in range(1, 13)]
    assert ranges(har(*page_over_http1(one_by_one, [2, 3]))) == [(2, 3), (2, 3)]
    two_at_once = [100.0 * (n // 2) for n in range(2, 14)]
    assert ranges(har(*page_over_http1(two_at_once, [2, 3, 4, 5])))[0] == (2, 5)


def test_requests_that_chromium_had_on_some_connections_need_no_more(har) -> None:
    two_at_once = [100.0 * (n // 2) for n in range(2, 14)]
    plain = page_over_http1(two_at_once, [2, 3])
    assert ranges(har(*plain))[0] == (2, 5)  # nothing says that it was Chromium
    assert ranges(har(*plain, browser="chromium")) == [(2, 3), (2, 3)]


def test_what_one_connection_of_chromium_carried_is_of_one_mode(har) -> None:
    requests, connections = page_at_two_addresses()
    again = [request(n, STATIC, 2, 300.0 + n, server_ip="104.16.0.2") for n in (2, 3)]
    requests[1]["credentials"] = None
    assert ranges(har([*requests, *again], connections))[0] == (2, 3)
    assert ranges(har([*requests, *again], connections, browser="chromium"))[0] == (2, 2)


CDN, OTHER_OF_CDN = "cdn.two.test", "js.two.test"
STRANGERS = [f"www.h{number}.test" for number in range(3)]


def page_with_one_shared_connection():
    """Five connections, of which the second carries two names; nothing else has anything to do with another."""
    requests = [
        request(0, WWW, 1, 0.0, (0.0, 5.0, 20.0)),
        request(1, CDN, 2, 200.0, (0.0, 5.0, 20.0), server_ip="104.16.0.9"),
        request(2, OTHER_OF_CDN, 2, 600.0, server_ip="104.16.0.9"),
        *(
            request(3 + n, host, 3 + n, 1000.0 + n, (0.0, 5.0, 20.0), server_ip=f"23.0.0.{n}")
            for n, host in enumerate(STRANGERS)
        ),
    ]
    connections = {1: (WWW, ADDRESS, [WWW]), 2: (CDN, "104.16.0.9", [CDN, OTHER_OF_CDN])}
    connections |= {3 + n: (host, f"23.0.0.{n}", [host]) for n, host in enumerate(STRANGERS)}
    return requests, connections


def as_recorded(tables):
    rows = browser_tables(tables)["browser_predictions"].filter(model="today").sort("browser")
    return rows["as_recorded"].to_list()


def test_what_shares_a_connection_by_the_recording_alone_is_said_and_widens_the_range_by_itself_alone(har) -> None:
    tables = har(*page_with_one_shared_connection())
    assert ranges(tables) == [(5, 6), (5, 6)]
    assert as_recorded(tables) == [1, 1]


def test_whether_it_has_a_handshake_of_its_own_is_not_known_either(har) -> None:
    def told(tables):
        return (
            browser_tables(tables)["page_names"].filter(host=OTHER_OF_CDN).select("chromium_sni", "firefox_sni").row(0)
        )

    requests, connections = page_with_one_shared_connection()
    assert told(har(requests, connections)) == (None, None)
    for each in requests:
        each |= {"credentials": "include", "frame_site": "one.test"}
    decided = har(requests, connections, [looked_up(OTHER_OF_CDN, "104.16.0.9")], third_party_cookies="allowed")
    assert told(decided) == (False, False)


def test_what_the_rules_decide_by_themselves_does_not_rest_on_the_recording(har) -> None:
    requests, connections = page_with_one_shared_connection()
    for each in requests:
        each |= {"credentials": "include", "frame_site": "one.test"}
    tables = har(requests, connections, [looked_up(OTHER_OF_CDN, "104.16.0.9")], third_party_cookies="allowed")
    assert ranges(tables) == [(5, 5), (5, 5)]
    assert as_recorded(tables) == [0, 0]
    # Without credentials it would not share: what the recording shows does not outdo what is known.
    requests[2]["credentials"] = "omit"
    tables = har(requests, connections, [looked_up(OTHER_OF_CDN, "104.16.0.9")], third_party_cookies="allowed")
    assert ranges(tables) == [(6, 6), (6, 6)]
    assert as_recorded(tables) == [0, 0]


def test_a_frame_may_have_made_up_for_the_address_in_a_recording_by_firefox(har) -> None:
    tables = har(*page_with_one_shared_connection(), browser="firefox")
    assert as_recorded(tables) == [0, 0]
    assert ranges(tables)[1][1] > 5


COVERED = {7: (WWW, ADDRESS, [WWW, STATIC]), 8: (STATIC, None, [STATIC])}


def later_on_its_own(started_ms, phases, **more):
    """A page, and a request that the recording has on a connection of its own, to an address that it lacks."""
    return [
        request(0, WWW, 7, 0.0, (0.0, 50.0, 20.0)),
        request(1, STATIC, 8, started_ms, phases, server_ip=None, **more),
    ]


OPENED = (0.0, 10.0, 20.0)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        # Credentials, too, may be why: whether Firefox minds is not known.
        (later_on_its_own(200.0, OPENED), [(2, 2), (1, 2)]),
        (later_on_its_own(200.0, OPENED, credentials="include"), [(2, 2), (2, 2)]),
        # The first connection was not established yet, for which Firefox may wait.
        (later_on_its_own(30.0, OPENED), [(2, 2), (1, 2)]),
        # Nobody knows whether it was when the second was opened.
        (later_on_its_own(200.0, (0.0, None, None)), [(1, 2), (1, 2)]),
    ],
)
def test_a_connection_opened_while_another_stood_could_not_have_been_shared(har, requests, expected) -> None:
    assert ranges(har(requests, COVERED, browser="chromium")) == expected


def test_a_connection_opened_by_a_browser_whose_rules_are_not_known_says_nothing_of_others(har) -> None:
    requests = later_on_its_own(200.0, OPENED, credentials="include")
    assert ranges(har(requests, COVERED, browser="safari")) == [(1, 2), (1, 2)]


def test_what_would_narrow_a_range_is_counted(har) -> None:
    tables = har(later_on_its_own(200.0, (0.0, None, None)), COVERED, browser="chromium")
    rows = browser_tables(tables)["browser_predictions"].filter(browser="chromium")
    columns = ("lacks_answers", "lacks_certificates", "lacks_credentials")
    assert rows.filter(model="today").select(columns).row(0) == (1, 0, 1)
    assert rows.filter(model="planned").select(columns).row(0) == (None, None, None)


def test_a_manifest_is_asked_for_without_credentials_perhaps(har) -> None:
    requests = [request(0, WWW, 7, 0.0), request(1, WWW, 8, 500.0, (0.0, None, 20.0), resource_type="manifest")]
    both = {7: (WWW, ADDRESS, [WWW]), 8: (WWW, ADDRESS, [WWW])}
    assert ranges(har(requests, both, browser="chromium"))[0] == (2, 2)
