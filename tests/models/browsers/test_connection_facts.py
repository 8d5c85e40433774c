"""What connections and lookups say of a host: where it is, since when, and the protocols of its HTTPS records."""

import polars as pl
import pytest

from originset.models.browsers.candidate_pairs import pairs
from originset.models.browsers.connection_facts import with_servers
from originset.models.browsers.request_groups import asked, modes_of
from tests.fixtures.browser_models import browser_tables, part_of

pytestmark = pytest.mark.slow

FIRST, SECOND, ADDRESS, ELSEWHERE = "www.one.test", "static.one.test", "104.16.0.1", "104.16.0.2"


@pytest.fixture
def page(make_tables):
    """Two names at one address, in one certificate; the second speaks HTTP/1.1 and has these HTTPS records."""

    def made(*records: str):
        asked = [(FIRST, "document", "h2"), (SECOND, "image", "http/1.1")]
        return make_tables(
            {
                "visits": [{"visit_id": "v", "site": FIRST, "status": "ok", "source": "crawl", "browser": "chromium",
                            "third_party_cookies": "allowed"}],
                "requests": [
                    {"visit_id": "v", "request_id": n, "scheme": "https", "host": host, "port": 443, "protocol": how,
                     "status": 200, "resource_type": kind, "frame_site": "one.test", "credentials": "include",
                     "connection_id": n, "server_ip": ADDRESS, "started_ms": 50.0 * n}
                    for n, (host, kind, how) in enumerate(asked)
                ],
                "connections": [
                    {"visit_id": "v", "connection_id": n, "first_host": host, "server_ip": ADDRESS, "port": 443,
                     "tls": True, "protocol": how, "certificate_id": "both", "established_ms": 50.0 * n + 9,
                     "opened_ms": 50.0 * n, "source": "netlog"}
                    for n, (host, _, how) in enumerate(asked)
                ],
                "dns_queries": [
                    {"visit_id": "v", "lookup_id": n, "host": host, "rtype": rtype, "answers": answers,
                     "asked_ms": 50.0 * n, "took_ms": 2.0, "source": "browser"}
                    for n, (host, _, _) in enumerate(asked)
                    for rtype, answers in (("A", [ADDRESS]), ("HTTPS", list(records) if host == SECOND else []))
                ],
                "certificates": [{"certificate_id": "both", "san_count": 2}],
                "certificate_names": [{"certificate_id": "both", "name": one} for one in (FIRST, SECOND)],
                "addresses": [{"ip": ADDRESS, "asn": 13335}],
                "hosts": [{"host": host, "registrable_domain": "one.test"} for host in (FIRST, SECOND)],
            }
        )  # fmt: skip

    return made


@pytest.mark.parametrize(
    ("records", "connections"),
    [
        ((), 1),
        (("1 . alpn=h2",), 1),
        (("1 . alpn=h3,h2 port=443",), 1),
        (("1 . port=443",), 1),
        (("1 . alpn=h3",), 2),
        (("1 . alpn=h3,h2c",), 2),  # another protocol whose name begins so
        (("1 . alpn=h3", "2 . alpn=h2"), 1),
        (("1 . alpn=h3", "2 . alpn=http/1.1"), 2),
        (("1 . alpn=h3", "2 . port=443"), 2),  # of the records that list protocols none has it
    ],
)
def test_chromium_shares_over_http2_unless_all_records_leave_it_out(page, records, connections) -> None:
    (found,) = browser_tables(page(*records))["browser_counts"]["chromium_tls"]
    assert found == connections


def groups_of(tables):
    part = part_of(tables)
    return part.facts, with_servers(part, asked(modes_of(part)))


@pytest.mark.parametrize(
    ("connection", "opened_for", "answers", "told"),
    [
        (1, SECOND, [ELSEWHERE], (ADDRESS, 59.0)),  # its own is where it was led to, whatever DNS said
        (1, None, [ELSEWHERE], (ADDRESS, 57.0)),  # nothing says whose it was: taken for its own, as long as it took
        (None, SECOND, [ELSEWHERE], (ADDRESS, 59.0)),
        (0, None, [ELSEWHERE], (ELSEWHERE, 50.0)),  # another's tells nothing; that was there when the name was
        (0, SECOND, [ELSEWHERE], (ADDRESS, 59.0)),  # but one of its own besides does
        (0, None, [ADDRESS, ELSEWHERE], (None, 50.0)),
        (0, None, [], (None, 50.0)),
    ],
)
def test_a_connection_tells_of_the_host_that_it_was_opened_for(page, connection, opened_for, answers, told) -> None:
    tables = page()
    second = pl.col("host") == SECOND
    tables |= {
        "requests": tables["requests"].with_columns(
            connection_id=pl.when(second).then(pl.lit(connection, pl.Int64)).otherwise("connection_id"),
            connect_ms=pl.when(second).then(7.0),
        ),
        "connections": tables["connections"].with_columns(
            first_host=pl.when(pl.col("connection_id") == 1).then(pl.lit(opened_for)).otherwise("first_host")
        ),
        "dns_queries": tables["dns_queries"].with_columns(
            answers=pl.when(second, pl.col("rtype") == "A")
            .then(pl.lit(answers, pl.List(pl.String)))
            .otherwise("answers"),
            took_ms=pl.lit(0.0),
        ),
    }
    _, groups = groups_of(tables)
    row = groups.filter(pl.col("host") == SECOND).row(0, named=True)
    assert (row["peer"], row["connected_ms"]) == told


def test_a_connection_for_each_mode_is_established_in_its_own_time(page) -> None:
    """The host's first connection, for what is asked with credentials, says nothing of the other's time."""
    tables = page()
    again = {"request_id": 2, "connection_id": 2, "credentials": "omit", "resource_type": "fetch", "started_ms": 500.0}
    of_second = {"connection_id": 2, "opened_ms": 500.0, "established_ms": 580.0}
    tables |= {
        name: pl.concat([tables[name], tables[name].tail(1).with_columns(**_literals(tables[name], more))])
        for name, more in (("requests", again), ("connections", of_second))
    }
    _, groups = groups_of(tables)
    rows = groups.filter(pl.col("host") == SECOND).sort("started_ms")
    assert rows["connected_ms"].to_list() == [59.0, 580.0]


def _literals(rows: pl.LazyFrame, values: dict[str, object]) -> dict[str, pl.Expr]:
    schema = rows.collect_schema()
    return {name: pl.lit(value, schema[name]) for name, value in values.items()}


@pytest.mark.parametrize(
    ("protocol", "browser", "sent_to"),
    [
        ("h2", "chromium", ADDRESS),
        (None, "chromium", ADDRESS),
        ("h3", "chromium", None),  # an ORIGIN frame may have led there
        ("h2", "firefox", None),
    ],
)
def test_what_another_connection_carried_was_sent_to_an_address_of_its_own(page, protocol, browser, sent_to) -> None:
    tables = page()
    second = pl.col("host") == SECOND
    tables |= {
        "visits": tables["visits"].with_columns(browser=pl.lit(browser)),
        "requests": tables["requests"].with_columns(
            connection_id=pl.lit(0, pl.Int64),
            server_ip=pl.lit(ADDRESS),
            protocol=pl.when(second).then(pl.lit(protocol, pl.String)).otherwise("protocol"),
        ),
        "connections": tables["connections"].filter(connection_id=0).with_columns(protocol=pl.lit(None, pl.String)),
        "dns_queries": tables["dns_queries"].filter(~second),
    }
    _, groups = groups_of(tables)
    row = groups.filter(pl.col("host") == SECOND).row(0, named=True)
    assert (row["peer"], row["sent_to"]) == (None, sent_to)


@pytest.mark.parametrize(("protocol", "found"), [("h2", 3), (None, 3), ("http/1.1", 0)])
def test_http1_shares_with_nobody_not_even_its_own_host(page, protocol, found) -> None:
    tables = page()
    requests = tables["requests"].with_columns(protocol=pl.lit(protocol, pl.String)).collect()
    again = requests[1:].with_columns(request_id=pl.lit(2, pl.Int64), credentials=pl.lit("omit"), connection_id=None)
    tables |= {
        "requests": requests.vstack(again.cast(dict(requests.schema))).lazy(),
        "connections": tables["connections"].with_columns(protocol=pl.lit(protocol, pl.String)),
    }
    facts, groups = groups_of(tables)
    assert groups.height == 3
    assert pairs(facts, groups).height == found


@pytest.mark.parametrize(
    ("own", "held", "listed", "chromium"),
    [
        ("h2", "h3", True, 1),  # http3-origin-first-only
        ("http/1.1", "h3", True, 1),  # http3-origin-http1-second
        ("h2", "h3", False, 2),  # http3-first-only: by address alone it is not
        ("http/1.1", "h3", False, 2),
        ("h3", "h2", True, 2),  # an ORIGIN frame over HTTP/2 says nothing to Chromium
    ],
)
def test_an_origin_frame_over_http3_takes_in_names_without_http3(page, own, held, listed, chromium) -> None:
    tables = page()
    frame = pl.lit([f"https://{FIRST}", f"https://{SECOND}"] if listed else None, pl.List(pl.String))
    tables |= {
        "requests": tables["requests"].with_columns(
            protocol=pl.when(pl.col("request_id") == 1).then(pl.lit(own)).otherwise(pl.lit(held))
        ),
        "connections": tables["connections"].with_columns(
            protocol=pl.when(pl.col("connection_id") == 1).then(pl.lit(own)).otherwise(pl.lit(held)),
            origin_set=pl.when(pl.col("connection_id") == 0).then(frame),
        ),
    }
    (found,) = browser_tables(tables)["browser_counts"]["chromium_tls"]
    assert found == chromium
