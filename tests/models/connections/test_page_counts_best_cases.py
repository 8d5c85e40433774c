"""What holds between best cases: more names never cost, rungs lie between their neighbours, names do not matter."""

import os
from typing import get_args

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_tables import model_table, model_tables

from originset.models.parameters import Colocation, Coverage, Parameters

pytestmark = pytest.mark.slow

HOSTS = ("a.one.test", "b.one.test", "c.two.test", "d.three.test")
RUNGS = (
    "measured_tls",
    "without_duplicates",
    "paired_ideal_deployable",
    "paired_ideal_edge",
    "paired_ideal_owner",
    "paired_ideal_origin",
)
FULL = os.environ.get("ORIGINSET_SOAK") == "full"
FEW = settings(max_examples=50 if FULL else 3, suppress_health_check=[HealthCheck.function_scoped_fixture])


PLACES = st.sampled_from([None, "One", "Two"])


@st.composite
def studies(draw):
    """One or two visits of a site; a connection has one address, an origin may have several and so be in two ASes."""
    requests, connections, visits = [], {}, []
    for visit in ("v", "w")[: draw(st.integers(1, 2))]:
        visits.append({"visit_id": visit, "site": "a.one.test", "status": "ok", "source": "x.har", "load_ms": 900.0})
        address = {host: draw(st.integers(0, 3)) for host in HOSTS}
        hosts = [HOSTS[0], *draw(st.lists(st.sampled_from(HOSTS), max_size=7))]
        for number, host in enumerate(hosts):
            place = draw(st.sampled_from([address[host], address[host], draw(st.integers(0, 3))]))
            connection = 10 * place + draw(st.integers(0, 2))
            requests.append(
                {"visit_id": visit, "request_id": number, "scheme": "https", "host": host, "port": 443, "status": 200,
                 "connection_id": connection, "connection_source": "har", "server_ip": f"192.0.2.{place}",
                 "started_ms": 10.0 * number, "dns_ms": 5.0, "connect_ms": 20.0, "wait_ms": 30.0}
            )  # fmt: skip
            connections.setdefault(
                (visit, connection),
                {"visit_id": visit, "connection_id": connection, "first_host": host, "certificate_id": "own",
                 "opened_ms": 10.0 * number, "tls": True, "source": "har"},
            )  # fmt: skip
    names = draw(st.sets(st.sampled_from([*HOSTS, "*.one.test"]), max_size=3))
    return {
        "visits": visits,
        "requests": requests,
        "connections": list(connections.values()),
        "certificates": [{"certificate_id": "own", "san_count": len(names)}],
        "certificate_names": [{"certificate_id": "own", "name": name, "wildcard": name[0] == "*"} for name in names],
        "addresses": [
            {"ip": f"192.0.2.{i}", "asn": draw(st.sampled_from([None, 1, 2])), "organisation": draw(PLACES)}
            for i in range(4)
        ],
        "hosts": [{"host": host, "registrable_domain": host.partition(".")[2], "edge": draw(PLACES)} for host in HOSTS],
    }


def best(modelled):
    """Every best case of a study, as numbers that a further name may only lower."""
    counts = modelled["page_counts"]
    ideals = [name for name in counts.columns if "ideal" in name]
    return [
        *counts.select(pl.col(ideals).fill_null(0)).rows(),
        (modelled["site_certificates"]["additions"].sum(),),
        (modelled["provider_changes"].unique(["provider", "asn"])["connections"].sum(),),
        tuple(modelled["page_load_times"].select("ip_ms", "origin_ms").row(0)),
    ]


@pytest.mark.soak
@FEW
@given(rows=studies(), name=st.sampled_from(HOSTS))
def test_a_further_name_in_the_certificate_never_raises_a_best_case(make_tables, rows, name) -> None:
    more = [*rows["certificate_names"], {"certificate_id": "own", "name": name, "wildcard": False}]
    before = best(model_tables(make_tables(rows), Parameters(), browsers=False))
    after = best(model_tables(make_tables({**rows, "certificate_names": more}), Parameters(), browsers=False))
    for one, other in zip(before, after, strict=True):
        assert all(now <= was for was, now in zip(one, other, strict=True))


@pytest.mark.soak
@FEW
@given(rows=studies(), host=st.sampled_from(HOSTS[1:]))
def test_a_host_seen_on_the_documents_connection_never_raises_the_merged_best_cases(make_tables, rows, host) -> None:
    """As if an origin had been added to the document's server's set, and a browser had used it on another page."""
    extra = [
        {"visit_id": "x", "request_id": number, "scheme": "https", "host": each, "port": 443, "status": 200,
         "connection_id": 1, "connection_source": "har", "server_ip": "192.0.2.0", "started_ms": 0.0}
        for number, each in enumerate((HOSTS[0], host))
    ]  # fmt: skip
    other = {
        **rows,
        "visits": [*rows["visits"], {"visit_id": "x", "site": "x.test", "status": "ok", "source": "x.har"}],
        "requests": [*rows["requests"], *extra],
    }
    columns = [f"{paired}ideal_{rung}" for paired in ("", "paired_") for rung in ("edge", "deployable", "owner")]
    before = model_table("page_counts", make_tables(rows), Parameters(), browsers=False).select(columns).rows()
    after = model_table("page_counts", make_tables(other), Parameters(), browsers=False).filter(
        pl.col("visit_id") != "x"
    )
    for one, changed in zip(before, after.select(columns).rows(), strict=True):
        assert all(now <= was for was, now in zip(one, changed, strict=True))


@pytest.mark.soak
@FEW
@given(
    rows=studies(),
    colocation=st.sampled_from(get_args(Colocation)),
    coverage=st.sampled_from(get_args(Coverage)),
)
def test_each_rung_lies_between_its_neighbours(make_tables, rows, colocation, coverage) -> None:
    parameters = Parameters(colocation=colocation, coverage=coverage)
    counts = model_table("page_counts", make_tables(rows), parameters, browsers=False)
    for rungs in (RUNGS, ("ideal_deployable", "ideal_edge", "ideal_owner", "ideal_origin")):
        for page in counts.select(rungs).rows():
            assert list(page) == sorted(page, reverse=True)
    if coverage == "ignored":
        assert counts["paired_ideal_deployable"].equals(counts["paired_ideal_edge"])
    if colocation not in {"edge", "tenant"}:  # these are of hosts, not of addresses
        assert (counts["paired_ideal_ip"] >= counts["paired_ideal_origin"]).all()


@pytest.mark.soak
@FEW
@given(rows=studies(), data=st.data())
def test_neither_order_nor_names_of_hosts_matter_to_counts_and_times(make_tables, rows, data) -> None:
    names = dict(zip(HOSTS, ("z.nine.test", "y.nine.test", "x.eight.test", "w.seven.test"), strict=True))
    names |= {
        "*.one.test": "*.nine.test",
        "one.test": "nine.test",
        "two.test": "eight.test",
        "three.test": "seven.test",
    }
    other = {
        table: data.draw(
            st.permutations([{key: names.get(value, value) for key, value in row.items()} for row in each])
        )
        for table, each in rows.items()
    }
    one, same = (model_tables(make_tables(each), Parameters(), browsers=False) for each in (rows, other))
    for table in ("page_counts", "page_load_times"):
        assert one[table].equals(same[table])
    assert one["site_certificates"].drop("site").equals(same["site_certificates"].drop("site"))
    changes = [
        modelled["provider_changes"].group_by("provider").agg(pl.col("connections").max()).sort("provider")
        for modelled in (one, same)
    ]
    assert changes[0].equals(changes[1])
