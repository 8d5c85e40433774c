"""What was asked for since stands in for what a recording lacks, never for what it has, and is marked."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest
from example_study import connection_row, request_row
from model_tables import model_table

from originset.models.parameters import Parameters
from originset.models.runner.runner import batch_rows

pytestmark = pytest.mark.slow

HOME, AWAY = "104.16.0.1", "104.16.0.2"
AT = datetime(2026, 11, 21)  # noqa: DTZ001 - the schema's timestamps are UTC without a zone
_PLACE = {"port": 443, "recorded": True, "asked_at": AT}


def handshake(host: str, address: str, certificate: str | None, **more: object) -> dict:
    return {"visit_id": "v", "host": host, "server_ip": address, "certificate_id": certificate, **_PLACE, **more}


def lookup(host: str, source: str, *answers: str) -> dict:
    times = {"asked_ms": 9e9, "took_ms": 1.0}
    return {"visit_id": "v", "lookup_id": 1, "host": host, "rtype": "A", "source": source, "answers": answers, **times}


ROWS = {
    "visits": [{"visit_id": "v", "site": "www.a.test", "status": "ok", "browser": "chromium"}],
    "requests": [
        request_row("v", 0, "www.a.test", HOME, 1, resource_type="document", credentials="include"),
        request_row("v", 1, "img.a.test", HOME, 2, resource_type="image", credentials="include"),
        request_row("v", 2, "old.a.test", AWAY, 3, resource_type="image", credentials="include"),
    ],
    "connections": [
        connection_row("v", 1, "www.a.test", None, server_ip=HOME, established_ms=1.0, opened_ms=0.0),
        connection_row("v", 2, "img.a.test", "unnamed", server_ip=HOME, opened_ms=50.0),
        connection_row("v", 3, "old.a.test", "recorded", server_ip=AWAY, opened_ms=60.0),
    ],
    "certificates": [
        {"certificate_id": "unnamed"},
        {"certificate_id": "recorded", "san_count": 1},
        {"certificate_id": "live", "san_count": 1},
    ],
    "certificate_names": [
        {"certificate_id": "live", "name": "*.a.test"},
        {"certificate_id": "recorded", "name": "old.a.test"},
    ],
    "addresses": [{"ip": ip, "asn": 13335, "kind": "public"} for ip in (HOME, AWAY)],
    "hosts": [{"host": f"{one}.a.test", "registrable_domain": "a.test"} for one in ("www", "img", "old")],
    "dns_queries": [
        lookup("img.a.test", "live", HOME),
        lookup("old.a.test", "browser", AWAY),
        lookup("old.a.test", "live", HOME),
    ],
    "live_handshakes": [
        handshake("www.a.test", HOME, "live"),
        handshake("img.a.test", HOME, "live"),
        handshake("old.a.test", AWAY, "live"),
        handshake("www.a.test", AWAY, "recorded", recorded=False),
    ],
}


def known(tables: dict[str, pl.LazyFrame]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The connections and lookups of the page, in a certain order."""
    rows = batch_rows(tables, ["known_connections", "known_lookups"])
    return rows["known_connections"].sort("connection_id"), rows["known_lookups"].sort("host", "source", "rtype")


def test_it_fills_gaps_alone(make_tables) -> None:
    connections, lookups = known(make_tables(ROWS))
    assert connections["certificate_id"].to_list() == ["live", "live", "recorded"]
    assert connections["certificate_is_live"].to_list() == [True, True, False]
    assert lookups.select("host", "source").rows() == [("img.a.test", "live"), ("old.a.test", "browser")]
    # When an answer came long after is nothing that the page waited for.
    assert lookups.select("asked_ms", "took_ms").rows() == [(None, None), (9e9, 1.0)]


def test_a_record_without_an_address_is_no_recorded_answer(make_tables) -> None:
    records = [{**lookup("img.a.test", "browser", 'alpn="h3"'), "rtype": "HTTPS"}]
    _, lookups = known(make_tables({**ROWS, "dns_queries": [*ROWS["dns_queries"], *records]}))
    assert lookups.filter(host="img.a.test")["source"].to_list() == ["browser", "live"]


def test_another_address_proves_nothing(make_tables) -> None:
    moved = [handshake("www.a.test", AWAY, "live"), handshake("www.a.test", HOME, "live", port=8443),
             handshake("www.a.test", HOME, "live", recorded=False), handshake("img.a.test", HOME, None)]  # fmt: skip
    connections, _ = known(make_tables({**ROWS, "live_handshakes": moved}))
    assert connections["certificate_id"].to_list() == [None, "unnamed", "recorded"]
    assert not connections["certificate_is_live"].any()


def test_nothing_asked_changes_nothing(make_tables) -> None:
    queries = [row for row in ROWS["dns_queries"] if row["source"] != "live"]
    tables = make_tables({**ROWS, "live_handshakes": [], "dns_queries": queries})
    connections, lookups = known(tables)
    assert connections.drop("certificate_is_live").equals(tables["connections"].sort("connection_id").collect())
    assert lookups.equals(tables["dns_queries"].collect())


def test_what_rests_on_it_is_marked(make_tables) -> None:
    def causes(rows: dict) -> dict[str, tuple[str, bool]]:
        found = model_table("redundant_connections", make_tables(rows), Parameters())
        return {host: (cause, live) for host, cause, live in found.select("host", "cause", "based_on_live").rows()}

    without = causes({**ROWS, "live_handshakes": [], "dns_queries": ROWS["dns_queries"][1:2]})
    assert without["img.a.test"] == ("NOT_DECIDABLE", False)
    assert not any(live for _, live in without.values())
    after = causes(ROWS)
    assert after["img.a.test"] == ("UNKNOWN", True)
    # Its own certificate and answers are recorded; the one of the connection that it could have used is not.
    assert after["old.a.test"] == ("IP", True)
