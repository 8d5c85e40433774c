"""Pages of very many hosts or connections: what rests on pairs is not known of them, and nobody else is touched."""

from __future__ import annotations

from typing import Any

import pytest
from model_tables import model_table, model_tables
from naive_page_models import host_connections, page_counts, rows_of

from originset.models.parameters import Parameters

pytestmark = pytest.mark.slow

ON_PAIRS = [f"{paired}ideal_{rung}" for paired in ("", "paired_") for rung in ("edge", "deployable", "owner")]
LIMIT = 1000

Rows = dict[str, list[dict[str, Any]]]


def visit(name: str, hosts: int, connections: int) -> Rows:
    """A page of one.test whose requests are for so many hosts over so many connections, all at one address."""
    requests = max(hosts, connections)
    return {
        "visits": [{"visit_id": name, "site": "h0.one.test", "status": "ok", "source": "x.har", "load_ms": 9000.0}],
        "requests": [
            {"visit_id": name, "request_id": number, "scheme": "https", "host": f"h{number % hosts}.one.test",
             "port": 443, "status": 421 if number == 1 and hosts > 1 else 200, "protocol": "h2",
             "connection_id": number % connections, "connection_source": "har", "server_ip": "192.0.2.1",
             "started_ms": 10.0 * number, "dns_ms": 5.0, "connect_ms": 20.0}
            for number in range(requests)
        ],
        "connections": [
            {"visit_id": name, "connection_id": connection, "first_host": f"h{connection % hosts}.one.test",
             "certificate_id": "own", "opened_ms": 10.0 * connection, "tls": True, "source": "har"}
            for connection in range(connections)
        ],
    }  # fmt: skip


def study(*visits: Rows) -> Rows:
    hosts = sorted({row["host"] for one in visits for row in one["requests"]})
    return {name: [row for one in visits for row in one[name]] for name in ("visits", "requests", "connections")} | {
        "certificates": [{"certificate_id": "own", "san_count": 1}],
        "certificate_names": [{"certificate_id": "own", "name": "*.one.test", "wildcard": True}],
        "addresses": [{"ip": "192.0.2.1", "asn": 1, "kind": "public"}],
        "hosts": [{"host": host, "registrable_domain": "one.test"} for host in hosts],
    }


ORDINARY = visit("ordinary", 3, 3)


@pytest.mark.promise("pairs-are-bounded")
@pytest.mark.parametrize(("hosts", "connections"), [(LIMIT + 1, 5), (2, LIMIT + 1)], ids=["hosts", "connections"])
@pytest.mark.parametrize("batches", [1, 3])
def test_what_rests_on_pairs_is_not_known(make_tables, hosts: int, connections: int, batches: int) -> None:
    alone = model_tables(make_tables(study(ORDINARY)), Parameters())
    tables = make_tables(study(visit("many", hosts, connections), ORDINARY))
    modelled = model_tables(tables, Parameters(), batches)
    counts = {row["visit_id"]: row for row in modelled["page_counts"].iter_rows(named=True)}
    assert [counts["many"][name] for name in ON_PAIRS] == [None] * 6
    assert {name: value for name, value in counts["many"].items() if name.startswith(("chromium_", "firefox_"))} == {
        name: None for name in counts["many"] if name.startswith(("chromium_", "firefox_"))
    }
    assert counts["ordinary"] == alone["page_counts"].row(0, named=True)
    for row in page_counts(rows_of(tables), Parameters()):
        assert {name: counts[row["visit_id"]][name] for name in row} == row
    # A host that only the large page refused is not told of.
    assert modelled["colocation_evidence"].rows() == alone["colocation_evidence"].rows()
    for table in ("browser_predictions", "page_names", "redundant_connections"):
        assert modelled[table].rows() == alone[table].rows()
    times = dict(modelled["page_load_times"].select("visit_id", "left_out_reason").rows())
    assert times == {"many": None, "ordinary": None}


def test_up_to_the_limit_all_is_known(make_tables) -> None:
    tables = make_tables(study(visit("hosts", LIMIT, 5), visit("connections", 2, LIMIT)))
    assert len(host_connections(rows_of(tables), Parameters())) == 2 * LIMIT
    counts = model_table("page_counts", tables, Parameters(), browsers=False)
    assert counts.select(ON_PAIRS).null_count().row(0) == (0,) * 6
    # One certificate covers all; the second host of one page was refused where others are served.
    assert dict(counts.select("visit_id", "ideal_deployable").rows()) == {"connections": 1, "hosts": 2}
