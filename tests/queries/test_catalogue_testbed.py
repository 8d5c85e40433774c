"""Every named query on a real crawl: rows, and a number worked out from what the small internet's pages load.

The crawl is tests/fixtures/testbed_study.py; the pages are crawler/testbed/scenarios/small_internet.toml. Counts that
hang on who comes first (how many HTTP/1.1 connections are open at once, which of two lookups is answered first) are not
among the numbers.

What the pages ask for, D daily (seen twice), S shop (seen twice), G gazette, B bank, T travel, A anna, R bert, W wiki,
O dora, P apps:

=========  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==============================================
page        D   S   G   B   T   A   R   W   O   P  over the twelve visits, D and S counted twice
=========  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==============================================
requests   16   8   5   6   9   5   4   5   3  10  95; T's tenth is to a name that does not exist
hosts       9   4   2   3   6   4   4   1   2   6  54, that name among them
addresses   7   3   2   1   4   4   3   1   1   5  41
ASes        3   2   1   1   2   3   2   1   1   4  25
=========  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==  ==============================================
"""

import json

import pytest

from originset.data.capture import read_capture_bytes
from originset.data.database import open_database
from originset.queries.catalogue import catalogue, rows_of

pytestmark = pytest.mark.browser

BY_HAND = {
    # anna.test and bert.test, both at Hetzner, load one picture from each other; neither's certificate has both.
    "additions_provider_summary": {
        "asn": 24940, "rank": 1, "name": "anna.test", "sites": 1, "connections_saved": 1, "saved_pct": 50.0,
    },
    # The shop's metrics are at Fastly too, under a certificate of their own: one connection in each of two visits.
    "additions_top_summary": {"name": "stats.metrics.test", "sites": 1, "connections_saved": 2},
    # S, S, T and R of twelve; G, B, W and O need one.
    "asns_page_pct": {"asns": 2, "pages": 4, "pct": 100 * 4 / 12, "cumulative_pct": 100 * 8 / 12},
    # Cloudflare's, daily's five hosts and fastcdn's three: 2 x 11 of D, 2 x 1 of S, 1 of T, 1 of A, 2 of R, 1 of P.
    "asns_top_summary": {"asn": 13335, "requests": 29, "requests_pct": 2900 / 95, "hosts": 8, "visits": 8},
    # Firefox looks every name up, ORIGIN frames or not: 54, and one for each of the four visits that failed.
    "browsers_plan_summary": {"browser": "firefox", "model": "today", "dns": 58, "dns_pages": 16, "pages": 16},
    # dora's connection is at carla's address and its certificate covers carla, whose server says 421.
    "causes_all_summary": {"cause": "MISDIRECTED", "connections": 1, "alone": 1, "pages": 1},
    # The wildcard covers img.daily.test (twice) and maps.travel.test, the certificate media.gazette.example: all are at
    # another address in the site's AS.
    "causes_connection_summary": {
        "cause": "IP", "detail": "SAME_AS", "fixable_by": "site", "connections": 4, "pages": 4,
    },
    # All twenty certificates but expired.test's; the testbed's authority submits none to a log.
    "certificates_check_summary": {
        "check_name": "no certificate transparency timestamp in it", "found_pct": 100.0, "certificates": 19,
    },
    # By address 41 connections are left in place of 25.
    "choices_model_summary": {
        "parameter": "colocation", "value": "ip", "chosen": False, "median_ideal_origin": 3.0,
        "connections_saved_more": 25 - 41,
    },
    # B: bank and www share addresses and certificate; login has the address, but not the certificate.
    "connections_page_dist": {"dns": 3, "tls": 2, "ip_dns_tls": 1, "origin_dns_tls": 1},
    # Amazon's: tag.js and three pixels of D, twice, and all six of B; the pixels are its only PNGs.
    "content_types_asn_summary": {
        "asn": 16509, "as_requests": 14, "mime_type": "image/png", "requests": 6, "of_as_pct": 600 / 14,
    },
    # Every page but R has one style sheet (P's in its frame), each at a host of its own.
    "content_types_summary": {"mime_type": "text/css", "requests": 11, "hosts": 9, "visits": 11},
    # Nothing is encrypted in the testbed.
    "exposures_model_summary": {
        "model": "measured", "channel": "dns", "names": 54, "clear": 54, "clear_per_page": 4.5, "pages": 12,
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
    # framework.js of D (twice), R and P.
    "hosts_top_summary": {
        "host": "libs.fastcdn.test", "requests": 4, "requests_pct": 400 / 95, "visits": 4, "addresses": 1, "asns": 1,
    },
    # Its assets are on the same connection.
    "issuers_host_summary": {
        "host": "shop.test", "issuer": "originset testbed intermediate", "issuers": 1, "certificates": 1,
        "connections": 2, "visits": 2,
    },
    "issuers_summary": {
        "issuer": "originset testbed intermediate", "certificates": 19, "connections_pct": 100.0,
    },
    "ladder_dns_summary": {
        "rung": "same AS (the paper's ideal ORIGIN)", "total": 25, "median": 2.0, "pages": 12, "left_out": 4,
        "left_out_why": "4 failed",
    },
    "ladder_tls_summary": {
        "rung": "same AS (the paper's ideal ORIGIN)", "total": 25, "median": 2.0, "pages": 12, "left_out": 4,
        "left_out_why": "4 failed",
    },
    "load_times_model_summary": {"model": "ORIGIN coalescing, one provider", "pages": 12},
    "load_times_reason_summary": {"left_out_reason": "failed", "pages": 4},
    # Lookups and connections of one visit cannot disagree: nobody's answers change.
    "names_resolve_summary": {
        "name_kind": "the host it was opened for", "elsewhere": 0, "unknown": 0, "resolves_pct": 100.0,
    },
    # 3, 4, 5, 5, 5, 6, 8, 8, 9, 10, 16, 16 requests.
    "pages_rank_summary": {"ranks_from": 1, "visits": 16, "loaded": 12, "requests": 7.0},
    # Tag and pixels of D, twice, and all of W.
    "protocols_summary": {"protocol": "http/1.1", "secure": True, "requests": 13, "requests_pct": 1300 / 95},
    # login.bank.test, as above.
    "sander_causes_summary": {
        "protocols": "h2", "bound": "endless", "cause": "CERT", "connections": 1, "pages": 1, "of_pages": 12,
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
    # D 9 and 9 lookups, S 4 and 4: half the square of 5 between the two, nothing within.
    "variance_site_summary": {
        "counts": "DNS lookups", "sites": 2, "visits": 4, "within_variance": 0.0, "between_variance": 12.5,
    },
    "visits_status_summary": {"status": "ok", "visits": 12, "visits_pct": 75.0, "sites": 10},
}  # fmt: skip

# Queries of something else than a page's recording by Chromium, and one of times, for which see below.
ELSEWHERE = {"causes_needs_summary", "load_times_page_dist"}


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


def test_what_another_recorder_leaves_out(foreign_study) -> None:
    """Its certificate covers media.gazette.example; whether one of that name's addresses is its own, the HAR hides."""
    with open_database(foreign_study) as connection:
        rows = rows_of(connection, "causes_needs_summary").rows()
    assert ("DNS answers", 1, 100.0, 100.0, 1) in rows


def test_load_times_are_the_browsers(testbed_study) -> None:
    """No two crawls take the same time; the HAR of each capture says what this one took."""
    told = []
    for path in testbed_study.captures.rglob("*.har.zst"):
        (page,) = json.loads(read_capture_bytes(path))["log"]["pages"]
        told.append(page["pageTimings"].get("onLoad", -1))
    with open_database(testbed_study) as connection:
        rows = rows_of(connection, "load_times_page_dist")
    assert rows["page_load_times"].to_list() == pytest.approx(sorted(time for time in told if time > 0))
    assert rows.height == 12
    assert (rows["as_page_load_times"] <= rows["ip_page_load_times"]).all()
    assert (rows["cf_only_page_load_times"] <= rows["page_load_times"]).all()
