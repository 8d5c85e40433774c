"""What a study lacks and can be asked for, and what becomes of the answers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from example_study import connection_row, request_row, tables_of

from originset.analysis.resolution.live_answers import LiveHandshake, merge_answers, missing_answers, store_answers
from originset.data.captures.capture import DnsQuery
from originset.data.studies.shards import LIVE, scan, write_shard
from originset.data.studies.study import Study

HOME = "104.16.0.1"
STARTED = datetime(2026, 11, 1)  # noqa: DTZ001 - the schema's timestamps are UTC without a zone
BEGAN = datetime(2026, 11, 21, tzinfo=UTC)
ROWS = {
    "visits": [{"visit_id": "v", "started_at": STARTED}, {"visit_id": "w"}],
    "requests": [
        request_row("v", 0, "known.test", HOME, 1),
        request_row("v", 1, "bare.test", HOME, 2),
        request_row("v", 2, "unnamed.test", HOME, 3),
        request_row("v", 3, "plain.test", HOME, None, scheme="http"),
        request_row("v", 4, "cached.test", None, None, from_cache=True),
        request_row("v", 5, "never.test", None, None, status=None),
        request_row("v", 6, HOME, HOME, 4),
        request_row("w", 0, "bare.test", None, None),
    ],
    "connections": [
        connection_row("v", 1, "known.test", "known", server_ip=HOME, port=443),
        connection_row("v", 2, "bare.test", None, server_ip=HOME, port=443),
        connection_row("v", 3, "unnamed.test", "unnamed", server_ip=HOME),
        connection_row("v", 4, HOME, "known", server_ip=HOME),
        connection_row("v", 5, "failed.test", None, server_ip=HOME, tls=False),
    ],
    "certificates": [{"certificate_id": "known", "san_count": 1}, {"certificate_id": "unnamed"}],
    "dns_queries": [{"visit_id": "v", "lookup_id": 7, "host": "known.test", "rtype": "A", "source": "browser"}],
}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "S")
    for name, frame in tables_of(ROWS).items():
        write_shard(made, name, "x", frame.collect())
    return made


def shown(host: str, recorded_ip: str | None, *, asked: bool = True) -> LiveHandshake:
    return LiveHandshake(host, HOME, 443, recorded_ip is not None, recorded_ip, None, None, None, None,
                 BEGAN if asked else None, "not trusted" if asked else "not contacted")  # fmt: skip


def test_what_is_lacking(study: Study) -> None:
    found = missing_answers(study)
    assert found.names.rows() == [("v", "bare.test"), ("v", "unnamed.test"), ("w", "bare.test")]
    assert found.places.rows() == [
        ("v", "bare.test", HOME, 443),
        ("v", "unnamed.test", HOME, 443),
        ("w", "bare.test", None, 443),
    ]
    assert found.hosts == ["bare.test", "unnamed.test"]


def test_answers_go_to_the_visits_that_lack_them(study: Study) -> None:
    query = DnsQuery(lookup_id=1, host="bare.test", rtype="A", source="live", answers=[HOME], asked_ms=5.0)
    counts = store_answers(
        study, missing_answers(study), BEGAN, [query], [shown("bare.test", HOME), shown("bare.test", None)]
    )
    assert counts == {"names": 1, "handshakes": 2, "certificates": 0, "not_contacted": 0}
    live = scan(study, "dns_queries").filter(pl.col("source") == "live").sort("visit_id").collect()
    # The recording's age; not known where the recording does not say when it began.
    assert live["asked_ms"].to_list() == [20 * 86_400_000 + 5.0, None]
    assert live["lookup_id"].to_list()[0] > 7, "no number of the browser's own"
    handshakes = scan(study, "live_handshakes").sort("visit_id").collect()
    assert handshakes.select("visit_id", "recorded").rows() == [("v", True), ("w", False)]
    assert missing_answers(study).hosts == ["unnamed.test"]
    assert missing_answers(study, again=True).hosts == ["bare.test", "unnamed.test"]


def test_what_was_refused_can_be_allowed(study: Study) -> None:
    store_answers(study, missing_answers(study), BEGAN, [], [shown("bare.test", HOME, asked=False)])
    assert ("v", "bare.test") not in missing_answers(study).places.select("visit_id", "host").rows()
    assert ("v", "bare.test") in missing_answers(study, refused_too=True).places.select("visit_id", "host").rows()


def test_later_answers_replace_earlier_ones(study: Study) -> None:
    for _ in range(2):
        query = DnsQuery(lookup_id=1, host="bare.test", rtype="A", source="live")
        store_answers(study, missing_answers(study, again=True), BEGAN, [query], [shown("bare.test", HOME)])
    assert pl.read_parquet(study.tables / "dns_queries" / f"{LIVE}.parquet").height == 2
    assert scan(study, "live_handshakes").collect().height == 1


def test_a_merge_keeps_what_was_asked_for(study: Study, tmp_path: Path) -> None:
    store_answers(study, missing_answers(study), BEGAN, [], [shown("bare.test", HOME)])
    other = Study(tmp_path / "other")
    for _ in range(2):
        merge_answers(other, study)
    assert scan(other, "live_handshakes").collect().equals(scan(study, "live_handshakes").collect())
