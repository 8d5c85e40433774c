"""HARs that real recorders wrote of sites of the testbed, against what its servers saw at the same time.

``tests/fixtures/hars/README.md`` says how each was recorded. ``golden.json`` has the rows that one file of each
recorder must become, ``servers_saw.json`` the connections and requests of every recording.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from originset.analysis.captures.capture_tables import CaptureBatch
from originset.analysis.har.tables import HarBatch

pytestmark = pytest.mark.slow

HARS = Path(__file__).resolve().parents[2] / "fixtures" / "hars"
FILES = sorted(HARS.glob("*/*.har"))
RECORDERS = sorted(path.parent.name for path in HARS.glob("*/golden.json"))
LEAVES_OUT = {name: json.loads((HARS / name / "golden.json").read_bytes()).get("leaves_out", ()) for name in RECORDERS}
WITHOUT_IDS = {name for name, left_out in LEAVES_OUT.items() if "connections" in left_out}
# What limits a recording; none of these may be said of one that it is not true of.
LIMITS = {"cached", "warm_sockets", "proxied", "no_addresses", "no_connection_ids", "no_times"}
# They follow one target only: frames that Chromium isolates in processes of their own are not in their HARs.
ONE_TARGET = {name for name, left_out in LEAVES_OUT.items() if "frames" in left_out}


def tables_of(path: Path) -> dict[str, pl.DataFrame]:
    if path.parent.name == "originset":
        captures = CaptureBatch()
        captures.add(path.read_bytes(), path.name)
        return captures.tables()
    hars = HarBatch()
    hars.add(path.read_bytes(), path.name, "0" * 64)
    return hars.tables()


def servers_saw(path: Path) -> list[dict[str, Any]]:
    saw: list[dict[str, Any]] = json.loads((path.parent / "servers_saw.json").read_bytes())[path.name]
    return saw


def of_the_network(requests: pl.DataFrame) -> pl.DataFrame:
    return requests.filter(
        pl.col("scheme").is_in(["http", "https"]),
        pl.col("status").is_not_null(),
        ~pl.col("from_cache").fill_null(value=False),
    )


def recordings(*recorders: str) -> pytest.MarkDecorator:
    """Run a test once for each of the files, by default all."""
    chosen = [path for path in FILES if path.parent.name in (recorders or RECORDERS)]
    return pytest.mark.parametrize("path", chosen, ids=[f"{path.parent.name}/{path.stem}" for path in chosen])


def test_there_is_a_golden_file_for_every_recorder_and_there_are_enough_recordings():
    assert set(RECORDERS) == {path.parent.name for path in FILES}
    assert len(RECORDERS) >= 4
    assert len(FILES) >= 20


@pytest.mark.parametrize("recorder", RECORDERS)
def test_golden_visits(recorder):
    golden = json.loads((HARS / recorder / "golden.json").read_bytes())
    visits = tables_of(HARS / recorder / golden["file"])["visits"]
    rows = visits.select(golden["visit_columns"]).rows(named=True)
    assert len(rows) == len(golden["visits"])
    for row, values in zip(rows, golden["visits"], strict=True):
        expected = dict(zip(golden["visit_columns"], values, strict=True))
        assert LIMITS.intersection(row.pop("quality")) == set(expected.pop("quality"))
        assert_alike(row, expected)


@pytest.mark.parametrize("recorder", RECORDERS)
def test_golden_requests(recorder):
    golden = json.loads((HARS / recorder / "golden.json").read_bytes())
    tables = tables_of(HARS / recorder / golden["file"])
    pages = {visit: page for page, visit in enumerate(tables["visits"]["visit_id"])}
    columns = golden["request_columns"]
    requests = tables["requests"].with_columns(
        pl.col("visit_id").replace_strict(pages).alias("page"),
        connection=pl.struct("visit_id", "connection_id"),
    )
    names: dict[tuple[str, int], int] = {}  # the recorder's ids, as the golden file numbers them
    for row, values in zip(requests.select(columns).rows(named=True), golden["requests"], strict=True):
        expected = dict(zip(columns, values, strict=True))
        connection, number = row.pop("connection"), expected.pop("connection")
        assert (connection["connection_id"] is None) == (number is None)
        if number is not None:
            assert names.setdefault((connection["visit_id"], connection["connection_id"]), number) == number
        assert_alike(row, expected)
    assert len(set(names.values())) == len(names)
    if recorder not in WITHOUT_IDS:
        assert len(names) == golden["servers_saw"]["connections"] == tables["connections"].filter("used").height
    assert of_the_network(tables["requests"]).height == golden["servers_saw"]["requests"]


def assert_alike(row: dict[str, Any], expected: dict[str, Any]) -> None:
    """Times of golden files are whole milliseconds."""
    for name, value in expected.items():
        if name.endswith("_ms") and value is not None:
            assert row[name] == pytest.approx(value, abs=0.5), name
        else:
            assert row[name] == value, name


@recordings()
def test_every_entry_becomes_a_row_of_the_recorder_that_wrote_it(path):
    log = json.loads(path.read_bytes())["log"]
    tables = tables_of(path)
    recorder = path.parent.name
    assert tables["visits"]["recorder"].unique().to_list() == [recorder]
    assert tables["visits"].height == max(len(log.get("pages", [])), 1)
    assert set(tables["visits"]["status"]) == {"ok"}
    assert Counter(tables["requests"]["url"]) == Counter(entry["request"]["url"] for entry in log["entries"])


@recordings()
def test_what_a_recorder_cannot_know_is_null(path):
    tables = tables_of(path)
    requests, recorder = tables["requests"], path.parent.name
    unanswered = requests.filter(pl.col("status").is_null())
    assert unanswered["protocol"].null_count() == unanswered.height
    assert unanswered["server_ip"].null_count() == unanswered.height
    inline = requests.filter(pl.col("scheme") == "data").select("server_ip", "host", "port", "protocol", "from_cache")
    assert set(inline.rows()) <= {(None,) * 5}
    if recorder == "originset":
        return
    assert set(requests["credentials"]) == {"unknown"}
    assert False not in set(requests["from_cache"])
    if recorder in WITHOUT_IDS:
        assert requests["connection_id"].null_count() == requests.height
        assert requests["connection_source"].null_count() == requests.height
        assert tables["connections"].is_empty()
        assert all("no_connection_ids" in quality for quality in tables["visits"]["quality"])
    else:
        assert tables["connections"]["certificate_id"].null_count() == tables["connections"].height
    assert tables["certificates"]["san_count"].null_count() == tables["certificates"].height


@recordings()
def test_requests_of_the_network_are_those_that_the_servers_answered(path):
    saw = Counter(request for connection in servers_saw(path) for request in connection["requests"])
    # Browsers ask again on another connection after 421 and report the second answer alone.
    saw = Counter({request: count for request, count in saw.items() if not request.startswith("421 ")})
    reported = of_the_network(tables_of(path)["requests"]).select("status", "url").rows()
    got = Counter(f"{status} {url}" for status, url in reported)
    if path.parent.name in ONE_TARGET:
        assert got <= saw
    else:
        assert got == saw


@recordings()
def test_addresses_and_protocols_are_those_of_the_connection(path):
    seen = {
        request: (connection["server"], connection["protocol"])
        for connection in servers_saw(path)
        for request in connection["requests"]
    }
    requests = of_the_network(tables_of(path)["requests"])
    for status, url, server, protocol in requests.select("status", "url", "server_ip", "protocol").rows():
        expected_server, expected_protocol = seen[f"{status} {url}"]
        assert server == (None if path.stem == "shop-minimal" else expected_server)
        assert protocol == expected_protocol


@recordings(*(recorder for recorder in RECORDERS if recorder not in WITHOUT_IDS))
def test_requests_share_a_connection_where_they_did(path):
    requests = of_the_network(tables_of(path)["requests"])
    assert requests["connection_id"].null_count() == 0
    shared = requests.group_by("visit_id", "connection_id").agg(pl.format("{} {}", "status", "url").alias("requests"))
    reported = sorted(sorted(group) for group in shared["requests"])
    carried = sorted(
        answered
        for connection in servers_saw(path)
        if (answered := sorted(request for request in connection["requests"] if not request.startswith("421 ")))
    )
    if path.parent.name not in ONE_TARGET:
        assert reported == carried
        return
    for group in sorted(reported, key=len, reverse=True):
        carried.remove(next(requests for requests in carried if Counter(group) <= Counter(requests)))


@recordings()
def test_connect_contains_tls(path):
    secure = tables_of(path)["requests"].filter(pl.col("ssl_ms").is_not_null())
    assert secure.filter(pl.col("connect_ms").is_null() | (pl.col("connect_ms") < pl.col("ssl_ms"))).is_empty()


@pytest.mark.parametrize(
    ("recording", "limits"),
    [
        ("chrome-devtools/shop-warm-reload", {"cached", "warm_sockets"}),
        ("chrome-har/shop-warm-revisit", {"warm_sockets"}),  # it leaves out what came from the cache
        ("firefox/shop-warm-revisit", {"cached", "no_connection_ids"}),
        ("playwright/shop-cold-then-reload", {"cached", "no_connection_ids"}),
        ("playwright/shop-minimal", {"no_addresses", "no_connection_ids"}),
        ("chrome-devtools/shop-cold-sanitised", set()),
        ("originset/shop-cold", set()),
    ],
)
def test_limits_of_a_recording_are_named(recording, limits):
    (quality,) = tables_of(HARS / f"{recording}.har")["visits"]["quality"]
    assert LIMITS.intersection(quality) == limits


def test_sanitising_takes_cookies_from_the_har_and_nothing_from_the_tables():
    sanitised, sensitive = (HARS / "chrome-devtools" / f"shop-cold-{kind}.har" for kind in ("sanitised", "sensitive"))
    assert b"planted-cookie" in sensitive.read_bytes()
    assert b"planted-cookie" not in sanitised.read_bytes()
    tables = tables_of(sensitive)
    assert "planted-cookie" not in str([rows.rows() for rows in tables.values()])
    assert tables["requests"].drop("visit_id").equals(tables_of(sanitised)["requests"].drop("visit_id"))


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent.name != "originset"], ids=lambda path: path.stem
)
def test_it_matters_not_where_the_recorder_gives_its_name(path):
    log = json.loads(path.read_bytes())["log"]
    creator = log.pop("creator")
    first, last = HarBatch(), HarBatch()
    first.add(json.dumps({"log": {"creator": creator, **log}}).encode(), path.name, "0" * 64)
    last.add(json.dumps({"log": {**log, "creator": creator}}).encode(), path.name, "0" * 64)
    for name, rows in last.tables().items():
        assert rows.equals(first.tables()[name])
