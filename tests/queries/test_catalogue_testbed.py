"""Every named query on a real crawl: rows, and a number worked out from what the small internet's pages load.

The crawl is tests/fixtures/testbed_study.py; the pages are crawler/testbed/scenarios/small_internet.toml. Counts that
hang on who comes first (how many HTTP/1.1 connections are open at once, which of two lookups is answered first) are not
among the numbers.

What the pages ask for, D daily, S shop, G gazette, B bank, T travel, A anna, R bert, W wiki, O dora, P apps. Each is
one visit from "here"; D and S are one visit each from "there" too. Vantages stand by themselves, each site has one
page:

=========  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==  ====  ======================================
page        D   S   G   B   T   A   R   W   O   P  here  of which
=========  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==  ====  ======================================
requests   16   8   5   6   9   5   4   5   3  10    71  T's tenth is to a name that does not exist
hosts       9   4   2   3   6   4   4   1   2   6    41  that name is one
addresses   7   3   2   1   4   4   3   1   1   5    31
ASes        3   2   1   1   2   3   2   1   1   4    20
=========  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==  ====  ======================================
"""

import json

import pytest

from originset.data.captures.capture import read_capture_bytes
from originset.data.studies.database import open_database
from originset.queries.catalogue import catalogue, rows_of

pytestmark = pytest.mark.browser

BY_HAND = {
    # anna.test and bert.test, both at Hetzner, load one picture from each other; neither's certificate has both.
    "additions_provider_summary": {
        "asn": 24940, "rank": 1, "name": "anna.test", "sites": 1, "connections_saved": 1, "saved_pct": 50.0,
    },
    # The shop's metrics are at Fastly too, under a certificate of their own: one connection in each of two visits.
    "additions_top_summary": {"name": "stats.metrics.test", "sites": 1, "connections_saved": 2},
    # S, T and R of ten; G, B, W and O need one.
    "asns_page_pct": {"vantage": "here", "asns": 2, "sites": 3, "pct": 30.0, "cumulative_pct": 70.0},
    # Cloudflare's, daily's five hosts and fastcdn's three: 11 of D, 1 of S, 1 of T, 1 of A, 2 of R, 1 of P.
    "asns_top_summary": {
        "vantage": "here", "asn": 13335, "requests": 17, "requests_pct": 1700 / 71, "hosts": 8, "pages": 6,
    },
    # Firefox looks every name up, ORIGIN frames or not; pages that failed do not count.
    "browsers_plan_summary": {
        "vantage": "here", "browser": "firefox", "model": "today", "dns": 41, "dns_pages": 10, "pages": 10,
    },
    # dora's connection is at carla's address and its certificate covers carla, whose server says 421.
    "causes_all_summary": {"cause": "MISDIRECTED", "connections": 1, "alone": 1, "pages": 1},
    # The wildcard covers img.daily.test and maps.travel.test, the certificate media.gazette.example: all are at another
    # address in the site's AS.
    "causes_connection_summary": {
        "vantage": "here", "cause": "IP", "detail": "SAME_AS", "fixable_by": "site", "connections": 3, "pages": 3,
        "of_pages": 10,
    },
    # All twenty certificates but expired.test's; the testbed's authority submits none to a log.
    "certificates_check_summary": {
        "check_name": "no certificate transparency timestamp in it", "found_pct": 100.0, "certificates": 19,
    },
    # By address 31 connections are left in place of 20; the ten pages have 1, 1, 1, 2, 3, 3, 4, 4, 5 and 7 addresses.
    "choices_model_summary": {
        "vantage": "here", "parameter": "colocation", "value": "ip", "chosen": False, "median_ideal_origin": 3.0,
        "connections_saved_more": 20 - 31,
    },
    # B: bank and www share addresses and certificate; login has the address, but not the certificate.
    "connections_page_dist": {"vantage": "here", "dns": 3, "tls": 2, "ip_dns_tls": 1, "origin_dns_tls": 1,
                              "ip_dns": 1, "origin_dns": 1},
    # The shop's metrics of another owner, at the shop's AS under a certificate of their own.
    "causes_owner_summary": {
        "vantage": "here", "owner_domain": "metrics.test", "third_party": True, "connections": 1, "pages": 1,
        "of_pages": 10,
    },
    # Amazon's: tag.js and three pixels of D, and all six of B; the pixels are its only PNGs.
    "content_types_asn_summary": {
        "vantage": "here", "asn": 16509, "as_requests": 10, "mime_type": "image/png", "requests": 3, "of_as_pct": 30.0,
    },
    # Every page but R has one style sheet (P's in its frame), each at a host of its own.
    "content_types_summary": {"vantage": "here", "mime_type": "text/css", "requests": 9, "hosts": 9, "pages": 9},
    # Nothing is encrypted in the testbed.
    "exposures_model_summary": {
        "vantage": "here", "model": "measured", "channel": "dns", "names": 41, "clear": 41, "clear_per_page": 4.1,
        "pages": 10,
    },
    # gone.test from both vantages.
    "failures_error_summary": {
        "status": "failed", "error": "dns", "error_code": "net::ERR_NAME_NOT_RESOLVED", "visits": 2, "sites": 1,
    },
    "failures_rank_summary": {
        "ranks_from": 1, "visits": 16, "failed": 4, "failed_pct": 25.0, "dns": 2, "connect": 1, "tls": 1, "other": 0,
    },
    "failures_vantage_summary": {
        "vantage": "there", "visits": 3, "failed": 1, "sites": 3, "sites_failed": 1, "sites_failed_here_alone": 0,
        "sites_seen_elsewhere": 3,
    },
    # framework.js of D, R and P.
    "hosts_top_summary": {
        "vantage": "here", "host": "libs.fastcdn.test", "requests": 3, "requests_pct": 300 / 71, "pages": 3,
        "addresses": 1, "asns": 1,
    },
    # Its assets are on the same connection.
    "issuers_host_summary": {
        "vantage": "here", "host": "shop.test", "issuer": "originset testbed intermediate", "issuers": 1,
        "certificates": 1, "connections": 1, "pages": 1,
    },
    "issuers_summary": {
        "issuer": "originset testbed intermediate", "certificates": 19, "connections_pct": 100.0,
    },
    # All sites that loaded are among the first thousand of the list.
    "ladder_rank_summary": {
        "vantage": "here", "counts": "TLS connections", "ranks_from": 1, "ranks_to": 1000,
        "rung": "same AS (the paper's ideal ORIGIN)", "total": 20, "median": 2.0, "sites": 10, "pages": 10,
    },
    "load_times_model_summary": {"vantage": "here", "model": "ORIGIN coalescing, one provider", "sites": 10},
    # gone.test, refused.test and expired.test.
    "load_times_reason_summary": {"vantage": "here", "reason": "failed", "pages": 3},
    # Lookups and connections of one visit cannot disagree: nobody's answers change.
    "names_resolve_summary": {
        "name_kind": "the host it was opened for", "elsewhere": 0, "unknown": 0, "resolves_pct": 100.0,
    },
    # 3, 4, 5, 5, 5, 6, 8, 9, 10, 16 requests.
    "pages_rank_summary": {
        "vantage": "here", "ranks_from": 1, "visits": 13, "requests": 5.5, "requests_sites": 10, "dns_sites": 10,
    },
    # B: bank and www share one connection, login needs its own; nothing of it is redundant that could be deployed away.
    "pages_top_summary": {"vantage": "here", "site": "bank.test", "status": "ok", "tls": 2, "deployable": 2, "dns": 3},
    # The testbed's crawl lacks no fact: 40 connections of the ten pages that loaded, each page's predicted to the one;
    # or 39, where a late request over HTTP/1.1 finds a connection that is free again.
    "predictions_check_summary": {
        "vantage": "here", "part": "all", "value": None, "within_pct": 100.0, "likely_pct": 100.0,
        "width": 0.0, "error": 0.0, "pages": 10, "of_pages": 10,
    },
    # Tag and pixels of D, and all of W.
    "protocols_summary": {
        "vantage": "here", "protocol": "http/1.1", "secure": True, "requests": 9, "requests_pct": 900 / 71,
    },
    # login.bank.test, as above.
    "sander_causes_summary": {
        "vantage": "here", "protocols": "h2", "bound": "endless", "cause": "CERT", "connections": 1, "pages": 1,
        "of_pages": 10,
    },
    # G, W and O lack nothing; D two names, T two, S, B, A, R and P one.
    "sans_changes_summary": {
        "sites": 10, "names_known": 10, "unchanged": 3, "unchanged_pct": 30.0, "median_names": 1.5,
        "median_ideal_names": 2.0, "additions": 9,
    },
    # S: shop, www.shop, assets.shopcdn; and stats.metrics.
    "sans_site_dist": {"original_san_list": 3, "updated_san_list": 4, "mapped_san_additions": 1},
    # A, R, W, O and P have one name; A, R, P and G end up with two.
    "sans_size_summary": {"rank": 1, "names": 1, "sites": 5, "sites_pct": 50.0, "ideal_names": 2, "ideal_sites": 4},
    "visits_status_summary": {"status": "ok", "visits": 12, "visits_pct": 75.0, "sites": 10},
}  # fmt: skip

# Queries of something else than a page's recording by Chromium, of times, of what no page has, and of many rungs, for
# which see below; of recordings by two browsers, see test_catalogue_two_browsers.py.
ELSEWHERE = {
    "causes_needs_summary",
    "load_times_page_dist",
    "variance_site_summary",
    "ladder_summary",
    "predictions_other_summary",
}


def test_no_query_is_left_out() -> None:
    # Live experiments are no crawls: their queries are tried on an experiment.
    assert {name for name in catalogue() if not name.startswith("experiment")} == set(BY_HAND) | ELSEWHERE


@pytest.mark.parametrize("name", BY_HAND)
def test_a_query(testbed_study, name) -> None:
    with open_database(testbed_study) as connection:
        rows = rows_of(connection, name)
    expected = BY_HAND[name]
    found = [{key: row[key] for key in expected} for row in rows.iter_rows(named=True)]
    assert pytest.approx(expected) in found, rows.rows()


@pytest.mark.parametrize(
    ("vantage", "counts", "rung", "numbers"),
    [
        # Of the 41 hosts one does not exist. From there 9 of D and 4 of S.
        ("here", "DNS lookups", "without repeated and unused ones", (40, 4.0)),
        ("there", "DNS lookups", "without repeated and unused ones", (13, 6.5)),
        # The table's addresses and ASes; D and S have 7 and 3, 3 and 2.
        ("here", "TLS connections", "same address (the paper's ideal IP)", (31, 3.0)),
        ("there", "TLS connections", "same address (the paper's ideal IP)", (10, 5.0)),
        ("here", "TLS connections", "same AS (the paper's ideal ORIGIN)", (20, 2.0)),
        ("there", "TLS connections", "same AS (the paper's ideal ORIGIN)", (5, 2.5)),
        ("here", "DNS lookups", "same AS (the paper's ideal ORIGIN)", (20, 2.0)),
        ("there", "DNS lookups", "same AS (the paper's ideal ORIGIN)", (5, 2.5)),
    ],
)
def test_the_ladder(testbed_study, vantage, counts, rung, numbers) -> None:
    total, median = numbers
    sites, failed = {"here": (10, 3), "there": (2, 1)}[vantage]
    with open_database(testbed_study) as connection:
        rows = rows_of(connection, "ladder_summary")
    (row,) = rows.filter(vantage=vantage, counts=counts, rung=rung).iter_rows(named=True)
    assert (row["total"], row["median"], row["sites"], row["pages"]) == (total, median, sites, sites)
    assert (row["left_out"], row["left_out_why"]) == (failed, f"{failed} failed")


def test_visits_of_two_vantages_are_no_repeats(testbed_study) -> None:
    """D and S were visited once from each: between vantages nothing is called variance of a page."""
    with open_database(testbed_study) as connection:
        assert rows_of(connection, "variance_site_summary").is_empty()


def test_what_another_recorder_leaves_out(foreign_study) -> None:
    """Its certificate covers media.gazette.example; whether one of that name's addresses is its own, the HAR hides."""
    with open_database(foreign_study) as connection:
        rows = rows_of(connection, "causes_needs_summary").rows()
    assert (None, "chromium", "DNS answers", 1, 100.0, 100.0, 1, 1) in rows


def test_load_times_are_the_browsers(testbed_study) -> None:
    """No two crawls take the same time; the HAR of each capture says what this one took."""
    told = []
    for path in testbed_study.captures.rglob("*.har.zst"):
        (page,) = json.loads(read_capture_bytes(path))["log"]["pages"]
        told.append(page["pageTimings"].get("onLoad", -1))
    with open_database(testbed_study) as connection:
        rows = rows_of(connection, "load_times_page_dist")
    assert sorted(rows["page_load_times"]) == pytest.approx(sorted(time for time in told if time > 0))
    assert rows["vantage"].to_list() == ["here"] * 10 + ["there"] * 2
    assert (rows["as_page_load_times"] <= rows["ip_page_load_times"]).all()
    assert (rows["cf_only_page_load_times"] <= rows["page_load_times"]).all()
