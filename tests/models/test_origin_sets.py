"""ORIGIN sets of a small study, by hand."""

from originset.models.fill import model_tables
from originset.models.parameters import Parameters


def origin_sets(tables):
    return model_tables(tables, Parameters(), browsers=False)["origin_sets"].rows(named=True)


def test_origin_set(example_tables) -> None:
    rows = [row for row in origin_sets(example_tables) if row["site"] == "example.com"]
    keys = ("host", "level", "covered_by_certificate", "misdirected", "requests", "visits", "seen_share")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        # Covered by *.example.com, which also covers www.
        ("assets.example.com", 3, True, False, 1, 1, 0.5),
        ("cdn.other.net", 0, False, False, 3, 2, 1.0),
        # On the document's connection in visit b: seen to work, although its certificate does not say so.
        ("img.other.net", 5, False, False, 1, 1, 0.5),
        ("static.example.com", 3, True, True, 2, 2, 1.0),
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
