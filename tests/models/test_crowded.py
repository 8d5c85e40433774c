"""Pages of very many hosts or connections: what rests on pairs is not known of them, and nobody else is touched."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.models import crowded as limits
from originset.models.crowded import crowded
from originset.models.fill import model_tables
from originset.models.parameters import Parameters

ON_PAIRS = {
    *("ideal_edge", "ideal_deployable", "paired_ideal_edge", "paired_ideal_deployable"),
    *(f"{browser}_{name}" for browser in ("chromium", "firefox") for name in ("tls", "tls_low", "tls_high", "dns")),
}


@pytest.mark.promise("pairs-are-bounded")
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))))
def test_pages_with_more_than_so_many_of_anything(rows: list[tuple[int, int | None, int | None]]) -> None:
    page, *values = zip(*rows, strict=True) if rows else ((), (), ())
    numbers = np.array(page, np.int64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limits, "MOST", 3)
        found = crowded(numbers, *(pl.Series(of, dtype=pl.Int64) for of in values))
    expected = [
        one
        for one in range(4)
        if any(len({value for of, value in zip(page, column, strict=True) if of == one and value is not None}) > 3
               for column in values)
    ]  # fmt: skip
    assert found.tolist() == expected


def visit(name: str, hosts: list[str], connections: list[int]) -> dict[str, list[dict[str, object]]]:
    """A page whose requests are for these hosts over these connections, all at one address, h2, one certificate."""
    return {
        "visits": [{"visit_id": name, "site": hosts[0], "status": "ok", "source": "x.har", "browser": "chrome"}],
        "requests": [
            {"visit_id": name, "request_id": number, "scheme": "https", "host": host, "port": 443, "status": 200,
             "protocol": "h2", "credentials": "include", "resource_type": "image" if number else "document",
             "connection_id": connection,
             "connection_source": "har", "server_ip": "192.0.2.1", "started_ms": 10.0 * number, "dns_ms": 5.0,
             "connect_ms": 20.0, "wait_ms": 30.0}
            for number, (host, connection) in enumerate(zip(hosts, connections, strict=True))
        ],
        "connections": [
            {"visit_id": name, "connection_id": connection, "first_host": hosts[connections.index(connection)],
             "server_ip": "192.0.2.1", "port": 443, "protocol": "h2", "tls": True, "certificate_id": "own",
             "opened_ms": 10.0 * connection, "established_ms": 10.0 * connection + 5, "source": "har"}
            for connection in sorted(set(connections))
        ],
    }  # fmt: skip


def study(*visits: dict[str, list[dict[str, object]]]) -> dict[str, list[dict[str, object]]]:
    names = ("visits", "requests", "connections")
    hosts = {str(row["host"]) for one in visits for row in one["requests"]}
    return {name: [row for one in visits for row in one[name]] for name in names} | {
        "certificates": [{"certificate_id": "own", "san_count": 1}],
        "certificate_names": [{"certificate_id": "own", "name": "*.one.test", "wildcard": True}],
        "addresses": [{"ip": "192.0.2.1", "asn": 1}],
        "hosts": [{"host": host, "registrable_domain": "one.test"} for host in sorted(hosts)],
    }


MANY_HOSTS = visit("hosts", [f"h{i}.one.test" for i in range(5)], [0, 0, 0, 0, 0])
MANY_CONNECTIONS = visit("connections", ["h0.one.test"] * 5, [0, 1, 2, 3, 4])
ORDINARY = visit("ordinary", [f"h{i}.one.test" for i in range(3)], [0, 1, 2])


@pytest.mark.promise("pairs-are-bounded")
@pytest.mark.parametrize("many", [MANY_HOSTS, MANY_CONNECTIONS])
@pytest.mark.parametrize("part_rows", [1, 100])
def test_what_rests_on_pairs_is_not_known(make_tables, monkeypatch: pytest.MonkeyPatch, many, part_rows: int) -> None:
    (name,) = (row["visit_id"] for row in many["visits"])
    alone = model_tables(make_tables(study(ORDINARY)), Parameters(), part_rows)
    monkeypatch.setattr(limits, "MOST", 4)
    modelled = model_tables(make_tables(study(many, ORDINARY)), Parameters(), part_rows)
    counts = {row["visit_id"]: row for row in modelled["page_counts"].iter_rows(named=True)}
    assert {column for column in ON_PAIRS if counts[name][column] is not None} == set()
    assert (counts[name]["requests"], counts[name]["ideal_ip"], counts[name]["ideal_origin"]) == (5, 1, 1)
    assert counts["ordinary"] == alone["page_counts"].row(0, named=True)
    # Savings are told over all visits of the site, of which one is not known.
    worth = {row["host"]: row["connections_saved_firefox"] for row in modelled["origin_sets"].iter_rows(named=True)}
    before = {row["host"]: row["connections_saved_firefox"] for row in alone["origin_sets"].iter_rows(named=True)}
    others = {str(row["host"]) for row in many["requests"]} - {"h0.one.test"}
    assert before["h1.one.test"] is not None
    assert {worth[host] for host in others} <= {None}
    assert {host: worth[host] for host in before if host not in others} == {
        host: saved for host, saved in before.items() if host not in others
    }
    for table in ("browser_predictions", "page_names", "redundant_connections"):
        assert modelled[table].rows() == alone[table].rows()
        assert not alone[table].is_empty()
    assert modelled["colocation_evidence"].rows() == alone["colocation_evidence"].rows()


def test_up_to_the_limit_all_is_known(make_tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST", 5)
    modelled = model_tables(make_tables(study(MANY_HOSTS, MANY_CONNECTIONS)), Parameters())
    assert sum(modelled["page_counts"].select(ON_PAIRS - {"chromium_tls", "firefox_tls"}).null_count().row(0)) == 0
    assert modelled["redundant_connections"].height == 4
