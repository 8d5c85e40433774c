"""Captures to tables: every row of a small one, and what happens when captures change, break or go."""

import base64
import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from rich.progress import Progress

from originset.analysis.captures.capture_import import read_captures
from originset.data.captures.capture import Connection, DnsQuery, Extension, Visit, capture_path, write_capture
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import scan, shard_paths
from originset.data.studies.study import Study

DER = b"no certificate, but bytes"
LEAF = hashlib.sha256(DER).hexdigest()


def har_entry(url: str, millisecond: int, **more: Any) -> dict[str, Any]:
    return {
        "pageref": "page_1",
        "startedDateTime": f"2026-11-21T04:00:00.{millisecond:03}000Z",
        "request": {"method": "GET", "url": url, "httpVersion": "h2"},
        "response": {"status": 200, "httpVersion": "h2", "content": {"mimeType": "text/html"}, "_transferSize": 100},
        "timings": {"blocked": 1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 1, "receive": 1},
        **more,
    }


def write(study: Study, visit_id: str, site: str = "a.test", **visit: Any) -> Path:
    log = {
        "version": "1.2",
        "creator": {"name": "originset", "version": "0.1.0"},
        "pages": [{"id": "page_1", "startedDateTime": "2026-11-21T04:00:00.000000Z", "title": "", "pageTimings": {}}],
        "entries": [
            har_entry(f"https://{site}/", 0, connection="11", serverIPAddress="192.0.2.1", _resourceType="document"),
            har_entry(
                f"https://cdn.{site}/f.woff2",
                20,
                connection="12",
                serverIPAddress="192.0.2.2",
                _initiatorIndex=0,
                _frameUrl=f"https://www.{site}/",
            ),
            har_entry(
                f"https://{site}/c.png", 30, _fromCache="disk", _initiator={"type": "parser", "url": f"https://{site}/"}
            ),
        ],
    }
    facts = {
        "rank": 3,
        "status": "ok",
        "third_party_cookies": "allowed",
        "load_ms": 88.5,
        "quality": ["challenge"],
        **visit,
    }
    extension = Extension(
        visit=Visit(
            visit_id=visit_id,
            site=site,
            url=f"https://{site}/?token=abc",
            final_url=f"https://{site}/",
            started_at="2026-11-21T04:00:00.000000Z",
            **facts,
        ),
        connections=[
            Connection(
                id=11,
                first_host=site,
                server_ip="192.0.2.1",
                port=443,
                protocol="h2",
                tls=True,
                tls_version="TLS 1.3",
                resumed=False,
                chain=[LEAF, "issuer"],
                opened_ms=1.0,
                established_ms=9.5,
                used=True,
                privacy_mode="disabled",
                origin_set=["https://b.test"],
            ),
            Connection(id=12, first_host=f"cdn.{site}", tls=True, used=True, privacy_mode="enabled"),
            Connection(id=13, first_host="spare.test", tls=True, privacy_mode="disabled"),
        ],
        dns=[
            DnsQuery(
                lookup_id=1, host=site.upper() + ".", rtype="A", status="NOERROR", answers=["192.0.2.1"], attempts=1
            )
        ],
        certificates={LEAF: base64.b64encode(DER).decode()},
    )
    return write_capture(study.captures, log, extension)


def read(study: Study, suffix_list: Path | None = None) -> dict[str, int]:
    with study.changing("analyze", {}), Progress(disable=True) as progress:
        return read_captures(study, progress, suffix_list)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study(tmp_path / "study")
    study.create()
    return study


def test_every_table_of_a_capture(study):
    write(study, "ab00000000000001")
    assert read(study) == {"captures_read": 1, "captures_unchanged": 0, "captures_refused": 0}
    visit = scan(study, "visits").collect().row(0, named=True)
    expected = {
        "visit_id": "ab00000000000001",
        "site": "a.test",
        "rank": 3,
        "url": "https://a.test/?token=REDACTED",
        "started_at": datetime.fromisoformat("2026-11-21 04:00:00"),
        "source": "crawl",
        "source_sha256": None,
        "recorder": "originset",
        "recorder_version": "0.1.0",
        "round": 1,
        "page_kind": "landing",
        "quality": ["challenge"],
        "load_ms": 88.5,
    }
    assert {name: visit[name] for name in expected} == expected

    requests = scan(study, "requests").collect()
    assert requests.select(
        "request_id",
        "host",
        "connection_id",
        "connection_source",
        "initiator_id",
        "from_cache",
        "credentials",
        "frame_site",
    ).rows() == [
        (0, "a.test", 11, "netlog", None, False, "include", None),
        (1, "cdn.a.test", 12, "netlog", 0, False, "omit", "a.test"),
        (2, "a.test", None, None, 0, True, "unknown", None),
    ]
    assert requests["started_ms"].to_list() == [0.0, 20.0, 30.0]

    connections = scan(study, "connections").collect()
    assert connections.select(
        "connection_id", "hosts", "used", "tls", "certificate_id", "origin_set", "source"
    ).rows() == [
        (11, ["a.test"], True, True, LEAF, ["https://b.test"], "netlog"),
        (12, ["cdn.a.test"], True, True, None, None, "netlog"),
        (13, [], False, True, None, None, "netlog"),
    ]
    assert connections.row(0, named=True)["established_ms"] == 9.5

    query = scan(study, "dns_queries").collect().row(0, named=True)
    assert (query["host"], query["answers"], query["attempts"], query["source"]) == (
        "a.test",
        ["192.0.2.1"],
        1,
        "browser",
    )

    certificate = scan(study, "certificates").collect().row(0, named=True)
    assert (certificate["certificate_id"], certificate["chain"]) == (LEAF, [LEAF, "issuer"])
    assert certificate["problem"].startswith("certificate:")


def test_columns_are_those_of_the_schema(study):
    write(study, "ab00000000000001")
    read(study)
    for table in ("visits", "requests", "connections", "dns_queries", "certificates", "certificate_names", "rejects"):
        (path,) = shard_paths(study, table)
        assert pl.read_parquet_schema(path) == TABLES[table].polars_schema


def test_what_was_read_is_not_read_again_until_it_changes(study):
    for visit in ("ab00000000000001", "ab00000000000002", "cd00000000000001"):
        write(study, visit)
    assert read(study)["captures_read"] == 3
    assert read(study) == {"captures_read": 0, "captures_unchanged": 3, "captures_refused": 0}
    # Crawled again: its folder's shard is made anew, and its old rows are gone.
    again = write(study, "cd00000000000001", site="again.test")
    os.utime(again, (datetime.now(UTC).timestamp() + 5,) * 2)
    assert read(study) == {"captures_read": 1, "captures_unchanged": 2, "captures_refused": 0}
    visits = scan(study, "visits").collect()
    assert sorted(visits["visit_id"]) == ["ab00000000000001", "ab00000000000002", "cd00000000000001"]
    assert visits.filter(pl.col("visit_id") == "cd00000000000001")["site"].to_list() == ["again.test"]


def test_captures_that_are_gone_take_their_rows_along(study):
    write(study, "ab00000000000001")
    write(study, "cd00000000000001")
    read(study)
    path = capture_path(study.captures, "cd00000000000001")
    path.unlink()
    path.parent.rmdir()
    read(study)
    assert scan(study, "visits").collect()["visit_id"].to_list() == ["ab00000000000001"]
    assert scan(study, "requests").collect()["visit_id"].unique().to_list() == ["ab00000000000001"]


@pytest.mark.promise("captures-are-bounded")
def test_damaged_captures_are_rejects_and_the_others_are_read(study):
    write(study, "ab00000000000001")
    cut = write(study, "ab00000000000002")
    cut.write_bytes(cut.read_bytes()[:-20])
    assert read(study) == {"captures_read": 1, "captures_unchanged": 0, "captures_refused": 1}
    assert scan(study, "rejects").select("source", "reason").collect().rows() == [
        ("captures/ab/ab00000000000002.har.zst", "unreadable")
    ]
    write(study, "ab00000000000002")
    assert read(study)["captures_refused"] == 0
    assert scan(study, "rejects").collect().is_empty()


def test_a_capture_of_a_later_version_or_none_is_a_reject(study):
    path = write(study, "ab00000000000001")
    text = json.loads(zstandard.decompress(path.read_bytes()))
    for version, reason in ((None, "not-capture"), (99, "version")):
        if version is None:
            extension = text["log"].pop("_originset")
        else:
            text["log"]["_originset"] = {**extension, "version": version}
        path.write_bytes(zstandard.compress(json.dumps(text).encode()))
        assert read(study)["captures_refused"] == 1
        assert scan(study, "rejects").collect()["reason"].to_list() == [reason]


def test_certificates_that_are_not_what_their_ids_say(study):
    path = write(study, "ab00000000000001")
    text = json.loads(zstandard.decompress(path.read_bytes()))
    other = hashlib.sha256(b"another").hexdigest()
    text["log"]["_originset"]["certificates"] = {LEAF: "no base64", other: base64.b64encode(DER).decode()}
    path.write_bytes(zstandard.compress(json.dumps(text).encode()))
    read(study)
    rows = scan(study, "certificates").sort("problem").select("certificate_id", "problem").collect().rows()
    assert rows[0] == (LEAF, "not base64")
    assert rows[1][0] == other
    assert rows[1][1].startswith("recorded under an id that is not its SHA-256; ")


def test_blocked_cookies_do_not_tell_what_was_asked_for(study):
    write(study, "ab00000000000001", third_party_cookies="blocked")
    read(study)
    assert scan(study, "requests").collect()["credentials"].to_list() == ["include", "unknown", "unknown"]


def test_a_visit_that_failed_is_a_row_without_requests(study):
    extension = Extension(
        visit=Visit(
            visit_id="ab00000000000009",
            site="gone.test",
            url="https://gone.test/",
            started_at="2026-11-21T04:00:00Z",
            status="failed",
            error="dns",
            error_code="net::ERR_NAME_NOT_RESOLVED",
        )
    )
    write_capture(
        study.captures, {"version": "1.2", "creator": {"name": "originset"}, "pages": [], "entries": []}, extension
    )
    read(study)
    assert scan(study, "visits").select("status", "error").collect().rows() == [("failed", "dns")]
    assert scan(study, "requests").collect().is_empty()


def test_sites_of_frames_by_the_suffix_list_that_is_asked_for(study, tmp_path):
    write(study, "ab00000000000001")
    read(study)
    suffixes = tmp_path / "list.dat"
    suffixes.write_text("// ===BEGIN ICANN DOMAINS===\ntest\na.test\n// ===END ICANN DOMAINS===\n")
    assert read(study, suffixes)["captures_read"] == 1
    assert scan(study, "requests").collect()["frame_site"].to_list() == [None, "www.a.test", None]
    suffixes.write_text("// ===BEGIN ICANN DOMAINS===\ntest\n// ===END ICANN DOMAINS===\n")
    assert read(study, suffixes)["captures_read"] == 1
    assert read(study, suffixes)["captures_unchanged"] == 1
