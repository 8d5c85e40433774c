"""The most effective names per provider, by hand and against trying every set of names."""

from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_tables import model_table, model_tables

from originset.models.certificates import greedy_names
from originset.models.parameters import Parameters

pytestmark = pytest.mark.slow

SAVINGS = ("connections_saved_chromium", "connections_saved_chromium_h3", "connections_saved_firefox")
FEW = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def changes(tables, **parameters):
    return model_table("provider_changes", tables, Parameters(**parameters), browsers=False)


def test_by_hand(example_tables) -> None:
    """Two connections of visit a and one of b carried cdn.other.net beside hosts that the certificate covers."""
    assert changes(example_tables).rows(named=True) == [
        {"provider": "Cloudflare", "asn": 13335, "name": "cdn.other.net", "rank": 1, "sites": 1,
         "connections_saved_paper": 3, "connections_saved_at_most": 3, "connections": 3}
        | dict.fromkeys(SAVINGS),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("registered", "provider"),
    [
        ({"as_name": "CLOUDFLARENET", "organisation": "Cloudflare"}, "Cloudflare"),
        ({"as_name": "CLOUDFLARENET", "organisation": None}, "CLOUDFLARENET"),
        ({"as_name": None, "organisation": None}, "AS13335"),
    ],
)
def test_a_provider_has_the_name_of_who_runs_the_as(make_tables, example_rows, registered, provider) -> None:
    """The name that hosts.edge and the table providers have, where it is one of these."""
    addresses = [row | registered for row in example_rows["addresses"]]
    assert changes(make_tables({**example_rows, "addresses": addresses}))["provider"].to_list() == [provider]


def test_without_wildcards_more_is_missing(example_tables) -> None:
    rows = changes(example_tables, wildcards="ignored").sort("rank")
    # Connection 2 of visit a carried static and assets, that of b cdn and static: none goes away with one name alone.
    assert rows["name"].to_list() == ["cdn.other.net", "static.example.com", "assets.example.com"]
    assert rows["connections_saved_paper"].to_list() == [2, 1, 1]
    assert rows["connections_saved_at_most"].to_list() == [2, 3, 4]


def test_with_coverage_ignored_no_name_is_missing(example_tables) -> None:
    modelled = model_tables(example_tables, Parameters(coverage="ignored"), browsers=False)
    assert modelled["provider_changes"].is_empty()
    assert modelled["certificate_additions"].is_empty()
    (site,) = modelled["site_certificates"].filter(site="example.com").rows(named=True)
    assert (site["additions"], site["existing_names"], site["ideal_names"]) == (0, 2, 2)
    assert site["deployable_additions"] == 0, "known to be none"


def test_unknown_names_and_addresses_add_nothing(make_tables, example_rows) -> None:
    unknown = {**example_rows, "certificates": [{"certificate_id": "own", "san_count": None}], "certificate_names": []}
    assert changes(make_tables(unknown)).is_empty()
    bare = [
        {**row, "host": "104.16.0.2"} if row["host"] == "cdn.other.net" else row for row in example_rows["requests"]
    ]
    assert changes(make_tables({**example_rows, "requests": bare})).is_empty()


@st.composite
def studies(draw):
    """Sites of one or two ASes, whose connections carry one, two or three of six hosts."""
    requests, visits, connections = [], [], []
    for number in range(draw(st.integers(1, 4))):
        visit, asn = f"v{number}", draw(st.integers(1, 2))
        visits.append({"visit_id": visit, "site": f"s{number}.test", "status": "ok", "source": "x.har"})
        base = {"visit_id": visit, "scheme": "https", "port": 443, "status": 200, "server_ip": f"192.0.2.{asn}"}
        rows = [{**base, "host": f"s{number}.test", "connection_id": 0}]
        sets = draw(st.lists(st.sets(st.sampled_from("abcdef"), min_size=1, max_size=3), max_size=6))
        for connection, hosts in enumerate(sets, 1):
            rows += [{**base, "host": f"{host}.test", "connection_id": connection} for host in sorted(hosts)]
        requests += [{**row, "request_id": i, "started_ms": float(i)} for i, row in enumerate(rows)]
        connections.append({"visit_id": visit, "connection_id": 0, "certificate_id": "own", "source": "har"})
    return {
        "visits": visits,
        "requests": requests,
        "connections": connections,
        "certificates": [{"certificate_id": "own", "san_count": 1}],
        "certificate_names": [{"certificate_id": "own", "name": "a.test", "wildcard": False}],
        "addresses": [{"ip": f"192.0.2.{asn}", "asn": asn, "as_name": "same name"} for asn in (1, 2)],
        "hosts": [{"host": host} for host in sorted({row["host"] for row in requests})],
    }


def lacking(rows):
    """For each AS the sets of names that connections lack, from the rows alone."""
    carried: dict[tuple[str, int], set[str]] = {}
    ases = {}
    for row in rows["requests"]:
        carried.setdefault((row["visit_id"], row["connection_id"]), set()).add(row["host"])
        ases[row["visit_id"], row["connection_id"]] = int(row["server_ip"][-1])
    found: dict[int, list[set[str]]] = {}
    for place, hosts in carried.items():
        if place[1] and hosts - {"a.test"}:
            found.setdefault(ases[place], []).append(hosts - {"a.test"})
    return found


@FEW
@given(rows=studies())
def test_against_every_set_of_names(make_tables, rows) -> None:
    table = changes(make_tables(rows))
    expected = lacking(rows)
    assert set(table["asn"]) == set(expected)
    for asn, sets in expected.items():
        names = sorted(set().union(*sets))
        of_as = table.filter(asn=asn).sort("rank")
        assert sorted(of_as["name"]) == names
        assert of_as["connections"].unique().to_list() == [len(sets)]
        for size in range(1, len(names) + 1):
            best = max(sum(each <= set(chosen) for each in sets) for chosen in combinations(names, size))
            chosen = set(of_as["name"].head(size))
            saved = of_as["connections_saved_paper"].head(size).sum()
            assert saved == sum(each <= chosen for each in sets)
            # So few names are all tried: what is said to be the most is the most.
            assert of_as["connections_saved_at_most"][size - 1] == best
            if all(len(each) == 1 for each in sets):
                assert saved == best


@FEW
@given(rows=studies())
def test_bounds_of_shares_hold_where_sets_are_not_tried(make_tables, monkeypatch, rows) -> None:
    tried = changes(make_tables(rows))
    with monkeypatch.context() as patch:
        patch.setattr(greedy_names, "MOST_CANDIDATES", 0)
        untried = changes(make_tables(rows))
    assert untried.drop("connections_saved_at_most").equals(tried.drop("connections_saved_at_most"))
    assert (untried["connections_saved_at_most"] >= tried["connections_saved_at_most"]).all()
