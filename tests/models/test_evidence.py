"""What counts as evidence that one server can answer for two hosts."""

import polars as pl
import pytest

from originset.models.evidence import levels


def level(make_tables, *, b_at="192.0.2.2", owner="b.test", name="c.test", connection=2, status=200, source="netlog"):
    base = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200, "connection_source": "netlog"}
    tables = make_tables(
        {
            "requests": [
                {**base, "request_id": 0, "host": "a.test", "server_ip": "192.0.2.1", "connection_id": 1},
                {
                    **base,
                    "request_id": 1,
                    "host": "b.test",
                    "server_ip": b_at,
                    "connection_id": connection,
                    "status": status,
                    "connection_source": source,
                },
            ],
            "hosts": [
                {"host": "a.test", "registrable_domain": "a.test"},
                {"host": "b.test", "registrable_domain": owner},
            ],
            "certificate_names": [{"certificate_id": "x", "name": each} for each in ("a.test", name)],
        }
    )
    pair = pl.LazyFrame({"server": ["a.test"], "host": ["b.test"]})
    return levels(tables, pair).select("level", "same_owner").collect().row(0)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, (0, False)),
        ({"owner": None}, (0, None)),
        ({"owner": "a.test"}, (0, True)),
        ({"b_at": "192.0.2.1"}, (2, False)),
        ({"b_at": "192.0.2.1", "owner": "a.test"}, (3, True)),
        ({"name": "b.test"}, (3, False)),
        ({"connection": 1}, (5, False)),
        ({"connection": 1, "status": 421}, (0, False)),
        ({"connection": 1, "source": "inferred"}, (0, False)),
        ({"b_at": "192.0.2.1", "status": 421}, (0, False)),
    ],
)
def test_levels(make_tables, facts, expected) -> None:
    assert level(make_tables, **facts) == expected
