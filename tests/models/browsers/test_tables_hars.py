"""Counts of pages as a foreign HAR tells them: without DNS answers, and with phases of requests for all times."""

import pytest

from tests.fixtures.browser_models import browser_tables

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

    def made(requests, connections):
        hosts = {row["host"] for row in requests}
        return make_tables(
            {
                "visits": [{"visit_id": "v", "site": WWW, "status": "ok", "source": "page.har"}],
                "requests": requests,
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
                "addresses": [{"ip": ip, "asn": 1} for ip in {ip for _, ip, _ in connections.values()}],
                "hosts": [{"host": host, "registrable_domain": ".".join(host.split(".")[-2:])} for host in hosts],
            }
        )  # fmt: skip

    return made


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
    assert ranges(har(requests, {7: (WWW, ADDRESS, [WWW, STATIC])})) == [(1, 1), (1, 1)]
    requests[1]["blocked_ms"] = 40.0
    assert ranges(har(requests, {7: (WWW, ADDRESS, [WWW, STATIC])}))[0] == (2, 2)
