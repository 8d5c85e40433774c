"""Numbers in place of texts: rows are told apart by all that is compared, however far apart its values are."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.models.browsers.known import Known
from originset.models.browsers.part import earlier_alike, few, grouped, heads, in_visits, keyed, numbers, read
from originset.models.browsers.tables import browser_tables

SITE, OTHER, ADDRESS = "www.one.test", "static.one.test", "104.16.0.1"


@given(st.lists(st.tuples(*[st.sampled_from((0, 1, 2**40))] * 3), min_size=1, max_size=12))
def test_a_key_is_the_same_just_where_all_parts_are(rows) -> None:
    # Three parts of 41 bits are more than a number holds.
    key = keyed(*((np.array(part, np.int64), 2**40 + 1) for part in zip(*rows, strict=True)))
    group, firsts = grouped(key)
    assert [rows[firsts[number]] for number in group] == rows
    assert [rows[first] for first in firsts] == list(dict.fromkeys(rows))
    second, first = earlier_alike(key)
    pairs = {(b, a) for b in range(len(rows)) for a in range(b) if rows[a] == rows[b]}
    assert set(zip(second.tolist(), first.tolist(), strict=True)) == pairs


@given(st.lists(st.none() | st.sampled_from((-(2**63), -1, 0, 5, 2**62, 2**63 - 1)), max_size=10))
def test_numbers_of_any_size(values) -> None:
    found, count = numbers(pl.Series(values, dtype=pl.Int64))
    assert [found[a] == found[b] for a in range(len(values)) for b in range(len(values))] == [
        a == b for a in values for b in values
    ]
    assert all(0 <= number < count for number in found)


@given(st.lists(st.none() | st.sampled_from((0, 443, 2**30, -(2**40))), max_size=10))
def test_a_few_numbers_however_far_apart(values) -> None:
    found, count = few(pl.Series(values, dtype=pl.Int64))
    assert [found[a] == found[b] for a in range(len(values)) for b in range(len(values))] == [
        a == b for a in values for b in values
    ]
    assert sorted(set(found.tolist())) == list(range(count)) == list(range(len(set(values))))


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.sampled_from((1, 2, 9, 2**60))), max_size=10))
def test_connections_of_visits(rows) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    visit = np.array([row[0] for row in rows], np.int64)
    found, count = in_visits(visit, pl.Series([row[1] for row in rows], dtype=pl.Int64))
    assert [found[a] == found[b] for a in range(len(rows)) for b in range(len(rows))] == [
        a == b for a in rows for b in rows
    ]
    assert all(0 <= number < count for number in found)


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, 6))
def test_groups_are_the_same_whatever_seemed_likely(values, kinds) -> None:
    key = np.array(values, np.int64)
    # Rows of one kind may differ; the first of each kind is the first of its key if the key tells the kind too.
    kind = key % kinds
    group, firsts = grouped(key * 6 + kind)
    guessed = grouped(key * 6 + kind, heads(kind))
    assert (guessed[0].tolist(), guessed[1].tolist()) == (group.tolist(), firsts.tolist())


# Texts of up to 12 bytes, and longer ones that begin alike.
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
    part = read(tables, Known(tables))
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
        # A host that nothing is told of is its own site; certificates cover it all the same.
        lambda tables: tables | {"hosts": tables["hosts"].filter(pl.col("host") != OTHER)},
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
