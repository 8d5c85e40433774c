"""Rows of a batch as numbers: those that are alike, and pages as they are however they are written down."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.models.browsers.batch import earlier_alike, group_numbers, matched, request_rows, second_least
from tests.fixtures.browser_models import browser_tables, part_of

SITE, OTHER, ADDRESS = "www.one.test", "static.one.test", "104.16.0.1"

_ROWS = st.lists(st.tuples(*[st.none() | st.sampled_from((0, 1, 2**62))] * 2), max_size=12)


@given(_ROWS)
def test_rows_that_are_alike(rows) -> None:
    keys = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Int64}, orient="row")
    group, firsts = group_numbers(keys)
    assert [rows[firsts[number]] for number in group] == rows
    assert [rows[first] for first in firsts] == list(dict.fromkeys(rows))
    pairs = earlier_alike(keys.with_row_index("n"), "n", ["a", "b"])
    assert sorted(pairs.rows()) == [(b, a) for b in range(len(rows)) for a in range(b) if rows[a] == rows[b]]


@given(_ROWS, _ROWS)
def test_the_first_row_with_the_same_keys(rows, others) -> None:
    frames = [pl.DataFrame(each, schema={"a": pl.Int64, "b": pl.Int64}, orient="row") for each in (rows, others)]
    found = matched(frames[0], frames[1].with_row_index("n"), ["a", "b"], "n")
    assert found["n"].to_list() == [others.index(row) if row in others and None not in row else None for row in rows]


_REQUEST_IDS = st.none() | st.sampled_from((-(2**31), -1, 0, 1, 7, 2**31 - 1))


@given(st.lists(st.tuples(st.integers(0, 3), _REQUEST_IDS.filter(lambda one: one is not None)), max_size=12), st.data())
def test_the_row_of_a_request(rows, data) -> None:
    rows = sorted(rows)
    wanted = data.draw(st.lists(st.tuples(st.integers(0, 3), _REQUEST_IDS), max_size=12))
    schema = {"visit_id": pl.UInt32, "request_id": pl.Int32}
    requests, asked = (pl.DataFrame(each, schema, orient="row") for each in (rows, wanted))
    found = request_rows(requests, asked["visit_id"], asked["request_id"])
    assert found.to_list() == [rows.index(each) if each in rows else None for each in wanted]


@given(st.lists(st.lists(st.none() | st.sampled_from((-1.0, 0.0, 2.5, 9.0)), min_size=1, max_size=4), max_size=4))
def test_the_second_least_of_each_group(groups) -> None:
    rows = [(group, value) for group, values in enumerate(groups) for value in values]
    group = np.array([number for number, _ in rows], np.int64)
    found = second_least(pl.Series([value for _, value in rows], dtype=pl.Float64), group, len(groups))
    known = [sorted(value for value in values if value is not None) for values in groups]
    assert found.to_list() == [values[1] if len(values) > 1 else None for values in known]


NAMES = ("a.test", "abcdefg.test", SITE, OTHER, "www.one.test.example", "www.one.test.example2")


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("connections", [(1, 1, 2, 2, 1, None), (None,) * 6, (7, 7, 7, 7, 7, 7)])
def test_hosts_are_those_of_the_requests(make_tables, connections, reverse) -> None:
    asked = [
        (visit, n, NAMES[(n + shift) // 2 % 6], connections[n % 6])
        for visit, shift in (("v", 0), ("w", 1))
        for n in range(12)
    ]
    tables = make_tables(
        {
            "visits": [{"visit_id": visit} for visit in ("v", "w")],
            "requests": [
                {"visit_id": visit, "request_id": n, "scheme": "https", "host": host, "port": 443, "status": 200,
                 "connection_id": connection}
                for visit, n, host, connection in asked
            ],
        }
    )  # fmt: skip
    if reverse:
        tables = {name: frame.reverse() for name, frame in tables.items()}
    part = part_of(tables)
    found = part.requests.select(part.visits["visit_id"].gather(part.requests["visit_id"]), "request_id", "host")
    assert sorted(found.cast({"host": pl.String}).rows()) == [row[:3] for row in asked]


@pytest.fixture
def tables(make_tables):
    """Two visits of two names at one address, in one certificate."""
    asked = [(visit, n, host) for visit in ("v", "w") for n, host in enumerate((SITE, OTHER, SITE))]
    return make_tables(
        {
            "visits": [
                {"visit_id": visit, "site": SITE, "status": "ok", "source": "crawl", "browser": "chromium",
                 "third_party_cookies": "allowed"}
                for visit in ("v", "w")
            ],
            "requests": [
                {"visit_id": visit, "request_id": n, "scheme": "https", "host": host, "port": 443, "protocol": "h2",
                 "status": 200, "resource_type": "image" if n else "document", "frame_site": "one.test",
                 "credentials": "include", "connection_id": n + 1, "server_ip": ADDRESS, "started_ms": 50.0 * n}
                for visit, n, host in asked
            ],
            "connections": [
                {"visit_id": visit, "connection_id": n + 1, "first_host": host, "server_ip": ADDRESS, "port": 443,
                 "tls": True, "protocol": "h2", "certificate_id": "both", "opened_ms": 50.0 * n,
                 "established_ms": 50.0 * n + 9, "source": "netlog"}
                for visit, n, host in asked
            ],
            "dns_queries": [
                {"visit_id": visit, "lookup_id": n, "host": host, "rtype": "A", "answers": [ADDRESS],
                 "asked_ms": 50.0 * n, "took_ms": 2.0, "source": "browser"}
                for visit, n, host in asked
            ],
            "certificates": [{"certificate_id": "both", "san_count": 2}],
            "certificate_names": [{"certificate_id": "both", "name": one} for one in (SITE, OTHER)],
            "addresses": [{"ip": ADDRESS, "asn": 13335}],
            "hosts": [{"host": host, "registrable_domain": "one.test"} for host in (SITE, OTHER)],
        }
    )  # fmt: skip


def opened(tables):
    counts = browser_tables(tables)["browser_counts"]
    return counts.sort("visit_id").select("visit_id", "chromium_tls", "firefox_tls").rows()


@pytest.mark.parametrize(
    "changed",
    [
        lambda tables: tables,
        lambda tables: {name: frame.reverse() for name, frame in tables.items()},
        # Numbers of connections that lie far apart.
        lambda tables: tables
        | {
            name: tables[name].with_columns(pl.col("connection_id") * 2**59)
            for name in ("requests", "connections")
        },
        # Rows of visits that are not there.
        lambda tables: tables
        | {
            "requests": pl.concat(
                [tables["requests"].with_columns(pl.lit("x").alias("visit_id")), tables["requests"]]
            )
        },
    ],
)  # fmt: skip
def test_pages_are_as_they_are_however_they_are_written_down(tables, changed) -> None:
    assert opened(changed(tables)) == [("v", 1, 1), ("w", 1, 1)]


@pytest.mark.parametrize("established_ms", [None, 9.0])
def test_which_of_two_connections_is_the_first_depends_on_no_order_of_rows(tables, established_ms) -> None:
    """Two connections of one host at one time, with certificates that cover different names."""
    one = tables["certificates"].with_columns(pl.lit("one").alias("certificate_id"))
    own = tables["certificate_names"].filter(name=SITE).with_columns(pl.lit("one").alias("certificate_id"))
    tables |= {
        "certificates": pl.concat([tables["certificates"], one]),
        "certificate_names": pl.concat([tables["certificate_names"], own]),
        "connections": tables["connections"].with_columns(
            pl.when(pl.col("connection_id") == 1)
            .then(pl.lit("one"))
            .otherwise("certificate_id")
            .alias("certificate_id"),
            pl.lit(established_ms, pl.Float64).alias("established_ms"),
        ),
    }
    expected = {name: frame.sort(pl.all()) for name, frame in browser_tables(tables).items()}
    reversed_tables = {name: frame.reverse() for name, frame in tables.items()}
    for name, frame in browser_tables(reversed_tables).items():
        assert frame.sort(pl.all()).equals(expected[name]), name
