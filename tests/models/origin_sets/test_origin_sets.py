"""ORIGIN sets of a small study, by hand."""

import duckdb
import polars as pl
import pytest
from model_tables import model_table

from originset.models.parameters import Parameters
from originset.models.runner.definitions import macros, models
from originset.models.runner.runner import batch_rows

pytestmark = pytest.mark.slow


def origin_sets(tables):
    return model_table("origin_sets", tables, Parameters(), browsers=False).rows(named=True)


def test_origin_set(example_tables) -> None:
    rows = [row for row in origin_sets(example_tables) if row["site"] == "example.com"]
    keys = ("host", "level", "covered_by_certificate", "misdirected", "requests", "visits", "seen_share")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        # Covered by *.example.com, which www presents, but at an address of its own: one owner, different machines.
        ("assets.example.com", 1, True, False, 1, 1, 0.5),
        ("cdn.other.net", 0, False, False, 3, 2, 1.0),
        # On the document's connection in visit b: seen to work, although its certificate does not say so.
        ("img.other.net", 5, False, False, 1, 1, 0.5),
        ("static.example.com", 1, True, True, 2, 2, 1.0),
        # One of its three requests has no address, so nobody knows where it went.
        ("www.example.com", 5, True, False, 2, 2, 1.0),
    ]
    assert {(row["server"], row["port"], row["asn"]) for row in rows} == {("www.example.com", 443, 13335)}


def test_coverage_is_open_where_the_certificate_is_not_known(example_tables) -> None:
    rows = [row for row in origin_sets(example_tables) if row["site"] == "shop.test"]
    assert [(row["host"], row["covered_by_certificate"], row["asn"]) for row in rows] == [
        ("www.shop.test", None, 15169)
    ]


def test_the_port_of_most_visits(make_tables, example_rows) -> None:
    requests = [
        {**row, "port": 8443} if (row["visit_id"], row["host"]) == ("b", "static.example.com") else row
        for row in example_rows["requests"]
    ]
    rows = origin_sets(make_tables({**example_rows, "requests": requests}))
    assert [row["port"] for row in rows if row["host"] == "static.example.com"] == [443]


@pytest.mark.parametrize("browsers", [True, False])
def test_what_announcing_is_worth(example_tables, browsers) -> None:
    """A server's own connection is what others save theirs for; what its certificate lacks, clients leave out."""
    model = models()["origin_sets"]
    rows = batch_rows(example_tables, model.reads)
    hosts = rows["site_server_hosts"].select("site", "server", "host")
    rows["site_host_savings"] = hosts.with_columns(connections_saved_firefox=pl.lit(3, pl.Int64))
    with duckdb.connect() as connection:
        connection.execute(macros())
        connection.execute(f"SET VARIABLE browsers = {browsers}")
        for name, frame in rows.items():
            connection.register(name, frame.to_arrow())
        found = connection.sql(model.sql).pl()
    worth = dict(found.select("host", "connections_saved_firefox").iter_rows())
    assert worth == (
        {
            "www.example.com": 0,
            "static.example.com": 3,
            "assets.example.com": 3,
            "cdn.other.net": 0,
            "img.other.net": 0,
            # Nobody knows whether its certificate covers it; but it is the server itself.
            "www.shop.test": 0,
        }
        if browsers
        else dict.fromkeys(worth)
    )
