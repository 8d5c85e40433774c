"""A page in the browser that recorded it and in today's: the paper's figure 3, recorded by its Chromium 88."""

from __future__ import annotations

import polars as pl
import pytest

from originset.data.reference.browser_rules import browser_rules
from originset.models.browsers.tables import RECORDED, TODAY
from tests.fixtures.browser_models import browser_tables

CHROMIUM_TODAY = browser_rules()["chromium"].version

# As the median page of figure 3: 14 names at 13 addresses in 5 ASes.
NETWORKS = {64500: 5, 64501: 4, 64502: 3, 64503: 1, 64504: 1}
HOSTS = {f"h{number}.as{asn}.test": asn for asn, several in NETWORKS.items() for number in range(several)}
ADDRESSES = {host: f"192.0.2.{number}" for number, host in enumerate(HOSTS)} | {"h4.as64500.test": "192.0.2.3"}
# Two names of one AS that fonts come from: without credentials, so over one more connection each.
FONTS = ("h1.as64501.test", "h2.as64501.test")
ADDRESS_COUNT, AS_COUNT = len(set(ADDRESSES.values())), len(NETWORKS)


@pytest.fixture
def recorded(make_tables):
    """The page; each AS has one certificate, and each of its servers announces all of the AS's names if it may."""

    def page(version: str | None, *, browser: str = "chromium", protocol: str = "h3", announced: bool = True):
        asked = [*((host, "image", "include") for host in HOSTS), *((host, "font", "omit") for host in FONTS)]
        numbers = {place: number for number, place in enumerate(dict.fromkeys((ADDRESSES[h], c) for h, _, c in asked))}
        first = {}
        for host, _, credentials in asked:
            first.setdefault(numbers[ADDRESSES[host], credentials], host)
        return make_tables(
            {
                "visits": [
                    {"visit_id": "v", "site": "as64500.test", "status": "ok", "source": "crawl", "browser": browser,
                     "browser_version": version, "third_party_cookies": "allowed"}
                ],
                "requests": [
                    {"visit_id": "v", "request_id": n, "scheme": "https", "host": host, "port": 443,
                     "protocol": protocol, "status": 200, "resource_type": kind if n else "document",
                     "frame_site": "as64500.test", "credentials": credentials, "started_ms": 50.0 * n,
                     "connection_id": numbers[ADDRESSES[host], credentials], "server_ip": ADDRESSES[host]}
                    for n, (host, kind, credentials) in enumerate(asked)
                ],
                "connections": [
                    {"visit_id": "v", "connection_id": n, "first_host": host, "server_ip": ADDRESSES[host],
                     "port": 443, "tls": True, "tls_version": "TLS 1.3", "protocol": protocol,
                     "certificate_id": str(HOSTS[host]), "source": "netlog",
                     "opened_ms": 50.0 * list(HOSTS).index(host), "established_ms": 50.0 * list(HOSTS).index(host) + 9,
                     "origin_set": [f"https://{each}" for each in HOSTS if HOSTS[each] == HOSTS[host]]
                     if announced else None}
                    for n, host in first.items()
                ],
                "dns_queries": [
                    {"visit_id": "v", "lookup_id": n, "host": host, "rtype": "A", "answers": [ADDRESSES[host]],
                     "asked_ms": 50.0 * n, "took_ms": 2.0, "source": "browser"}
                    for n, host in enumerate(HOSTS)
                ],
                "certificates": [
                    {"certificate_id": str(asn), "san_count": several, "der_bytes": 900, "chain": [str(asn)]}
                    for asn, several in NETWORKS.items()
                ],
                "certificate_names": [{"certificate_id": str(asn), "name": host} for host, asn in HOSTS.items()],
                "addresses": [
                    {"ip": ip, "asn": asn} for ip, asn in {ADDRESSES[host]: HOSTS[host] for host in HOSTS}.items()
                ],
                "hosts": [{"host": host, "registrable_domain": host.partition(".")[2]} for host in HOSTS],
            }
        )  # fmt: skip

    return page


def needs(tables, model):
    """The version whose rules are applied, connections and lookups in Chromium."""
    rows = browser_tables(tables)["browser_predictions"].filter(model=model, browser="chromium")
    return rows.select("rules_version", "tls_low", "tls_likely", "tls_high", "dns").rows()


def test_chromium_88_has_the_papers_addresses_where_todays_reaches_its_ases(recorded) -> None:
    page = recorded("88.0.4324.150")
    by_address, by_origin = ADDRESS_COUNT + len(FONTS), AS_COUNT + 1  # the fonts' second name joins the first's
    assert needs(page, RECORDED) == [("88.0.4298.0", by_address, by_address, by_address, len(HOSTS))]
    assert needs(page, TODAY) == [(CHROMIUM_TODAY, by_origin, by_origin, by_origin, AS_COUNT + 1)]


def test_without_frames_or_over_http2_both_have_the_papers_addresses(recorded) -> None:
    for page in (recorded("88.0.4324.150", announced=False), recorded("88.0.4324.150", protocol="h2")):
        assert needs(page, RECORDED)[0][1:] == needs(page, TODAY)[0][1:]
        assert needs(page, TODAY)[0][1] == ADDRESS_COUNT + len(FONTS)


@pytest.mark.parametrize(("version", "taken"), [("131.0.6778.85", "131.0.6778.0"), (None, CHROMIUM_TODAY)])
def test_of_a_version_that_follows_todays_rules_they_are_said_once_more(recorded, version, taken) -> None:
    page = recorded(version)
    assert [row[1:] for row in needs(page, RECORDED)] == [row[1:] for row in needs(page, TODAY)]
    assert needs(page, RECORDED)[0][0] == taken


def test_of_a_browser_that_nobody_observed_nothing_is_made_up(recorded) -> None:
    page = recorded("17.0", browser="safari")
    assert browser_tables(page)["browser_predictions"].filter(model=RECORDED).is_empty()


def test_why_connections_were_opened_is_said_by_the_recorders_own_rules(recorded) -> None:
    def causes(version):
        rows = browser_tables(recorded(version))["redundant_connection_causes"]
        return set(rows.filter(pl.col("cause") != "CRED")["cause"].cast(pl.String))

    assert causes("88.0.4324.150") == {"ORIGIN_UNSUPPORTED"}
    assert causes("156.0.8078.79") == {"UNKNOWN"}  # this one would have heeded them
