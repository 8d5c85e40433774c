"""The ladder of the example study, by hand."""

import polars as pl

from originset.data.database import open_database
from originset.models.parameters import Parameters
from originset.queries.ladder import colocation, ladder, rests_on


def test_rungs(study) -> None:
    with open_database(study) as connection:
        rows = ladder(connection)
    assert rows.select("counts", "rung", "aside", "total", "saved_pct").rows() == [
        ("TLS connections", "measured", False, 10, 0.0),
        ("TLS connections", "without same-host duplicates", False, 8, 20.0),
        # what recorders left out makes them ranges
        ("TLS connections", "Chromium with servers as they are, at most", True, 14, -40.0),
        ("TLS connections", "Chromium with servers as they are, at least", True, 7, 30.0),
        ("TLS connections", "Firefox with servers as they are, at most", True, 14, -40.0),
        ("TLS connections", "Firefox with servers as they are, at least", True, 7, 30.0),
        ("TLS connections", "same address (the paper's ideal IP)", True, 7, 30.0),
        # cdn.other.net stays by itself: its connection answered 421 for a host of the others
        ("TLS connections", "deployable: same edge and certificate", False, 8, 20.0),
        ("TLS connections", "same edge", False, 8, 20.0),
        # www, assets and static are of example.com, each at an address of its own
        ("TLS connections", "one owner, different machines", False, 6, 40.0),
        ("TLS connections", "same AS (the paper's ideal ORIGIN)", False, 5, 50.0),
        ("DNS lookups", "measured", False, 3, 0.0),
        ("DNS lookups", "same address (the paper's ideal IP)", True, 3, 0.0),
        ("DNS lookups", "same AS (the paper's ideal ORIGIN)", False, 2, 33.33),
    ]
    assert rests_on(rows) == [
        "TLS connections: 4 of 6 pages; left out: 1 failed, 1 without connection ids",
        f"DNS lookups: 3 of 6 pages; left out: {rows['left_out_why'][-1]}",
    ]


def test_the_rung_says_what_it_counts(build_study, example_rows) -> None:
    study = build_study(example_rows, Parameters(colocation="ip"))
    with open_database(study) as connection:
        assert colocation(connection) == "ip"
        rows = ladder(connection).filter(counts="TLS connections")
    assert rows["rung"].to_list()[-1] == "same address"
    assert rows["total"].to_list()[-5:] == [7, 8, 8, 8, 7]


def test_a_study_without_visits(build_study) -> None:
    study = build_study({}, Parameters())
    with open_database(study) as connection:
        rows = ladder(connection)
    assert rows.is_empty()
    assert rests_on(rows) == []


def test_a_page_that_cannot_be_compared_moves_no_percentage(build_study, example_rows) -> None:
    """A recording with connections and no addresses would look as if everything could be saved."""
    blind = [{**row, "visit_id": "g", "server_ip": None} for row in example_rows["requests"] if row["visit_id"] == "a"]
    visit = {"visit_id": "g", "site": "blind.test", "status": "ok", "source": "x/g.har"}
    rows = {
        **example_rows,
        "requests": [*example_rows["requests"], *blind],
        "visits": [*example_rows["visits"], visit],
    }
    with open_database(build_study(rows, Parameters())) as connection:
        tls = ladder(connection).filter(counts="TLS connections")
    assert tls.filter(~pl.col("aside"))["total"].to_list() == [10, 8, 8, 8, 6, 5]
    assert tls["left_out_why"][0] == "1 failed, 1 with a connection to an unknown address, 1 without connection ids"


def test_a_recording_that_hides_connections_is_left_out_and_said_to_be(build_study, example_rows) -> None:
    """Each word of visits.quality that hides connections; warm sockets alone hide lookups, not connections."""
    reasons = {
        "truncated": "in a file that was cut off",
        "partial": "recorded in part",
        "proxied": "recorded through a proxy",
        "warm_start": "recorded with connections open from before",
        "preserved_log": "recorded with connections open from before",
        "cached_hosts": "with hosts answered from the cache alone",
    }
    for word, reason in reasons.items():
        visits = [{**row, "quality": [word]} if row["visit_id"] == "a" else row for row in example_rows["visits"]]
        with open_database(build_study({**example_rows, "visits": visits}, Parameters())) as connection:
            rows = ladder(connection)
        tls, dns = rows.filter(counts="TLS connections"), rows.filter(counts="DNS lookups")
        assert tls["pages"][0] == 3, word
        assert f"1 {reason}" in tls["left_out_why"][0]
        assert f"1 {reason}" in dns["left_out_why"][0]
    visits = [{**row, "quality": ["warm_sockets"]} for row in example_rows["visits"]]
    with open_database(build_study({**example_rows, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    assert rows.filter(counts="TLS connections")["pages"][0] == 4
    assert rows.filter(counts="DNS lookups").height == 0 or rows.filter(counts="DNS lookups")["pages"][0] == 0


def test_a_bot_challenge_is_no_page(build_study, example_rows) -> None:
    visits = [
        {**row, "status": "failed", "challenge": True} if row["visit_id"] == "a" else row
        for row in example_rows["visits"]
    ]
    with open_database(build_study({**example_rows, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    assert rows.filter(counts="TLS connections")["pages"][0] == 3
    for half in ("TLS connections", "DNS lookups"):
        assert "1 with a bot challenge in place of the page" in rows.filter(counts=half)["left_out_why"][0]


def test_intervals_hold_the_percentage_and_are_null_with_one_site(build_study, example_rows) -> None:
    with open_database(build_study(example_rows, Parameters())) as connection:
        rows = ladder(connection)
    bounds = rows.select("counts", "rung", "saved_pct_low", "saved_pct", "saved_pct_high").filter(
        counts="TLS connections"
    )
    assert all(low <= saved <= high for _, _, low, saved, high in bounds.iter_rows())
    # example.com 8 against 4 (ASes), shop.test 2 against 1, empty.test 0 against 0: half of whatever is drawn.
    assert bounds.rows()[-1][2:] == (50.0, 50.0, 50.0)
    assert bounds.rows()[1][2:] == (12.5, 20.0, 50.0)


def test_one_site_has_no_interval(build_study, example_rows) -> None:
    visits = [{**row, "site": "example.com"} for row in example_rows["visits"]]
    with open_database(build_study({**example_rows, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    assert rows["saved_pct"].null_count() == 0
    assert rows["saved_pct_low"].null_count() == rows["saved_pct_high"].null_count() == rows.height


def test_where_no_page_counts_it_says_why(build_study, example_rows) -> None:
    visits = [{**row, "quality": ["partial"]} for row in example_rows["visits"] if row["status"] == "ok"]
    with open_database(build_study({**example_rows, "visits": visits}, Parameters())) as connection:
        rows = ladder(connection)
    assert rows.select("counts", "rung", "total", "pages").rows() == [
        ("TLS connections", None, None, 0),
        ("DNS lookups", None, None, 0),
    ]
    assert all(
        f": none of {len(visits)} pages; left out: {len(visits)} recorded in part" in one for one in rests_on(rows)
    )
    one = visits[:1]
    with open_database(build_study({**example_rows, "visits": one}, Parameters())) as connection:
        assert "TLS connections: no totals, as the page was recorded in part" in rests_on(ladder(connection))


def test_what_is_no_range_is_one_rung(build_study, example_rows) -> None:
    """One page, one connection: whatever the recorder left out, browsers need one."""
    visits = [{**example_rows["visits"][0], "visit_id": "one"}]
    requests = [{**example_rows["requests"][0], "visit_id": "one"}]
    connections = [{**example_rows["connections"][0], "visit_id": "one"}]
    rows = {**example_rows, "visits": visits, "requests": requests, "connections": connections, "dns_queries": []}
    with open_database(build_study(rows, Parameters())) as connection:
        rungs = ladder(connection).filter(counts="TLS connections")
    assert rungs["rung"].to_list()[2:4] == ["Chromium with servers as they are", "Firefox with servers as they are"]
    assert set(rungs["total"]) == {1}
