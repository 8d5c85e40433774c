"""The ladder of the example study, by hand."""

import polars as pl
import pytest

from originset.data.studies.database import open_database
from originset.models.parameters import Parameters
from originset.queries.ladder import colocation, ladder, rests_on

RECORDED = "Chromium with servers as they are has third-party cookies as recorded"


@pytest.fixture
def one_place(example_rows):
    """The example's rows as if they were of one vantage and browser: a and b are two visits of one page then."""
    return {**example_rows, "visits": [{**row, "vantage": None, "browser": None} for row in example_rows["visits"]]}


def test_rungs(build_study, one_place) -> None:
    """Visits a and b count half each: 6 and 2 connections, 5 lookups and 1. c has 2 of both, f none."""
    with open_database(build_study(one_place, Parameters())) as connection:
        rows = ladder(connection)
    assert rows.select("counts", "rung", "comparison_only", "total", "saved_pct").rows() == [
        ("TLS connections", "measured", False, 6.0, 0.0),
        ("TLS connections", "without same-host duplicates", False, 4.5, 25.0),
        # what recorders left out makes them ranges: 5 to 8, 4 (each address that b's hosts were sent to), and c;
        # most likely 5, 4 and 2
        ("TLS connections", "Chromium with servers as they are, at most", True, 8.0, -33.33),
        ("TLS connections", "Chromium with servers as they are, most likely", True, 6.5, -8.33),
        ("TLS connections", "Chromium with servers as they are, at least", True, 5.5, 8.33),
        ("TLS connections", "Chromium with third-party cookies blocked, at most", True, 8.0, -33.33),
        ("TLS connections", "Chromium with third-party cookies blocked, most likely", True, 6.5, -8.33),
        ("TLS connections", "Chromium with third-party cookies blocked, at least", True, 5.5, 8.33),
        ("TLS connections", "Firefox with servers as they are, at most", True, 8.0, -33.33),
        ("TLS connections", "Firefox with servers as they are, most likely", True, 6.5, -8.33),
        ("TLS connections", "Firefox with servers as they are, at least", True, 5.5, 8.33),
        ("TLS connections", "same address (the paper's ideal IP)", True, 4.0, 33.33),
        # cdn.other.net stays by itself: its connection answered 421 for a host of the others
        ("TLS connections", "deployable: same edge and certificate", False, 4.5, 25.0),
        ("TLS connections", "same edge", False, 4.5, 25.0),
        ("TLS connections", "one owner, different machines", False, 3.5, 41.67),
        ("TLS connections", "same AS (the paper's ideal ORIGIN)", False, 3.0, 50.0),
        ("DNS lookups", "measured", False, 5.0, 0.0),
        # no request of a and b went to a name that they looked up
        ("DNS lookups", "without repeated and unused ones", False, 2.0, 60.0),
        ("DNS lookups", "Chromium with servers as they are", True, 2.0, 60.0),
        ("DNS lookups", "Chromium with third-party cookies blocked", True, 2.0, 60.0),
        ("DNS lookups", "Firefox with servers as they are", True, 2.0, 60.0),
        ("DNS lookups", "same address (the paper's ideal IP)", True, 1.0, 80.0),
        ("DNS lookups", "same AS (the paper's ideal ORIGIN)", False, 1.0, 80.0),
    ]
    assert rests_on(rows) == [
        "TLS connections: 3 of 5 pages, 4 visits; left out: 1 failed, 1 without connection ids",
        "DNS lookups: 3 of 5 pages, 4 visits; left out: 1 failed, 1 without recorded lookups",
        f"TLS connections and DNS lookups: {RECORDED} (not known)",
    ]


@pytest.mark.parametrize("view", ["page_rungs", "site_rungs"])
def test_former_column_name(modelled_example, view) -> None:
    """Both views have the column ``comparison_only`` under its former name too, until the next format of a study."""
    with open_database(modelled_example) as connection:
        rows = connection.table(view).select("comparison_only", "aside").fetchall()
    assert {(True, True), (False, False)} == set(rows)


def test_it_says_how_third_party_cookies_were_recorded(build_study, one_place) -> None:
    cookies = {"a": "allowed", "b": "allowed", "c": "blocked"}
    visits = [{**row, "third_party_cookies": cookies.get(row["visit_id"])} for row in one_place["visits"]]
    with open_database(build_study({**one_place, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    # c has connection ids, and so is in both; f too, which has nothing
    assert rests_on(rows)[-1] == (
        f"TLS connections and DNS lookups: {RECORDED} (allowed in 2 visits, blocked in 1 visit, not known in 1 visit)"
    )


def test_vantages_and_browsers_are_never_pooled(study) -> None:
    with open_database(study) as connection:
        rows = ladder(connection)
    measured = rows.filter(counts="TLS connections", rung="measured")
    assert measured.select("vantage", "browser", "total", "sites", "visits").rows() == [
        (None, None, 2.0, 2, 2),
        ("here", "chromium", 6.0, 1, 1),
        ("there", "chromium", 2.0, 1, 1),
    ]
    assert rests_on(rows)[0].startswith("unknown browser, TLS connections: 2 of 3 pages")
    assert "chromium at here, DNS lookups: 1 of 2 pages; left out: 1 failed" in rests_on(rows)


def test_the_rung_says_what_it_counts(build_study, one_place) -> None:
    study = build_study(one_place, Parameters(colocation="ip"))
    with open_database(study) as connection:
        assert colocation(connection) == "ip"
        rows = ladder(connection).filter(counts="TLS connections")
    assert rows["rung"].to_list()[-1] == "same address"
    assert rows["total"].to_list()[-5:] == [4.0, 4.5, 4.5, 4.5, 4.0]


def test_a_study_without_visits(build_study) -> None:
    study = build_study({}, Parameters())
    with open_database(study) as connection:
        rows = ladder(connection)
    assert rows.is_empty()
    assert rests_on(rows) == []


def test_a_page_that_cannot_be_compared_moves_no_percentage(build_study, one_place) -> None:
    """A recording with connections and no addresses would look as if everything could be saved."""
    blind = [{**row, "visit_id": "g", "server_ip": None} for row in one_place["requests"] if row["visit_id"] == "a"]
    visit = {"visit_id": "g", "site": "blind.test", "status": "ok", "source": "x/g.har"}
    rows = {
        **one_place,
        "requests": [*one_place["requests"], *blind],
        "visits": [*one_place["visits"], visit],
    }
    with open_database(build_study(rows, Parameters())) as connection:
        tls = ladder(connection).filter(counts="TLS connections")
    assert tls.filter(~pl.col("comparison_only"))["total"].to_list() == [6.0, 4.5, 4.5, 4.5, 3.5, 3.0]
    assert tls["left_out_why"][0] == "1 failed, 1 with a connection to an unknown address, 1 without connection ids"


def test_a_recording_that_hides_connections_is_left_out_and_said_to_be(build_study, one_place) -> None:
    """Each word of visits.quality that hides connections; warm sockets alone hide lookups, not connections."""
    reasons = {
        "truncated": "in a file that was cut off",
        "partial": "recorded in part",
        "proxied": "recorded through a proxy",
        "warm_start": "recorded with connections that were open before the page",
        "preserved_log": "recorded with connections that were open before the page",
        "unread_events": "with events of the browser's log that cannot be read",
        "cached_hosts": "with hosts answered from the cache alone",
    }
    for word, reason in reasons.items():
        visits = [{**row, "quality": [word]} if row["site"] == "example.com" else row for row in one_place["visits"]]
        with open_database(build_study({**one_place, "visits": visits}, Parameters())) as connection:
            rows = ladder(connection)
        tls, dns = rows.filter(counts="TLS connections"), rows.filter(counts="DNS lookups")
        assert tls["pages"][0] == 2, word
        assert f"1 {reason}" in tls["left_out_why"][0]
        assert f"1 {reason}" in dns["left_out_why"][0]
    visits = [{**row, "quality": ["warm_sockets"]} for row in one_place["visits"]]
    with open_database(build_study({**one_place, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    assert rows.filter(counts="TLS connections")["pages"][0] == 3
    assert rows.filter(counts="DNS lookups").height == 0 or rows.filter(counts="DNS lookups")["pages"][0] == 0


def test_a_bot_challenge_is_no_page(build_study, one_place) -> None:
    visits = [
        {**row, "status": "failed", "challenge": True} if row["site"] == "example.com" else row
        for row in one_place["visits"]
    ]
    with open_database(build_study({**one_place, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    assert rows.filter(counts="TLS connections")["pages"][0] == 2
    for half in ("TLS connections", "DNS lookups"):
        assert "1 with a bot challenge in place of the page" in rows.filter(counts=half)["left_out_why"][0]


def test_intervals_hold_the_percentage_and_are_null_with_one_site(build_study, one_place) -> None:
    with open_database(build_study(one_place, Parameters())) as connection:
        rows = ladder(connection)
    bounds = rows.select("counts", "rung", "saved_pct_low", "saved_pct", "saved_pct_high").filter(
        counts="TLS connections"
    )
    assert all(low <= saved <= high for _, _, low, saved, high in bounds.iter_rows())
    # example.com 4 against 2 (ASes), shop.test 2 against 1, empty.test 0 against 0: half of each.
    assert bounds.rows()[-1][2:] == (50.0, 50.0, 50.0)
    # 4 against 3.5, 2 against 1: 0.5 more and less than 0.75 of each; 196 * sqrt(3 / 2 * (0.25 + 0.25)) / 6 = 28.29.
    assert bounds.rows()[1][2:] == (-3.29, 25.0, 53.29)


def test_one_site_has_no_interval(build_study, one_place) -> None:
    visits = [{**row, "site": "example.com"} for row in one_place["visits"]]
    with open_database(build_study({**one_place, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    assert rows["saved_pct"].null_count() == 0
    assert rows["saved_pct_low"].null_count() == rows["saved_pct_high"].null_count() == rows.height


def test_where_no_page_counts_it_says_why(build_study, one_place) -> None:
    visits = [{**row, "quality": ["partial"]} for row in one_place["visits"] if row["status"] == "ok"]
    with open_database(build_study({**one_place, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    assert rows.select("counts", "rung", "total", "pages").rows() == [
        ("TLS connections", None, None, 0),
        ("DNS lookups", None, None, 0),
    ]
    assert all(": none of 4 pages; left out: 4 recorded in part" in one for one in rests_on(rows))
    one = visits[:1]
    with open_database(build_study({**one_place, "visits": one}, Parameters())) as connection:
        assert "TLS connections: not counted; the page is left out: recorded in part" in rests_on(ladder(connection))


def test_what_is_no_range_is_one_rung(build_study, one_place) -> None:
    """One page, one connection: whatever the recorder left out, browsers need one."""
    visits = [{**one_place["visits"][0], "visit_id": "one"}]
    requests = [{**one_place["requests"][0], "visit_id": "one"}]
    connections = [{**one_place["connections"][0], "visit_id": "one"}]
    rows = {**one_place, "visits": visits, "requests": requests, "connections": connections, "dns_queries": []}
    with open_database(build_study(rows, Parameters())) as connection:
        rungs = ladder(connection).filter(counts="TLS connections")
    assert rungs["rung"].to_list()[2:5] == [
        "Chromium with servers as they are",
        "Chromium with third-party cookies blocked",
        "Firefox with servers as they are",
    ]
    assert set(rungs["total"]) == {1}
