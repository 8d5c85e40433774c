"""What lookups say of a host besides its addresses: the protocols that its HTTPS records list."""

import pytest

from originset.models.browsers.tables import browser_tables

FIRST, SECOND, ADDRESS = "www.one.test", "static.one.test", "104.16.0.1"


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
