"""How many connections of HTTP/1.1 other loads of a page may need: chance decides who is served first."""

from collections.abc import Callable

import pytest
from example_study import MakeTables

from originset.models.browsers.http1_connections import groups_of_other_loads
from originset.models.browsers.request_groups import modes_of
from originset.models.browsers.tables import groups_of
from tests.fixtures.browser_models import part_of

pytestmark = pytest.mark.slow

HOST = "www.one.test"

Counts = Callable[..., tuple[list[int], list[int]]]


@pytest.fixture
def counts(make_tables: MakeTables) -> Counts:
    """Of requests (connection, ms when asked, blocked, waiting) what is needed at once: as recorded, in other loads.

    The former is ``at_once`` and ``carriers``, the latter ``at_once_least``, ``at_once`` and ``carriers``.
    """

    def found(*asked: tuple[int, float, float, float]) -> tuple[list[int], list[int]]:
        connections = sorted({connection for connection, *_ in asked})
        tables = make_tables(
            {
                "visits": [{"visit_id": "v", "site": HOST, "status": "ok", "source": "crawl", "browser": "chromium"}],
                "requests": [
                    {"visit_id": "v", "request_id": n, "scheme": "https", "host": HOST, "port": 443, "status": 200,
                     "protocol": "http/1.1", "resource_type": "image" if n else "document", "frame_site": "one.test",
                     "credentials": "include", "connection_id": connection, "server_ip": "104.16.0.1",
                     "started_ms": started, "blocked_ms": blocked, "send_ms": 0.0, "wait_ms": wait, "receive_ms": 0.0}
                    for n, (connection, started, blocked, wait) in enumerate(asked)
                ],
                "connections": [
                    {"visit_id": "v", "connection_id": one, "first_host": HOST, "server_ip": "104.16.0.1", "port": 443,
                     "tls": True, "protocol": "http/1.1", "source": "netlog"}
                    for one in connections
                ],
                "addresses": [{"ip": "104.16.0.1", "asn": 13335}],
                "hosts": [{"host": HOST, "registrable_domain": "one.test"}],
            }
        )  # fmt: skip
        part = part_of(tables)
        groups = groups_of(part, modes_of(part))
        other = groups_of_other_loads(part, groups)
        assert groups["at_once_least"].null_count() == groups.height
        return (
            groups.select("at_once", "carriers").row(0),
            other.select("at_once_least", "at_once", "carriers").row(0),
        )

    return found


@pytest.mark.parametrize(
    ("asked", "as_recorded", "in_other_loads"),
    [
        # The second was given the connection that the first had left, before its own was there.
        ([(1, 0.0, 0.0, 60.0), (1, 1.0, 60.0, 60.0)], (1, 1), (1, 2, 2)),
        # It was asked for when the first had its answer.
        ([(1, 0.0, 0.0, 60.0), (1, 70.0, 0.0, 60.0)], (1, 1), (1, 1, 1)),
        # Each had its own, and the first is answered soon enough for the second to be given that.
        ([(1, 0.0, 0.0, 60.0), (2, 1.0, 0.0, 60.0)], (2, 2), (1, 2, 2)),
        # It takes too long for that.
        ([(1, 0.0, 0.0, 900.0), (2, 1.0, 0.0, 900.0)], (2, 2), (2, 2, 2)),
    ],
)
def test_who_is_served_first(
    counts: Counts,
    asked: list[tuple[int, float, float, float]],
    as_recorded: tuple[int, int],
    in_other_loads: tuple[int, int, int],
) -> None:
    assert counts(*asked) == (as_recorded, in_other_loads)
