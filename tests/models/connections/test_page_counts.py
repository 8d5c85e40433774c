"""Counts of pages small enough to count by hand; whatever the page, test_models_drawn.py counts it again."""

import os

import polars as pl
import pytest
from drawn_studies import studies
from hypothesis import given, settings
from hypothesis import strategies as st
from model_tables import model_table

from originset.data.schema.study_tables import TABLES
from originset.models.parameters import Parameters

pytestmark = pytest.mark.slow

COLUMNS = TABLES["page_counts"].polars_schema.names()


def counts_of(tables, parameters):
    return model_table("page_counts", tables, parameters, browsers=False)


def counted(tables, visit, **parameters):
    rows = counts_of(tables, Parameters(**parameters))
    return rows.row(by_predicate=pl.col("visit_id") == visit, named=True)


def test_a_capture(example_tables) -> None:
    expected = {
        "visit_id": "a",
        "hosts": 6,
        "requests": 8,
        "measured_dns": 5,
        "dns_basis": "resolver_jobs",
        "wire_dns": 15,
        "measured_tls": 6,
        "opened_tls": 7,
        "without_duplicates": 5,
        "ideal_ip": 4,
        "ideal_origin": 3,
        "paired_ideal_ip": 4,
        "paired_ideal_origin": 3,
        "ideal_edge": 5,
        "ideal_deployable": 5,
        "paired_ideal_edge": 5,
        "paired_ideal_deployable": 5,
        "ideal_owner": 4,
        "paired_ideal_owner": 4,
        "without_asn": 1,
        "without_key": 1,
        "left_out": 1,
    }
    page = counted(example_tables, "a")
    assert {name: page[name] for name in expected} == expected


def test_colocation_by_address(example_tables) -> None:
    assert counted(example_tables, "a", colocation="ip")["ideal_origin"] == 4


@pytest.mark.parametrize(
    ("colocation", "ideal", "without"),
    [
        # Both Cloudflare addresses are one organisation's; the others' is not known.
        ("org", 3, 2),
        # Of six hosts three are on one edge; the other three have an address each, one of them shared with a fourth.
        ("edge", 4, 3),
        # www and static of one owner on that edge; cdn.other.net there has another owner.
        ("tenant", 5, 3),
        ("ip", 4, 0),
    ],
)
def test_colocation_by_other_keys(make_tables, example_rows, colocation, ideal, without) -> None:
    on_edge = ("www.example.com", "static.example.com", "cdn.other.net")
    rows = {
        **example_rows,
        "hosts": [
            {**row, "edge": "Some CDN" if row["host"] in on_edge else None, "multi_cdn": row["host"] == "api.tiny.test"}
            for row in example_rows["hosts"]
        ],
        "addresses": [
            {**row, "organisation": "Cloudflare" if row.get("asn") == 13335 else None}
            for row in example_rows["addresses"]
        ],
    }
    page = counted(make_tables(rows), "a", colocation=colocation)
    assert (page["ideal_origin"], page["without_key"]) == (ideal, without)


def test_with_secondary_certificates_one_edge_is_deployable(make_tables) -> None:
    base = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200}
    rows = {
        "visits": [{"visit_id": "v", "source": "x.har", "status": "ok"}],
        "requests": [
            {**base, "request_id": i, "host": f"h{i}.test", "connection_id": i, "server_ip": f"192.0.2.{i}"}
            for i in range(2)
        ],
        "hosts": [{"host": f"h{i}.test", "registrable_domain": f"h{i}.test", "edge": "Some CDN"} for i in range(2)],
        "addresses": [{"ip": f"192.0.2.{i}", "asn": 64500} for i in range(2)],
    }
    for coverage, deployable in (("certificate", 2), ("ignored", 1)):
        page = counted(make_tables(rows), "v", coverage=coverage)
        assert (page["ideal_edge"], page["ideal_deployable"], page["paired_ideal_deployable"]) == (
            1,
            deployable,
            deployable,
        )


def machines(addresses, *, presented, edge=None, asn=16509):
    """One page of www, api and mail.example.com, each at its address; who presented the certificate for all of them."""
    base = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200}
    hosts = [f"{name}.example.com" for name in ("www", "api", "mail")]
    return {
        "visits": [{"visit_id": "v", "source": "x.har", "status": "ok"}],
        "requests": [
            {**base, "request_id": i, "host": host, "connection_id": i, "server_ip": addresses[i]}
            for i, host in enumerate(hosts)
        ],
        "connections": [
            {
                "visit_id": "v",
                "connection_id": i,
                "first_host": host,
                "certificate_id": "all" if host in presented else "own",
            }
            for i, host in enumerate(hosts)
        ],
        "hosts": [{"host": host, "registrable_domain": "example.com", "edge": edge} for host in hosts],
        "addresses": [{"ip": ip, "asn": asn, "kind": "public"} for ip in set(addresses)],
        "certificate_names": [{"certificate_id": "all", "name": "*.example.com", "wildcard": True}],
    }


APART, TOGETHER = ("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("192.0.2.1",) * 3


@pytest.mark.parametrize(
    ("addresses", "presented", "edge", "expected"),
    [
        # Deployable, same edge, one owner, same AS. Three machines are three, whatever certificate covers them.
        (APART, (), None, [3, 3, 1, 1]),
        (APART, ("www.example.com", "api.example.com"), None, [3, 3, 1, 1]),
        # One address or edge makes them deployable, but only with a certificate that one of two hosts presented.
        (TOGETHER, (), None, [3, 1, 1, 1]),
        (TOGETHER, ("www.example.com",), None, [1, 1, 1, 1]),
        (APART, ("www.example.com",), "Some CDN", [1, 1, 1, 1]),
    ],
)
def test_deployable_needs_a_machine_and_a_certificate(make_tables, addresses, presented, edge, expected) -> None:
    page = counted(make_tables(machines(addresses, presented=presented, edge=edge)), "v")
    for paired in ("", "paired_"):
        assert [page[f"{paired}ideal_{rung}"] for rung in ("deployable", "edge", "owner", "origin")] == expected


def test_an_origin_in_two_ases_counts_where_it_was_first(make_tables) -> None:
    base = {"visit_id": "v", "scheme": "https", "host": "x", "port": 443, "status": 200}
    rows = {
        "visits": [{"visit_id": "v", "source": "x.har", "status": "ok"}],
        "requests": [
            {**base, "request_id": i, "connection_id": i, "server_ip": f"192.0.2.{i}", "started_ms": float(i)}
            for i in range(2)
        ],
        "addresses": [{"ip": f"192.0.2.{i}", "asn": 64500 + i} for i in range(2)],
    }
    page = counted(make_tables(rows), "v")
    assert (page["measured_tls"], page["without_duplicates"], page["ideal_origin"]) == (2, 1, 2)
    assert [page[f"paired_ideal_{rung}"] for rung in ("deployable", "edge", "origin", "ip")] == [1, 1, 1, 1]


def test_a_connection_that_only_refused_is_not_the_first(make_tables) -> None:
    """Host x was answered 421 on the connection of y and then served on one of its own: no duplicate."""
    base = {"visit_id": "v", "scheme": "https", "port": 443, "server_ip": "192.0.2.1"}
    rows = {
        "visits": [{"visit_id": "v", "source": "x.har", "status": "ok"}],
        "requests": [
            {**base, "request_id": 0, "host": "y", "connection_id": 1, "status": 200, "started_ms": 0.0},
            {**base, "request_id": 1, "host": "x", "connection_id": 1, "status": 421, "started_ms": 1.0},
            {**base, "request_id": 2, "host": "x", "connection_id": 2, "status": 200, "started_ms": 2.0},
        ],
    }
    assert counted(make_tables(rows), "v")["without_duplicates"] == 2


def test_a_har_with_connection_ids(example_tables) -> None:
    page = counted(example_tables, "c")
    assert (page["measured_dns"], page["dns_basis"]) == (2, "dns_phases")
    assert (page["measured_tls"], page["without_duplicates"], page["ideal_origin"]) == (2, 1, 1)
    assert (page["wire_dns"], page["opened_tls"]) == (None, None)  # a HAR cannot know


def test_what_is_not_known_is_null(example_tables) -> None:
    page = counted(example_tables, "d")
    assert (page["requests"], page["left_out"], page["hosts"]) == (2, 2, 0)
    unknown = [name for name in COLUMNS if page[name] is None and not name.startswith(("chromium_", "firefox_"))]
    assert unknown == [
        "measured_dns", "dns_basis", "wire_dns", "paired_dns", "repeated_dns", "unused_dns", "paired_ideal_ip_dns",
        "paired_ideal_origin_dns", "paired_chromium_dns", "paired_chromium_cookies_blocked_dns", "paired_firefox_dns",
        "measured_tls", "opened_tls", "without_duplicates",
        "ideal_ip", "ideal_origin", "ideal_edge", "ideal_deployable", "ideal_owner",
        "paired_ideal_ip", "paired_ideal_origin", "paired_ideal_edge", "paired_ideal_deployable", "paired_ideal_owner",
    ]  # fmt: skip


def test_a_page_that_asked_for_nothing_needs_nothing(example_tables) -> None:
    page = counted(example_tables, "f")
    assert [page[name] for name in ("requests", "measured_tls", "ideal_ip", "paired_ideal_origin")] == [0, 0, 0, 0]
    assert page["opened_tls"] is None


def test_plain_http_has_no_tls_connection(make_tables, example_rows) -> None:
    plain = [{**row, "scheme": "http"} for row in example_rows["requests"] if row["visit_id"] == "d"]
    page = counted(make_tables({**example_rows, "requests": plain}), "d")
    assert page["measured_tls"] == 0


def test_a_measured_connection_without_address_leaves_the_pair_open(make_tables, example_rows) -> None:
    requests = [
        {**row, "server_ip": None} if (row["visit_id"], row["connection_id"]) == ("a", 5) else row
        for row in example_rows["requests"]
    ]
    page = counted(make_tables({**example_rows, "requests": requests}), "a")
    assert (page["measured_tls"], page["ideal_origin"], page["paired_ideal_origin"]) == (6, 2, None)


@pytest.mark.parametrize(("opened", "kept"), [((1.0, 2.0), 1), ((2.0, 1.0), 2)])
def test_order_of_opening_decides_what_is_a_duplicate(make_tables, opened, kept) -> None:
    """7 carried x, 8 carried x and y: opened later, 8 was first for y; opened earlier, it makes 7 a duplicate."""
    base = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200, "server_ip": "192.0.2.1"}
    rows = {
        "visits": [{"visit_id": "v", "source": "crawl", "status": "ok"}],
        "requests": [
            {**base, "request_id": 0, "host": "x", "connection_id": 7},
            {**base, "request_id": 1, "host": "x", "connection_id": 8},
            {**base, "request_id": 2, "host": "y", "connection_id": 8},
        ],
        "connections": [
            {"visit_id": "v", "connection_id": i, "opened_ms": at, "source": "netlog", "tls": True}
            for i, at in zip((7, 8), opened, strict=True)
        ],
    }
    assert counted(make_tables(rows), "v")["without_duplicates"] == 3 - kept


def test_hosts_that_were_refused_are_kept_apart_though_a_third_connects_them(make_tables) -> None:
    """Certificates connect a with b and b with c; a server of a answered 421 for c."""
    base = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200}
    hosts = ["a.test", "b.test", "c.test"]
    rows = {
        "visits": [{"visit_id": "v", "source": "x.har", "status": "ok"}],
        "requests": [
            {**base, "request_id": i, "host": host, "connection_id": i, "server_ip": f"192.0.2.{i}"}
            for i, host in enumerate(hosts)
        ],
        "hosts": [{"host": host, "edge": "Some CDN"} for host in hosts],
        "addresses": [{"ip": f"192.0.2.{i}", "asn": 64500, "kind": "public"} for i in range(3)],
        "connections": [
            {"visit_id": "v", "connection_id": i, "first_host": hosts[i], "certificate_id": ("ab", "bc")[i]}
            for i in range(2)
        ],
        "certificate_names": [
            {"certificate_id": f"{one}{other}", "name": f"{name}.test"}
            for one, other in ("ab", "bc")
            for name in (one, other)
        ],
    }
    names = [f"{paired}ideal_{rung}" for paired in ("", "paired_") for rung in ("edge", "deployable")]
    page = counted(make_tables(rows), "v")
    assert [page[name] for name in names] == [1, 1, 1, 1]
    refusal = {**rows["connections"][0], "misdirected": ["c.test"]}
    page = counted(make_tables({**rows, "connections": [refusal, rows["connections"][1]]}), "v")
    assert [page[name] for name in names] == [2, 2, 2, 2]


def test_long_chains(make_tables) -> None:
    """900 hosts, each at one address with the next: one connection at an edge, nothing that is deployable."""
    base = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200}
    requests = [
        {**base, "host": f"n{(i + step) % 900:04}.test", "server_ip": f"198.51.{100 + i // 200}.{i % 200}"}
        for i in range(899)
        for step in (0, 1)
    ]
    rows = {
        "visits": [{"visit_id": "v", "source": "x.har", "status": "ok"}],
        "requests": [{**row, "request_id": number} for number, row in enumerate(requests)],
        "hosts": [{"host": f"n{i:04}.test", "registrable_domain": f"n{i:04}.test"} for i in range(900)],
        "addresses": [{"ip": f"198.51.{100 + i // 200}.{i % 200}", "asn": 64500, "kind": "public"} for i in range(899)],
    }
    page = counted(make_tables(rows), "v")
    assert (page["ideal_origin"], page["ideal_edge"], page["ideal_deployable"]) == (1, 1, 900)


@pytest.mark.soak
@settings(max_examples=80 if os.environ.get("ORIGINSET_SOAK") == "full" else 4)
@given(rows=studies(), data=st.data())
def test_row_order_and_host_names_do_not_matter(make_tables, rows, data) -> None:
    """Names of the same alphabet's order: which of several connections merge may depend on that alone."""
    other = {name: data.draw(st.permutations(some)) for name, some in rows.items()}
    renamed = {
        name: [{column: _renamed(value) for column, value in row.items()} for row in some]
        for name, some in other.items()
    }
    assert counts_of(make_tables(rows), Parameters()).equals(counts_of(make_tables(renamed), Parameters()))


def _renamed(value):
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    return value.replace(".test", ".zz.test") if isinstance(value, str) else value
