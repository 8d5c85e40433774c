"""Which requests count: those that reached the network."""

from __future__ import annotations

from example_study import MakeTables, request_row

from originset.models.network import network_requests


def test_what_reached_the_network(make_tables: MakeTables) -> None:
    schemes = ["https", "wss", "http", "ws", "data", "blob"]
    requests = [request_row("v", number, "a.test", None, number, scheme=one) for number, one in enumerate(schemes)]
    requests += [
        request_row("v", 6, "a.test", None, 6, from_cache=True),
        request_row("v", 7, "a.test", None, None, status=None),
        request_row("v", 8, "a.test", None, 8, status=None),
        request_row("v", 9, "a.test", None, None),
    ]
    rows = network_requests(make_tables({"requests": requests}), "request_id", "scheme").rows()
    assert rows == [(0, "https"), (1, "wss"), (2, "http"), (3, "ws"), (8, "https"), (9, "https")]
