"""The table of load times: what a recording lacks for it is named, and none is modelled where connections hide."""

import polars as pl
import pytest
from model_tables import model_table

from originset.data.schema.study_tables import TABLES
from originset.models.parameters import Parameters


def page_load_times(tables, parameters, batches=1):
    return model_table("page_load_times", tables, parameters, batches, browsers=False)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("truncated", "in a file that was cut off"),
        ("proxied", "recorded through a proxy"),
        ("preserved_log", "recorded with connections that were open before the page"),
        ("network_changed", "recorded while the network changed"),
    ],
)
def test_what_a_recording_lacks_is_named(make_tables, example_rows, limit, reason) -> None:
    visits = [{**row, "quality": ["cached", limit]} for row in example_rows["visits"]]
    table = page_load_times(make_tables({**example_rows, "visits": visits}), Parameters())
    assert table["left_out_reason"].value_counts().sort("count").rows() == [("failed", 1), (reason, 5)]


def test_table(make_tables, example_rows) -> None:
    """Page a, and one request more, which waits long for a connection to an AS that the page knows by then."""
    late = {"visit_id": "a", "request_id": 10, "scheme": "https", "host": "late.other.net", "port": 443, "status": 200,
            "connection_id": 9, "server_ip": "104.16.0.3", "started_ms": 120.0, "dns_ms": 100.0, "connect_ms": 100.0,
            "wait_ms": 180.0}  # fmt: skip
    rows = {
        **example_rows,
        "requests": [*example_rows["requests"], late],
        "addresses": [*example_rows["addresses"], {"ip": "104.16.0.3", "asn": 13335}],
    }
    table = page_load_times(make_tables(rows), Parameters(provider_asns=(13335,)))
    assert table.schema == TABLES["page_load_times"].polars_schema
    assert {visit: reason for visit, *_, reason in table.iter_rows()} == {
        "a": None, "b": "without a load event", "c": None, "d": "without a load event", "e": "failed",
        "f": "without a load event",
    }  # fmt: skip
    # fonts.g.test is the only one of its AS, starts as before and ends at 40 + 460 = 500: the page waits for it.
    # late.other.net ended at 500 too. It loses its 200. Its predecessor by time is the request with the last first byte
    # before 120: fonts.g.test at 40 + 60 = 100, which saved nothing.
    assert table.row(by_predicate=pl.col("visit_id") == "a") == ("a", *[500.0] * 7, None)
    # Without fonts.g.test it starts after request 9 (first byte at 90), and that one after cdn.other.net (80), whose 50
    # are saved in both models, as its handshake went to the address of static.example.com.
    fewer = {**rows, "requests": [row for row in rows["requests"] if row["host"] != "fonts.g.test"]}
    table = page_load_times(make_tables(fewer), Parameters())
    assert table.row(by_predicate=pl.col("visit_id") == "a") == (
        "a",
        500.0,
        450.0,
        250.0,
        None,
        450.0,
        250.0,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("truncated", "in a file that was cut off"),
        ("partial", "recorded in part"),
        ("proxied", "recorded through a proxy"),
        ("warm_start", "recorded with connections that were open before the page"),
        ("preserved_log", "recorded with connections that were open before the page"),
        ("unread_events", "with events of the browser's log that cannot be read"),
        ("cached_hosts", "with hosts answered from the cache alone"),
    ],
)
def test_no_time_is_modelled_of_a_recording_that_hides_connections(make_tables, example_rows, limit, reason) -> None:
    visits = [{**row, "quality": [limit]} if row["visit_id"] == "a" else row for row in example_rows["visits"]]
    table = page_load_times(make_tables({**example_rows, "visits": visits}), Parameters())
    assert table.row(by_predicate=pl.col("visit_id") == "a") == ("a", 500.0, *[None] * 6, reason)
