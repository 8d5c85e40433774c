"""What is taken out of tables and manifest before they are published, and what stays as it was."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.data.sanitising.publication import StudySanitiser
from originset.data.schema.study_tables import TABLES


def table(name, rows):
    schema = TABLES[name].polars_schema
    return pl.DataFrame([{column: row.get(column) for column in schema} for row in rows], schema=schema)


def stripped(visits, requests, rejects=()):
    visits, requests, rejects = table("visits", visits), table("requests", requests), table("rejects", rejects)
    stripping = StudySanitiser(visits, rejects, requests["server_ip"].drop_nulls())
    found = stripping.requests(requests)
    return stripping.visits(visits), found, stripping.rejects(rejects)


def request(number, url, host="a.test", **more):
    scheme = url.partition(":")[0]
    port = {"https": 443, "http": 80}.get(scheme)
    return {"visit_id": "v", "request_id": number, "url": url, "scheme": scheme, "host": host, "port": port, **more}


def test_addresses_keep_what_is_measured_and_whether_they_are_equal() -> None:
    visits, requests, _ = stripped(
        [{"visit_id": "v", "url": "https://a.test/in?secret", "final_url": "https://a.test/home/secret"}],
        [
            request(0, "https://a.test/in?secret"),
            request(1, "https://a.test/home/secret"),
            request(2, "https://a.test:8443/secret", port=8443),
            request(3, "https://a.test/home/secret"),
            request(4, "http://[2001:db8::1]/secret", host="2001:db8::1"),
            request(5, "data:secret", host=None),
            request(6, "blob:https://a.test/secret", host=None),
        ],
    )
    assert requests["url"].to_list() == [
        "https://a.test/0", "https://a.test/1", "https://a.test:8443/2", "https://a.test/1",
        "http://[2001:db8::1]/4", "data:", "blob:",
    ]  # fmt: skip
    assert visits.select("url", "final_url").row(0) == ("https://a.test/0", "https://a.test/1")


def test_an_address_that_no_request_had_keeps_its_origin() -> None:
    visits, _, _ = stripped([{"visit_id": "v", "url": "https://me:secret@a.test:8443/secret?q"}], [])
    assert visits.select("url", "final_url").row(0) == ("https://a.test:8443/", None)


def test_files_are_numbered_and_nothing_is_quoted_from_them() -> None:
    visits, requests, rejects = stripped(
        [
            {"visit_id": "v", "source": "secret/b.har"},
            {"visit_id": "w", "source": "secret/a.har"},
            {"visit_id": "x", "source": "crawl"},
            {"visit_id": "y"},
        ],
        [request(0, "https://a.test/", protocol_raw="secret", protocol="h2")],
        [{"source": "secret/b.har", "reason": "truncated", "detail": "secret", "byte_offset": 3}],
    )
    assert visits["source"].to_list() == ["file-3", "file-2", "crawl", None]
    assert rejects.rows() == [("file-3", "truncated", None, 3)]
    assert requests.select("protocol", "protocol_raw").row(0) == ("h2", None)


def test_a_vantage_keeps_its_network_and_not_its_address() -> None:
    visits, _, _ = stripped([{"visit_id": "v", "vantage": "home", "vantage_ip": "192.0.2.7"}], [])
    assert visits.select("vantage", "vantage_ip").row(0) == ("home", None)
    rows = table("vantages", [{"vantage": "home", "ip": "192.0.2.7", "asn": 64500}])
    visits = table(
        "visits", [{"visit_id": str(n), "vantage_ip": ip} for n, ip in enumerate(("192.0.2.7", "192.0.2.8"))]
    )
    sanitiser = StudySanitiser(visits, table("rejects", []), pl.Series(["192.0.2.8", "192.0.2.9"]))
    assert sanitiser.vantages(rows).select("vantage", "ip", "asn").row(0) == ("home", None, 64500)
    addresses = table("addresses", [{"ip": f"192.0.2.{n}", "asn": n} for n in (7, 8, 9)])
    assert sanitiser.addresses(addresses)["ip"].to_list() == ["192.0.2.8", "192.0.2.9"], "a server's address is data"
    queries = table("dns_queries", [{"host": "a.test", "resolver": ip} for ip in ("192.0.2.7", "192.0.2.1", None)])
    assert sanitiser.dns_queries(queries)["resolver"].to_list() == [None, "192.0.2.1", None]


def test_sites_that_are_addresses_stay_apart() -> None:
    sites = ["a.test", "https://a.test/one", "https://a.test/two", "https://b.test/", None]
    visits, _, _ = stripped([{"visit_id": str(n), "site": site} for n, site in enumerate(sites)], [])
    assert visits["site"].to_list() == ["a.test", "a.test~1", "a.test~2", "b.test~1", None]


@given(path=st.text(st.characters(exclude_categories=["Cs"]), max_size=40).map(lambda text: f"SECRET{text}SECRET"))
def test_no_path_comes_through(path) -> None:
    visits = [{"visit_id": "v", "site": f"a.test/{path}", "url": f"https://a.test/{path}", "source": path}]
    rows = stripped([{**visits[0], "final_url": f"https://b.test?{path}"}], [request(0, f"https://a.test/{path}")])
    assert "SECRET" not in str([frame.rows() for frame in rows])


@pytest.mark.parametrize("name", ["visits", "requests", "rejects"])
def test_columns_stay(name) -> None:
    found = dict(zip(("visits", "requests", "rejects"), stripped([], [], []), strict=True))
    assert found[name].schema == TABLES[name].polars_schema


@pytest.mark.parametrize(
    ("agent", "published"),
    [
        ("Mozilla/5.0 (X11) Gecko/1 Firefox/150.0 (me@secret.test)", "Mozilla/5.0 (X11) Gecko/1 Firefox/150.0"),
        ("Mozilla/5.0 (X11) W/5 (KHTML) Chrome/150", "Mozilla/5.0 (X11) W/5 (KHTML) Chrome/150"),
        ("Mozilla/5.0 (compatible; MSIE 9.0)", "Mozilla/5.0 (compatible; MSIE 9.0)"),
        (None, None),
    ],
)
def test_a_user_agent_says_nobody_to_contact(agent, published) -> None:
    visits, _, _ = stripped([{"visit_id": "v", "user_agent": agent}], [])
    assert visits["user_agent"].to_list() == [published]
