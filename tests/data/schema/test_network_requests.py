"""Which requests count: those that reached the network."""

from __future__ import annotations

from example_study import MakeTables, request_row

from originset.models.runner.runner import batch_rows


def test_what_reached_the_network(make_tables: MakeTables) -> None:
    schemes = ["https", "wss", "http", "ws", "data", "blob"]
    requests = [request_row("v", number, "a.test", None, number, scheme=one) for number, one in enumerate(schemes)]
    requests += [
        request_row("v", 6, "a.test", None, 6, from_cache=True),
        request_row("v", 7, "a.test", None, None, status=None),
        request_row("v", 8, "a.test", None, 8, status=None),
        request_row("v", 9, "a.test", None, None),
    ]
    found = batch_rows(make_tables({"requests": requests}), ["network_requests"])["network_requests"].sort("request_id")
    assert found.select("request_id", "scheme", "secure").rows() == [
        (0, "https", True),
        (1, "wss", True),
        (2, "http", False),
        (3, "ws", False),
        (8, "https", True),
        (9, "https", True),
    ]
