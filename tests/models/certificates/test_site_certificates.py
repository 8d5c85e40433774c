"""Certificates and additions of a small study, by hand."""

import polars as pl
import pytest
from model_tables import model_table

from originset.models.parameters import Parameters

pytestmark = pytest.mark.slow

SAVINGS = ("connections_saved_chromium", "connections_saved_chromium_h3", "connections_saved_firefox")


def modelled(tables, name):
    return model_table(name, tables, Parameters(), browsers=False).rows(named=True)


def test_additions(example_tables) -> None:
    """Site example.com: 2 connections for cdn.other.net in visit a, 1 in b; img.other.net came over the document's."""
    unknown = dict.fromkeys(SAVINGS)
    assert modelled(example_tables, "certificate_additions") == [
        {"site": "example.com", "name": "cdn.other.net", "certificate_id": "own", "rank": 1, "level": 0,
         "same_owner": False, "connections_saved_paper": 3, "validatable_by": "nobody_known", "blocked_reason": None}
        | unknown,
        {"site": "example.com", "name": "img.other.net", "certificate_id": "own", "rank": 2, "level": 5,
         "same_owner": False, "connections_saved_paper": 0, "validatable_by": "provider", "blocked_reason": None}
        | unknown,
    ]  # fmt: skip


def test_site_certificates(example_tables) -> None:
    rows = {row.pop("site"): row for row in modelled(example_tables, "site_certificates")}
    assert rows["example.com"] == {
        "certificate_id": "own", "existing_names": 2, "ideal_names": 4, "additions": 2,
        "deployable_additions": 1, "visits": 2, "vantages": 2,
    }  # fmt: skip
    # Its certificate was not recorded, so nobody knows what is missing from it; its vantage has no name.
    assert rows["shop.test"] == {
        "certificate_id": None, "existing_names": None, "ideal_names": None, "additions": None,
        "deployable_additions": None, "visits": 1,
        "vantages": None,
    }  # fmt: skip
    # Neither the visit that failed nor the page that asked for nothing has a document.
    assert set(rows) == {"example.com", "shop.test", "plain.test"}


@pytest.mark.parametrize("recorded", [None, 0])
def test_a_certificate_whose_names_are_not_known(make_tables, example_rows, recorded) -> None:
    """NULL names leave the additions open; a certificate that has none needs every host of the site's AS."""
    rows = {
        **example_rows,
        "certificates": [{"certificate_id": "own", "san_count": recorded}],
        "certificate_names": [],
    }
    tables = make_tables(rows)
    (site,) = [row for row in modelled(tables, "site_certificates") if row["site"] == "example.com"]
    hosts = {"www.example.com", "static.example.com", "assets.example.com", "cdn.other.net", "img.other.net"}
    names = {row["name"] for row in modelled(tables, "certificate_additions")}
    assert (site["existing_names"], site["additions"]) == ((None, None) if recorded is None else (0, 5))
    assert names == (set() if recorded is None else hosts)


@pytest.mark.parametrize(("seen", "chosen"), [("other", "other"), ("zzz", "own")])
def test_of_two_certificates_that_as_many_visits_saw_the_least_id(make_tables, example_rows, seen, chosen) -> None:
    connections = [
        {**row, "certificate_id": seen} if (row["visit_id"], row["connection_id"]) == ("b", 1) else row
        for row in example_rows["connections"]
    ]
    rows = modelled(make_tables({**example_rows, "connections": connections}), "site_certificates")
    assert [row["certificate_id"] for row in rows if row["site"] == "example.com"] == [chosen]


def test_without_the_documents_address_additions_are_not_known(make_tables, example_rows) -> None:
    requests = [
        {**row, "server_ip": None} if row["host"] == "www.example.com" else row for row in example_rows["requests"]
    ]
    rows = modelled(make_tables({**example_rows, "requests": requests}), "site_certificates")
    (site,) = [row for row in rows if row["site"] == "example.com"]
    assert (site["existing_names"], site["additions"], site["ideal_names"]) == (2, None, None)


def test_sum_over_names_is_what_the_ideal_saves(example_tables) -> None:
    """Were every host to be added, the connections saved are those in the document's AS less the document's own."""
    bare = {**example_tables, "certificate_names": example_tables["certificate_names"].head(0)}
    saved = model_table("certificate_additions", bare, Parameters(), browsers=False)["connections_saved_paper"].sum()
    here = (
        example_tables["requests"]
        .filter(pl.col("visit_id").is_in(["a", "b"]), pl.col("server_ip").is_in(["104.16.0.1", "104.16.0.2"]))
        .select("visit_id", "connection_id")
        .drop_nulls()
        .unique()
        .collect()
    )
    assert saved == here.height - 2


def test_addresses_are_not_names(make_tables, example_rows) -> None:
    literal = [
        {**row, "host": "104.16.0.2"} if row["host"] == "cdn.other.net" else row for row in example_rows["requests"]
    ]
    rows = modelled(make_tables({**example_rows, "requests": literal}), "certificate_additions")
    assert [row["name"] for row in rows] == ["img.other.net"]
