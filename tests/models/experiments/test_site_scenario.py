"""A page as a scenario: what stays the same, what is left out and says so, and that strangers' names do no harm."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from example_study import MakeTables, connection_row, request_row
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.scenario import Scenario
from originset.models.experiments.site_scenario import SiteScenario, site_scenario
from originset.models.plans.planned_connections import Deployment
from originset.models.runner.runner import batch_rows

A, B, C = "104.16.0.1", "104.16.0.2", "151.101.1.140"
VISIT = {"visit_id": "v", "site": "example.com", "final_url": "https://www.example.com/0", "load_ms": 500.0}
DOCUMENT = request_row("v", 0, "www.example.com", A, 1, resource_type="document", bytes=4000, wait_ms=80.4)


def frames_of(tables: dict[str, pl.LazyFrame]) -> dict[str, pl.DataFrame]:
    """The tables, and those that models make of them for a scenario."""
    modelled = batch_rows(tables, ("network_requests", "documents"))
    return {name: table.collect() for name, table in tables.items()} | modelled


def made(make_tables: MakeTables, requests: list[dict[str, Any]], visit: dict[str, Any] = VISIT, **more: Any) -> Any:
    tables = make_tables({"visits": [visit], "requests": requests, **more})
    frames = frames_of(tables)
    return site_scenario(frames["visits"].row(0, named=True), frames)


def parsed(scenario: SiteScenario | None) -> Scenario:
    assert scenario is not None
    return scenario_file.parse(scenario.text)


def a_query(host: str, rtype: str, *answers: str) -> dict[str, Any]:
    return {"visit_id": "v", "lookup_id": 1, "host": host, "rtype": rtype, "answers": list(answers)}


def names_of(certificate: str, *names: str) -> list[dict[str, Any]]:
    return [{"certificate_id": certificate, "name": name, "wildcard": name.startswith("*")} for name in names]


def test_hosts_addresses_certificates_sizes_and_waits_are_the_pages(make_tables: MakeTables) -> None:
    requests = [
        DOCUMENT,
        request_row("v", 1, "static.example.com", B, 2, resource_type="stylesheet", bytes=900, wait_ms=7.0),
        request_row("v", 2, "old.other.net", C, 3, protocol="http/1.1", resource_type="image", initiator_id=1),
        request_row("v", 3, "static.example.com", B, 4, resource_type="font", initiator_id=1, credentials="omit"),
        request_row("v", 4, "new.other.net", C, 5, protocol="h3", resource_type="script", credentials="omit"),
        request_row("v", 5, "new.other.net", C, 5, resource_type="xhr", initiator_id=4, credentials="include"),
        request_row("v", 6, "www.example.com", A, 1, resource_type="ping", initiator_id=4),
    ]
    connections = [
        connection_row("v", 1, "www.example.com", "own", origin_set=["https://www.example.com", "junk"]),
        connection_row("v", 2, "static.example.com", "own"),
        connection_row("v", 3, "old.other.net", "other", misdirected=["new.other.net"]),
    ]
    scenario = made(
        make_tables,
        requests,
        connections=connections,
        certificate_names=names_of("own", "example.com", "*.example.com") + names_of("other", "*.other.net", "_x.net"),
        dns_queries=[
            a_query("www.example.com", "AAAA", "2606:4700::1"),
            a_query("www.example.com", "A", A, B),
            a_query("www.example.com", "HTTPS", 'alpn="h2"'),
        ],
        addresses=[{"ip": C, "asn": 54113}],
    )
    read = parsed(scenario)
    assert read.sites == ("www.example.com",)
    assert {name: host.addresses for name, host in read.hosts.items()} == {
        "www.example.com": ("2606:4700::1", A, B),
        "static.example.com": (B,),
        "old.other.net": (C,),
        "new.other.net": (C,),
    }
    assert [host.asn for host in read.hosts.values()] == [54113, 54113, None, None]
    covering = {name: read.certificates[host.certificate or ""].names for name, host in read.hosts.items()}
    assert covering["www.example.com"] == covering["static.example.com"] == ("*.example.com", "example.com")
    assert covering["old.other.net"] == ("*.other.net",)
    assert read.hosts["www.example.com"].origin_set == ("https://www.example.com",)
    assert read.hosts["old.other.net"].protocol == "http/1.1"
    assert read.hosts["new.other.net"].http3 == "advertised"
    assert read.hosts["new.other.net"].own_connection
    (page,) = read.pages
    assert (page.bytes, page.wait_ms) == (4000, 80)
    style, script = page.loads
    assert (style.kind, style.bytes, style.wait_ms) == ("style", 900, 7)
    assert [(one.kind, one.host) for one in style.loads] == [("image", "old.other.net"), ("font", "static.example.com")]
    assert (script.kind, script.crossorigin) == ("script", True)
    assert [(one.kind, one.credentials) for one in script.loads] == [("xhr", "include"), ("fetch", "include")]
    assert "the certificate of new.other.net" in scenario.text


def test_a_plan_is_deployed_in_it(make_tables: MakeTables) -> None:
    requests = [
        DOCUMENT,
        request_row("v", 1, "static.example.com", B, 2, resource_type="script", wait_ms=30.0),
        request_row("v", 2, "odd.example.com", C, 3, port=8443),
        request_row("v", 3, "static.example.com", B, 2, resource_type="image", initiator_id=1, started_ms=1700.0),
    ]
    same = names_of("own", "www.example.com") + names_of("other", "www.example.com")
    tables = make_tables(
        {
            "visits": [VISIT],
            "requests": requests,
            "connections": [
                connection_row("v", 1, "www.example.com", "own", origin_set=["https://late.example.com"]),
                connection_row("v", 2, "static.example.com", "other", origin_set=["https://static.example.com"]),
            ],
            "certificate_names": same,
        }
    )
    frames = frames_of(tables)
    planned = ["https://static.example.com", "https://www.example.com"]
    deployed = Deployment({"www.example.com": planned}, ("static.example.com",))
    scenario = site_scenario(frames["visits"].row(0, named=True), frames, deployed, round_trip_ms=28)
    read = parsed(scenario)
    server, other = read.hosts["www.example.com"], read.hosts["static.example.com"]
    assert server.origin_set == tuple(planned)
    assert other.origin_set == ("https://static.example.com",), "no server of the plan's"
    assert read.certificates[server.certificate or ""].names == ("www.example.com", "static.example.com")
    assert read.certificates[other.certificate or ""].names == ("www.example.com",), "another one with the same names"
    assert (read.pages[0].wait_ms, read.pages[0].loads[0].wait_ms) == (52, 2)
    assert scenario is not None
    assert scenario.left_out == ["1 requests to other ports than 443"]
    assert (scenario.requests, scenario.latest_ms) == ({0, 1, 3}, 1200)


def test_what_came_after_the_load_event_comes_after_it(make_tables: MakeTables) -> None:
    requests = [
        DOCUMENT,
        request_row("v", 1, "www.example.com", A, 1, resource_type="script"),
        request_row("v", 2, "www.example.com", A, 1, resource_type="image", started_ms=730.0),
        request_row("v", 3, "www.example.com", A, 1, resource_type="image", started_ms=510.0),
        request_row("v", 4, "www.example.com", A, 1, resource_type="font", started_ms=900.0),
    ]
    script, early, font = parsed(made(make_tables, requests)).pages[0].loads
    assert [(one.kind, one.after_ms) for one in script.loads] == [("image", 230)]
    assert (early.kind, early.after_ms, font.kind) == ("image", None, "font")
    without_script = parsed(made(make_tables, [DOCUMENT, *requests[2:]])).pages[0]
    assert [one.after_ms for one in without_script.loads] == [None, None, None]


def test_redirects_to_the_page_stay(make_tables: MakeTables) -> None:
    requests = [
        request_row("v", 0, "example.com", B, 9, status=301, resource_type="document"),
        {**DOCUMENT, "request_id": 1, "url": "https://www.example.com/0"},
        request_row("v", 2, "www.example.com", A, 1, status=302),
    ]
    read = parsed(scenario := made(make_tables, requests))
    assert read.sites == ("example.com",)
    assert read.hosts["example.com"].redirect == "https://www.example.com/"
    assert read.pages[0].url == "https://www.example.com/"
    assert scenario.left_out[0] == "1 redirects and preflights"
    assert scenario.requests == {0, 1}
    # A host that has something to say for itself cannot redirect everything.
    requests.append(request_row("v", 3, "example.com", B, 9))
    assert parsed(made(make_tables, requests)).sites == ("www.example.com",)


def test_what_cannot_load_is_passed_over_for_what_loaded_it(make_tables: MakeTables) -> None:
    requests = [
        DOCUMENT,
        request_row("v", 1, "www.example.com", A, 1, resource_type="subframe"),
        request_row("v", 2, "www.example.com", A, 1, resource_type="script", initiator_id=1),
        request_row("v", 3, "www.example.com", A, 1, resource_type="image", initiator_id=2),
        request_row("v", 4, "www.example.com", A, 1, resource_type="xhr", initiator_id=3),
        request_row("v", 5, "www.example.com", A, 1, resource_type="stylesheet", initiator_id=3),
        request_row("v", 6, "www.example.com", A, 1, resource_type="xhr", initiator_id=6),
    ]
    frame, own_cause = parsed(made(make_tables, requests)).pages[0].loads
    assert (frame.kind, own_cause.kind) == ("iframe", "xhr")
    script, style = frame.loads  # neither image nor script loads styles: what is around them does
    assert (script.kind, style.kind) == ("script", "style")
    assert [one.kind for one in script.loads] == ["image", "xhr"]


def test_credentials_are_those_of_each_kind(make_tables: MakeTables) -> None:
    kinds = ["fetch", "xhr", "script", "font"]
    asked = [(kind, mode) for kind in kinds for mode in ("omit", "include", "unknown")]
    requests = [
        request_row("v", number, "www.example.com", A, 1, resource_type=kind, credentials=mode)
        for number, (kind, mode) in enumerate(asked, start=1)
    ]
    loads = parsed(made(make_tables, [DOCUMENT, *requests])).pages[0].loads
    said = {one: (load.credentials, load.crossorigin) for one, load in zip(asked, loads, strict=True)}
    assert [said["fetch", mode][0] for mode in ("omit", "include", "unknown")] == ["omit", "include", "include"]
    assert [said["xhr", mode][0] for mode in ("omit", "include", "unknown")] == [
        "same-origin",
        "include",
        "same-origin",
    ]
    assert [said["script", mode][1] for mode in ("omit", "include", "unknown")] == [True, False, False]


def test_what_cannot_be_in_it_is_said(make_tables: MakeTables) -> None:
    requests = [
        DOCUMENT,
        request_row("v", 1, "plain.test", A, None, scheme="http", connection_id=4),
        request_row("v", 2, "cached.test", None, None, from_cache=True),
        request_row("v", 3, "nowhere.test", None, 5, resource_type="script"),
        request_row("v", 4, "lan.test", "192.168.1.1", 6, resource_type="script"),
        request_row("v", 5, "under_score.test", A, 7, resource_type="script"),
        request_row("v", 6, "www.example.com", A, 1, resource_type="image", initiator_id=5, started_ms=900.0),
    ]
    scenario = made(make_tables, requests)
    assert scenario.left_out[0].startswith("2 requests that went over no TLS connection")
    assert scenario.left_out[-1].endswith("lan.test, nowhere.test, under_score.test")
    (orphan,) = parsed(scenario).pages[0].loads
    assert (orphan.kind, orphan.after_ms) == ("image", None), "its script is gone, so it is the page's"
    for sentence in scenario.left_out:
        assert f"# Not in it: {sentence}." in scenario.text


@pytest.mark.parametrize(
    "requests",
    [
        [],
        [{**DOCUMENT, "server_ip": None}],
        [{**DOCUMENT, "server_ip": "10.0.0.1"}],
        [{**DOCUMENT, "scheme": "http"}],
        [{**DOCUMENT, "status": 301}],
    ],
)
def test_no_document_no_scenario(make_tables: MakeTables, requests: list[dict[str, Any]]) -> None:
    assert made(make_tables, requests) is None


def test_the_page_is_the_studys_document(make_tables: MakeTables) -> None:
    """Where nothing says which request made the page, the first response did, as everywhere."""
    untyped = [request_row("v", number, host, A, 1) for number, host in enumerate(("a.example.com", "b.example.com"))]
    read = parsed(made(make_tables, untyped, {**VISIT, "final_url": None}))
    assert read.sites == ("a.example.com",)


hostile = st.text(max_size=20) | st.sampled_from(
    ['a"]\n[host."b.test"]', "a\\u0022.test", "xn--.test", "-a.test", "a..b"]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(hostile, hostile, hostile, st.none() | st.integers(0, 9)), max_size=8))
def test_strangers_names_stay_values(make_tables: MakeTables, strange: list[tuple[str, str, str, int | None]]) -> None:
    requests = [DOCUMENT]
    connections, certificates = [], []
    for number, (host, address, name, initiator) in enumerate(strange, start=1):
        more = {"resource_type": name, "initiator_id": initiator, "url": name, "bytes": -number}
        requests.append(request_row("v", number, host, A if number % 2 else address, number, **more))
        connections.append(connection_row("v", number, host, name, origin_set=[name, address], hosts=[host]))
        certificates += names_of(name, host)
    distinct = pl.DataFrame(certificates).unique().to_dicts() if certificates else []
    scenario = made(make_tables, requests, connections=connections, certificate_names=distinct)
    read = parsed(scenario)
    known = {"www.example.com", *(host for host, *_ in strange)}
    assert set(read.hosts) <= known
    assert all(one.host in read.hosts for one in read.pages[0].walk())
