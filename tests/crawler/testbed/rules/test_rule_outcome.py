"""From logs to outcomes: which requests shared a connection, whatever order and numbers the servers wrote."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.testbed.rules.observations import LoadOutcome, ObservedConnection
from originset.crawler.testbed.rules.rule_outcome import (
    LoadRecords,
    cell_of_loads,
    expected_requests,
    query_counts,
    shared_connections,
)
from originset.crawler.testbed.scenario import Resource
from originset.crawler.testbed.server_logs import LoggedDnsQuery, LoggedRequest, TlsHandshake

ORDER = ("www.a.test/", "static.a.test/1", "static.a.test/2", "www.a.test/3")


def handshake(number: int, name: str = "www.a.test", **more: object) -> TlsHandshake:
    facts = {"time": 1.0, "server": "192.0.2.1", "client": "192.0.2.1", "client_port": number, "alpn": "h2"}
    return TlsHandshake(connection=number, server_name=name, resumed=False, tls_version="TLSv1.3", **{**facts, **more})


def request(number: int, url: str, status: int = 200, protocol: str = "h2") -> LoggedRequest:
    host, _, path = url.partition("/")
    return LoggedRequest(
        time=1.0,
        connection=number,
        server="192.0.2.1",
        client_port=number,
        scheme="https",
        protocol=protocol,
        method="GET",
        host=host,
        path=f"/{path}",
        status=status,
    )


def query(name: str, rtype: str) -> LoggedDnsQuery:
    return LoggedDnsQuery(time=1.0, name=name, rtype=rtype, client="192.0.2.1", transport="udp", rcode="NOERROR")


@given(st.permutations(range(1, 4)), st.lists(st.integers(0, 2), min_size=4, max_size=4), st.randoms())
def test_numbers_and_order_of_the_log_make_no_difference(numbers, carriers, random) -> None:
    """The same sharing under other connection numbers, logged in another order, is the same outcome."""

    def seen(name_of: list[int], shuffled: bool) -> tuple[ObservedConnection, ...]:
        requests = [request(name_of[carrier], url) for carrier, url in zip(carriers, ORDER, strict=True)]
        if shuffled:
            random.shuffle(requests)
        return shared_connections([handshake(number) for number in name_of], requests, ORDER)

    plain = seen([1, 2, 3], shuffled=False)
    assert seen(list(numbers), shuffled=True) == plain
    assert sorted(one for connection in plain for one in connection.requests) == sorted(ORDER)
    assert len(plain) == len(set(carriers))


def test_a_connection_is_told_with_what_it_was_opened_for_and_refused() -> None:
    handshakes = [handshake(7, origins=["https://static.a.test"]), handshake(9, "static.a.test", alpn="h3")]
    requests = [
        request(9, "static.a.test/1", protocol="h3"),
        request(7, "www.a.test/"),
        request(7, "static.a.test/1", status=421),
        request(7, "www.a.test/"),  # asked for twice: told once
        request(5, "www.a.test/"),  # plain HTTP: no handshake, no connection of these
    ]
    assert shared_connections(handshakes, requests, ORDER) == (
        ObservedConnection(
            "www.a.test", "192.0.2.1", "h2", ("static.a.test/1", "www.a.test/"), ("static.a.test/1",), 1
        ),
        ObservedConnection("static.a.test", "192.0.2.1", "h3", ("static.a.test/1",)),
    )


def test_what_no_page_writes_down_comes_first() -> None:
    connections = shared_connections(
        [handshake(1), handshake(2)], [request(1, "www.a.test/"), request(2, "a.test/")], ("www.a.test/",)
    )
    assert [one.requests for one in connections] == [("a.test/",), ("www.a.test/",)]


def test_equal_loads_stand_together_the_most_frequent_first() -> None:
    page = Resource("page", "https://www.a.test/", loads=(Resource("image", "https://static.a.test/1"),))
    shared = LoadRecords(
        [handshake(1)], [request(1, "www.a.test/"), request(1, "static.a.test/1")], [query("www.a.test", "A")]
    )
    apart = LoadRecords(
        [handshake(2), handshake(3, "static.a.test"), handshake(4)],
        [request(2, "www.a.test/"), request(3, "static.a.test/1")],
        [query("www.a.test", "A"), query("static.a.test", "A"), query("static.a.test", "A")],
    )
    lost = LoadRecords([handshake(5)], [request(5, "www.a.test/")])
    made = cell_of_loads("a", page, "firefox", "blocked", [apart, shared, lost, shared])
    assert [outcome.loads for outcome in made.outcomes] == [(1, 3), (0,), (2,)]
    assert made.majority.hosts == {frozenset({"www.a.test", "static.a.test"})}
    assert made.outcomes[2].missing == ("static.a.test/1",)
    assert made.used == (2, 1, 1, 1)
    assert made.opened == (3, 1, 1, 1)
    assert made.lookups == {"static.a.test": {"A": (2, 0, 0, 0)}, "www.a.test": {"A": (1, 1, 0, 1)}}


def test_a_host_that_only_refused_does_not_count_as_carried() -> None:
    connection = ObservedConnection(
        "www.a.test", "192.0.2.1", "h2", ("static.a.test/1", "www.a.test/"), ("static.a.test/1",)
    )
    assert LoadOutcome((connection,), (0,)).hosts == {frozenset({"www.a.test"})}


def test_what_is_expected_of_a_page() -> None:
    page = Resource(
        "page",
        "https://www.a.test/",
        loads=(
            Resource("preconnect", "https://static.a.test/"),
            Resource("image", "https://static.a.test/1"),
            Resource("image", "https://static.a.test/1"),
            Resource("inline", "data:"),
            Resource("script", "https://www.a.test/s", loads=(Resource("fetch", "https://b.test/2"),)),
        ),
    )
    assert expected_requests(page) == ("www.a.test/", "static.a.test/1", "www.a.test/s", "b.test/2")


def test_lookups_without_loads() -> None:
    assert query_counts([]) == {}
