"""What counts as evidence that one server can answer for two hosts."""

from datetime import UTC, datetime

import pytest
from model_tables import model_table

from originset.data.schema.study_tables import TABLES
from originset.models.parameters import Parameters
from originset.models.runner.runner import batch_rows

pytestmark = pytest.mark.slow


def colocation_evidence(tables):
    return model_table("colocation_evidence", tables, Parameters(), browsers=False)


def level(
    make_tables,
    *,
    b_at="192.0.2.2",
    owner="b.test",
    name="c.test",
    presented_by=None,
    connection=2,
    status=200,
    source="netlog",
):
    base = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200, "connection_source": "netlog"}
    tables = make_tables(
        {
            "visits": [{"visit_id": "v"}],
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
            "addresses": [{"ip": "192.0.2.1", "asn": 64500}, {"ip": b_at, "asn": 64500}],
            "connections": [
                {"visit_id": "v", "connection_id": number, "first_host": host, "certificate_id": "x"}
                for number, host in ((1, "a.test"), (2, "b.test"), (3, "c.test"))
                if host == presented_by
            ],
            "certificate_names": [{"certificate_id": "x", "name": each} for each in ("a.test", name)],
        }
    )
    assert colocation_evidence(tables).schema == TABLES["colocation_evidence"].polars_schema
    levels = batch_rows(tables, ["site_server_hosts"])["site_server_hosts"]
    return levels.filter(server="a.test", host="b.test").select("level", "same_owner").row(0)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, (0, False)),
        ({"owner": None}, (0, None)),
        ({"owner": "a.test"}, (1, True)),
        ({"b_at": "192.0.2.1"}, (2, False)),
        ({"b_at": "192.0.2.1", "owner": "a.test"}, (2, True)),
        # A certificate that covers both is evidence if one of them presented it, and of one server only at one address.
        ({"name": "b.test"}, (0, False)),
        ({"name": "b.test", "presented_by": "c.test"}, (0, False)),
        ({"name": "b.test", "presented_by": "a.test"}, (1, False)),
        ({"name": "b.test", "b_at": "192.0.2.1"}, (2, False)),
        ({"name": "b.test", "b_at": "192.0.2.1", "presented_by": "c.test"}, (2, False)),
        ({"name": "b.test", "b_at": "192.0.2.1", "presented_by": "a.test"}, (3, False)),
        ({"name": "b.test", "b_at": "192.0.2.1", "presented_by": "b.test"}, (3, False)),
        ({"connection": 1}, (5, False)),
        ({"connection": 1, "status": 304}, (5, False)),
        ({"connection": 1, "status": 404}, (0, False)),
        ({"connection": 1, "status": 503}, (0, False)),
        ({"connection": 1, "status": None}, (0, False)),
        ({"connection": 1, "status": 421}, (0, False)),
        ({"connection": 1, "source": "inferred"}, (0, False)),
        ({"b_at": "192.0.2.1", "status": 421}, (0, False)),
    ],
)
def test_levels(make_tables, facts, expected) -> None:
    assert level(make_tables, **facts) == expected


AT = datetime(2026, 1, 2, tzinfo=UTC).replace(tzinfo=None)
HOSTS = {"a.one.test": "one.test", "b.one.test": "one.test", "c.two.test": "two.test", "d.three.test": "three.test"}
A, B, C, D = HOSTS


def study(make_tables, requests, **more):
    """``requests``: visit, host, the last number of its address, connection, status."""
    return make_tables(
        {
            "visits": [{"visit_id": visit, "started_at": AT} for visit in {row[0] for row in requests}],
            "requests": [
                {
                    "visit_id": visit,
                    "request_id": number,
                    "url": f"https://{host}/",
                    "scheme": "https",
                    "port": 443,
                    "host": host,
                    "server_ip": f"192.0.2.{last}",
                    "connection_id": connection,
                    "connection_source": "netlog",
                    "status": status,
                }
                for number, (visit, host, last, connection, status) in enumerate(requests)
            ],
            "addresses": [
                {"ip": f"192.0.2.{last}", "asn": 64500 + (last > 9), "organisation": "Org", "kind": "public"}
                for last in {row[2] for row in requests}
            ],
            "hosts": [{"host": host, "registrable_domain": domain} for host, domain in HOSTS.items()],
            **more,
        }
    )


def rows(tables):
    found = colocation_evidence(tables).rows(named=True)
    return {
        (row["host_a"], row["host_b"], row["kind"]): (row["level"], row["source"], row["observed_at"]) for row in found
    }


def test_every_kind_names_its_source(make_tables):
    """The document is A's: levels 0 and 1 are told of A and the others."""
    tables = study(
        make_tables,
        [("v", A, 1, 1, 200), ("v", B, 1, 2, 200), ("v", C, 2, 3, 200), ("v", D, 2, 3, 200)],
        connections=[{"visit_id": "v", "connection_id": 1, "first_host": A, "certificate_id": "x"}],
        certificate_names=[{"certificate_id": "x", "name": name} for name in ("*.one.test", C)],
    )
    assert rows(tables) == {
        (A, B, "same_as"): (0, "AS64500", AT),
        (A, B, "same_organisation"): (1, "Org", AT),
        (A, B, "shared_address"): (2, "address 192.0.2.1", AT),
        (A, B, "certificate"): (3, "certificate x", AT),
        (A, B, "one_owner"): (1, "one.test", AT),
        (A, C, "same_as"): (0, "AS64500", AT),
        (A, C, "same_organisation"): (1, "Org", AT),
        (A, C, "one_owner"): (1, "certificate x", AT),
        (C, D, "shared_address"): (2, "address 192.0.2.2", AT),
        (C, D, "coalesced"): (5, "connection 3 of visit v", AT),
        (A, D, "same_as"): (0, "AS64500", AT),
        (A, D, "same_organisation"): (1, "Org", AT),
    }


def test_only_hosts_of_one_page(make_tables):
    tables = study(make_tables, [("v", A, 1, 1, 200), ("w", B, 1, 1, 200)])
    assert rows(tables) == {}


def test_an_organisation_has_several_ases(make_tables):
    tables = study(make_tables, [("v", A, 1, 1, 200), ("v", C, 11, 2, 200)])
    assert rows(tables) == {(A, C, "same_organisation"): (1, "Org", AT)}


def test_one_edge_and_one_owner(make_tables):
    hosts = [{"host": host, "registrable_domain": domain, "edge": "Some CDN"} for host, domain in HOSTS.items()]
    found = rows(study(make_tables, [("v", A, 1, 1, 200), ("v", B, 2, 2, 200), ("v", C, 11, 3, 200)], hosts=hosts))
    assert found[A, B, "same_edge"] == (2, "Some CDN", AT)
    assert found[A, B, "one_owner"] == (1, "one.test", AT)
    assert found[A, C, "same_edge"][0] == 2
    assert (A, C, "one_owner") not in found


def test_a_host_with_several_cdns_is_on_no_edge_for_sure(make_tables):
    hosts = [{"host": host, "edge": "Some CDN", "multi_cdn": host == C} for host in HOSTS]
    found = rows(study(make_tables, [("v", A, 1, 1, 200), ("v", B, 2, 2, 200), ("v", C, 3, 3, 200)], hosts=hosts))
    assert {key[:2] for key in found if key[2] == "same_edge"} == {(A, B)}


def test_an_address_of_a_proxy_says_nothing(make_tables):
    addresses = [{"ip": "192.0.2.1", "kind": "private"}]
    found = rows(study(make_tables, [("v", A, 1, 1, 200), ("v", C, 1, 2, 200)], addresses=addresses))
    assert found == {}


def test_a_421_contradicts_whatever_else_was_seen(make_tables):
    """C was refused on A's connection: the browser's log says so, while the request was then answered elsewhere."""
    requests = [("v", A, 1, 1, 200), ("v", C, 1, 2, 200)]
    connections = [{"visit_id": "v", "connection_id": 1, "first_host": A, "certificate_id": "x", "misdirected": [C]}]
    covering = [{"certificate_id": "x", "name": name} for name in (A, C)]
    tables = study(make_tables, requests, connections=connections, certificate_names=covering)
    found = rows(tables)
    assert found[A, C, "misdirected"] == (0, "connection 1 of visit v", AT)
    assert found[A, C, "certificate"][0] == 3
    levels = batch_rows(tables, ["site_server_hosts"])["site_server_hosts"]
    assert levels.filter(server=A, host=C)["level"].to_list() == [0]


def test_a_421_on_a_connection_speaks_against_those_that_it_answered(make_tables):
    """Without a log: the response's status alone."""
    found = rows(study(make_tables, [("v", A, 1, 1, 200), ("v", B, 1, 1, 200), ("v", C, 1, 1, 421)]))
    assert {key[:2] for key in found if key[2] == "misdirected"} == {(A, C), (B, C)}
    assert found[A, B, "coalesced"][0] == 5
    assert (A, C, "shared_address") not in found


def shared_connection(make_tables, status, *, own_status=None):
    """B is asked for on the connection of A and, given ``own_status``, at another visit on its own."""
    requests = [("v", A, 1, 1, 200), ("v", B, 1, 1, status)]
    connections = [{"visit_id": "v", "connection_id": 1, "first_host": A}]
    if own_status is not None:
        requests.append(("w", B, 2, 7, own_status))
        connections.append({"visit_id": "w", "connection_id": 7, "first_host": B})
    return study(make_tables, requests, connections=connections)


@pytest.mark.parametrize("status", [404, 503, None])
def test_an_error_on_anothers_connection_is_only_noted(make_tables, status) -> None:
    found = rows(shared_connection(make_tables, status))
    assert found[A, B, "coalesced_with_errors"] == (0, "connection 1 of visit v", AT)
    assert (A, B, "coalesced") not in found


@pytest.mark.parametrize(("own_status", "kind"), [(404, "coalesced"), (200, "coalesced_with_errors")])
def test_an_error_that_the_hosts_own_connection_gives_too_is_its_answer(make_tables, own_status, kind) -> None:
    found = rows(shared_connection(make_tables, 404, own_status=own_status))
    assert {key[2] for key in found if key[:2] == (A, B) and key[2].startswith("coalesced")} == {kind}


def test_the_host_that_a_connection_was_opened_for_may_answer_with_an_error(make_tables) -> None:
    requests = [("v", A, 1, 1, 404), ("v", B, 1, 1, 200)]
    connections = [{"visit_id": "v", "connection_id": 1, "first_host": A}]
    assert rows(study(make_tables, requests, connections=connections))[A, B, "coalesced"][0] == 5


@pytest.mark.parametrize("status", [404, 503, None])
def test_an_address_is_not_the_hosts_for_an_error_on_anothers_connection(make_tables, status) -> None:
    assert (A, B, "shared_address") not in rows(shared_connection(make_tables, status))


@pytest.mark.parametrize(("status", "shared"), [(404, True), (None, False)])
def test_an_address_is_the_hosts_if_its_own_connection_is_answered(make_tables, status, shared) -> None:
    requests = [("v", A, 1, 1, 200), ("v", B, 1, 2, status)]
    connections = [{"visit_id": "v", "connection_id": 2, "first_host": B}]
    found = rows(study(make_tables, requests, connections=connections))
    assert ((A, B, "shared_address") in found) is shared
