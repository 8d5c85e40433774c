"""What a name saves in each browser, on pages of two servers in one AS that are worked out by hand."""

import pytest
from model_tables import model_tables

from originset.models.browsers.savings import SAVINGS
from originset.models.parameters import Parameters

pytestmark = pytest.mark.slow

A, B = "104.16.0.1", "104.16.0.2"
SITE = "www.one.test"


def modelled(
    make_tables, host, *, address=B, covered=False, answers=True, protocol="h2", visits=1, blocked=False, via=None
):
    """Tables of a page of ``host`` beside the document, each on a connection of its own.

    ``via``: an address of one.test, which redirects to the page and has its certificate; what is at the same address
    uses its connection.
    """
    pages = [f"v{number}" for number in range(visits)]
    usual = {"scheme": "https", "port": 443, "credentials": "include", "frame_site": "one.test"}
    hosts = (*((("one.test", via),) if via else ()), (SITE, A), (host, address))
    document = len(hosts) - 2
    names = [*(name for name, _ in hosts[: document + 1]), *([host] if covered else [])]
    return model_tables(
        make_tables(
            {
                "visits": [
                    {"visit_id": page, "site": SITE, "status": "ok", "source": "crawl", "browser": "chromium",
                     "third_party_cookies": "blocked" if blocked else "allowed"}
                    for page in pages
                ],
                "requests": [
                    {"visit_id": page, "request_id": n, "connection_id": 0 if via == A and n == document else n,
                     "host": name, "server_ip": ip, **usual, "status": 301 if n < document else 200,
                     "protocol": protocol, "started_ms": 25.0 * n, "wait_ms": 10.0,
                     "resource_type": "image" if n > document else "document"}
                    for page in pages for n, (name, ip) in enumerate(hosts)
                ],
                "connections": [
                    {"visit_id": page, "connection_id": n, "first_host": name, "server_ip": ip, "port": 443,
                     "tls": True, "source": "netlog", "protocol": protocol, "opened_ms": 25.0 * n,
                     "established_ms": 25.0 * n + 5, "certificate_id": "own" if n <= document or covered else "other"}
                    for page in pages for n, (name, ip) in enumerate(hosts)
                    if not (via == A and n == document)
                ],
                "dns_queries": [
                    {"visit_id": page, "lookup_id": n, "host": name, "rtype": "A", "answers": [ip],
                     "asked_ms": 25.0 * n, "took_ms": 2.0, "source": "browser"}
                    for page in pages for n, (name, ip) in enumerate(hosts) if answers
                ],
                "certificates": [
                    {"certificate_id": "own", "san_count": len(names)}, {"certificate_id": "other", "san_count": 1}
                ],
                "certificate_names": [
                    *({"certificate_id": "own", "name": name, "wildcard": False} for name in names),
                    {"certificate_id": "other", "name": host, "wildcard": False},
                ],
                "addresses": [{"ip": f"104.16.0.{n}", "asn": 13335} for n in (1, 2, 3)],
                "hosts": [
                    {"host": name, "registrable_domain": ".".join(name.split(".")[-2:])} for name, _ in hosts
                ],
            }
        ),
        Parameters(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "saved"),
    [
        # Another address: ORIGIN alone makes up for it, in each browser over its own protocol.
        ({}, (0, 1, 1)),
        ({"visits": 3}, (0, 3, 3)),
        # The same address: the certificate is all that was missing.
        ({"address": A}, (1, 1, 1)),
        # Firefox ignores ORIGIN over HTTP/3.
        ({"protocol": "h3"}, (0, 1, 0)),
        # Whether the names have an address in common decides what Chromium does over HTTP/2.
        ({"answers": False}, (None, 1, 1)),
    ],
)
def test_a_missing_name_saves(make_tables, facts, saved) -> None:
    tables = modelled(make_tables, "static.one.test", **facts)
    (row,) = tables["certificate_additions"].rows(named=True)
    assert tuple(row[name] for name in SAVINGS) == saved
    assert (row["validatable_by"], row["blocked_reason"]) == ("site", None)
    (change,) = tables["provider_changes"].rows(named=True)
    assert tuple(change[name] for name in SAVINGS) == saved


@pytest.mark.parametrize(("blocked", "saved"), [(False, (1, 1, 1)), (True, (0, 0, 1))])
def test_a_name_of_another_site_in_chromium_hangs_on_third_party_cookies(make_tables, blocked, saved) -> None:
    (row,) = modelled(make_tables, "x.two.test", address=A, blocked=blocked)["certificate_additions"].rows(named=True)
    assert tuple(row[name] for name in SAVINGS) == saved
    assert row["validatable_by"] == "provider"


@pytest.mark.parametrize(("covered", "saved"), [(True, 1), (False, 0)])
def test_what_announcing_saves_in_firefox(make_tables, covered, saved) -> None:
    rows = modelled(make_tables, "static.one.test", covered=covered)["origin_sets"].rows(named=True)
    assert {row["host"]: row["connections_saved_firefox"] for row in rows} == {SITE: 0, "static.one.test": saved}


@pytest.mark.parametrize(("host", "reason"), [("a_b.one.test", "not_a_name"), ("static.one.test", None)])
def test_a_name_that_no_authority_takes_is_blocked(make_tables, host, reason) -> None:
    (row,) = modelled(make_tables, host)["certificate_additions"].rows(named=True)
    assert row["blocked_reason"] == reason


@pytest.mark.parametrize(("via", "today", "planned"), [(A, 2, 1), (B, 3, 2)])
def test_a_host_that_redirects_at_the_servers_address_announces_for_it(make_tables, via, today, planned) -> None:
    tables = modelled(make_tables, "static.one.test", address="104.16.0.3", covered=True, via=via)
    (row,) = tables["origin_sets"].filter(host="static.one.test").rows(named=True)
    assert row["connections_saved_firefox"] == 1
    predicted = tables["browser_predictions"].filter(browser="firefox").rows_by_key("model", named=True, unique=True)
    assert [predicted[model]["tls_high"] for model in ("today", "planned")] == [today, planned]
