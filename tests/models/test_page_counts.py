"""Counts of pages small enough to count by hand, and what must hold whatever the page."""

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from originset.data.schema import TABLES
from originset.models.categories import Categories
from originset.models.evidence import pair_levels
from originset.models.fill import model_tables, of_part
from originset.models.keys import keys
from originset.models.page_counts import with_merges
from originset.models.parameters import Parameters

COLUMNS = TABLES["page_counts"].polars_schema.names()


def counts_of(tables, parameters):
    return model_tables(tables, parameters, browsers=False)["page_counts"]


def counts_without_evidence(tables):
    found = of_part(tables, keys(tables, "asn"), Parameters(), 0, Categories())
    nothing = pair_levels(TABLES["colocation_evidence"].polars_schema.to_frame().lazy()).collect()
    return with_merges(found["page_counts"], found["uses"], found["origins"], nothing, "certificate").sort("visit_id")


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
        "ideal_edge": 4,
        "ideal_deployable": 4,
        "paired_ideal_edge": 4,
        "paired_ideal_deployable": 4,
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
    unknown = [name for name in COLUMNS if name in page and page[name] is None]
    assert unknown == [
        "measured_dns", "dns_basis", "wire_dns", "measured_tls", "opened_tls", "without_duplicates",
        "ideal_ip", "ideal_origin", "ideal_edge", "ideal_deployable",
        "paired_ideal_ip", "paired_ideal_origin", "paired_ideal_edge", "paired_ideal_deployable",
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


ips = st.sampled_from([None, *(f"192.0.2.{i}" for i in range(5))])
requests = st.lists(
    st.fixed_dictionaries(
        {
            "visit_id": st.sampled_from(["v", "w"]),
            "scheme": st.sampled_from(["https", "https", "http", "data"]),
            "host": st.sampled_from(["a.test", "b.test", "c.test"]),
            "port": st.sampled_from([443, 8443]),
            "status": st.sampled_from([200, 200, 421, None]),
            "from_cache": st.sampled_from([None, False, True]),
            "connection_id": st.sampled_from([None, 1, 2, 3, 4]),
            "server_ip": ips,
            "dns_ms": st.sampled_from([None, 0.0, 1.5]),
            "started_ms": st.sampled_from([0.0, 1.0, 2.0]),
        }
    ),
    max_size=20,
)
asns = st.lists(st.sampled_from([None, 1, 2]), min_size=5, max_size=5)
FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def page_rows(rows, numbers):
    return {
        "visits": [{"visit_id": v, "source": "x.har", "status": "ok"} for v in "vw"],
        "requests": [{**row, "request_id": i} for i, row in enumerate(rows)],
        "addresses": [{"ip": f"192.0.2.{i}", "asn": asn} for i, asn in enumerate(numbers)],
    }


def first_connections(secure):
    """Origin -> address and number of the connection that was first for it, of those that did more than refuse it."""
    carried = sorted((row for row in secure if row["connection_id"]), key=lambda row: row["started_ms"])
    opened, served, refused = {}, {}, {}
    for row in carried:
        opened.setdefault(row["connection_id"], []).append(row)

    def order(number):
        return min(row["started_ms"] for row in opened[number]), min(row["request_id"] for row in opened[number])

    for row in carried:
        origin = (row["host"], row["port"])
        (refused if row["status"] == 421 else served).setdefault(origin, set()).add(row["connection_id"])
    found = {}
    for origin in served | refused:
        number = min(served.get(origin) or refused[origin], key=order)
        found[origin] = next((row["server_ip"] for row in opened[number] if row["server_ip"]), None), number
    return found


@FEW
@given(rows=requests, numbers=asns)
def test_counts_equal_sets(make_tables, rows, numbers) -> None:
    """Every count against Python sets, request by request."""
    rows = page_rows(rows, numbers)["requests"]
    tables = make_tables(page_rows(rows, numbers))
    asn = {f"192.0.2.{i}": each for i, each in enumerate(numbers)}
    for page in counts_without_evidence(tables).iter_rows(named=True):
        network = [
            row for row in rows
            if row["visit_id"] == page["visit_id"]
            and row["scheme"] != "data"
            and not row["from_cache"]
            and (row["status"] is not None or row["connection_id"] is not None)
        ]  # fmt: skip
        reached = {row["server_ip"] for row in network} - {None}
        secure = [row for row in network if row["scheme"] == "https"]
        tls = {row["connection_id"] for row in secure} - {None}
        located = {row["connection_id"] for row in secure if row["server_ip"]} - {None}
        paired = {address for address, _ in first_connections(secure).values()}
        known = bool(reached) or not network
        tls_known = bool(tls) or not secure
        assert page["requests"] == len(network)
        assert page["left_out"] == sum(row["server_ip"] is None for row in network)
        assert page["ideal_ip"] == (len(reached) if known else None)
        assert page["ideal_origin"] == (len({asn[ip] or ip for ip in reached}) if known else None)
        assert page["without_asn"] == sum(asn[ip] is None for ip in reached)
        assert page["measured_tls"] == (len(tls) if tls_known else None)
        assert page["paired_ideal_ip"] == (len(paired) if tls_known and located == tls else None)
        if tls_known:
            assert page["without_duplicates"] == len({number for _, number in first_connections(secure).values()})
        if page["paired_ideal_ip"] is not None:
            assert page["paired_ideal_origin"] == len({asn[ip] or ip for ip in paired})
        if None not in (page["paired_ideal_ip"], page["ideal_ip"]):
            assert page["paired_ideal_origin"] <= page["paired_ideal_ip"] <= page["ideal_ip"]
        if known:
            assert page["ideal_origin"] <= page["ideal_edge"] <= page["ideal_deployable"]
        if page["paired_ideal_edge"] is not None:
            rungs = (
                *("paired_ideal_origin", "paired_ideal_edge", "paired_ideal_deployable"),
                *("without_duplicates", "measured_tls"),
            )
            assert sorted(page[rung] for rung in rungs) == [page[rung] for rung in rungs]


@FEW
@given(rows=requests, numbers=asns, data=st.data())
def test_row_order_and_host_names_do_not_matter(make_tables, rows, numbers, data) -> None:
    plain = page_rows(rows, numbers)
    names = {"a.test": "z.example", "b.test": "*.b", "c.test": "xn--c"}
    other = {
        **plain,
        "requests": data.draw(st.permutations([{**row, "host": names[row["host"]]} for row in plain["requests"]])),
        "addresses": list(reversed(plain["addresses"])),
    }
    assert counts_without_evidence(make_tables(plain)).equals(counts_without_evidence(make_tables(other)))
