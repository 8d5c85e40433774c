"""What is said to limit a recording, on the smallest HARs in which it does, and on recordings of the testbed."""

import json
from pathlib import Path
from typing import Any

import pytest

from originset.analysis.har.tables import HarBatch

HARS = Path(__file__).resolve().parents[2] / "fixtures" / "hars"
OPENED = {"connect": 5, "ssl": 2, "send": 0, "wait": 1, "receive": 1}
REUSED = {"connect": -1, "ssl": -1, "send": 0, "wait": 1, "receive": 1}


def entry(host: str, connection: int | None = None, timings: dict[str, int] = OPENED, **more: Any) -> dict[str, Any]:
    return {
        "startedDateTime": "2024-01-01T00:00:00Z",
        "request": {"method": "GET", "url": f"https://{host}/", "httpVersion": "h2"},
        "response": {"status": 200, "content": {"mimeType": "text/html"}},
        "timings": timings,
        "serverIPAddress": "192.0.2.1",
        **({} if connection is None else {"connection": str(connection)}),
        **more,
    }


def qualities(*entries: dict[str, Any], creator: str = "chrome-har", cut: int = 0, **log: Any) -> list[set[str]]:
    text = json.dumps({"log": {"creator": {"name": creator}, **log, "entries": list(entries)}}).encode()
    batch = HarBatch()
    batch.add(text[: len(text) - cut], "x.har", "0" * 64)
    return [set(words) for words in batch.tables()["visits"]["quality"]]


def quality(*entries: dict[str, Any], **more: Any) -> set[str]:
    (words,) = qualities(*entries, **more)
    return words


def test_nothing_is_wrong_with_a_cold_load():
    assert quality(entry("a.test", 1), entry("a.test", 1, REUSED), entry("b.test", 2)) == set()


def test_warm_connections():
    assert quality(entry("a.test", 1), entry("b.test", 2, REUSED)) == {"warm_sockets"}
    assert quality(entry("a.test", 1, REUSED), entry("b.test", 2)) == {"warm_sockets", "warm_start"}
    # Whether a later use had one says nothing of the first.
    assert "warm_sockets" in quality(entry("a.test", 1), entry("b.test", 2, REUSED), entry("b.test", 2, OPENED))
    # An answer from the cache names a connection that it did not use.
    assert "warm_sockets" not in quality(entry("a.test", 1), entry("a.test", 9, REUSED, _fromCache="disk"))


def test_of_requests_that_wait_for_one_connection_any_may_show_its_connect_phase():
    waiting = {"blocked": 8, "connect": -1, "ssl": -1, "send": 0, "wait": 30, "receive": 1}
    opening = {"blocked": 1, "connect": 6, "ssl": 3, "send": 0, "wait": 40, "receive": 1}
    assert quality(entry("a.test", 1, waiting), entry("a.test", 1, opening)) == set()
    assert quality(entry("a.test", 1), entry("b.test", 2, waiting), entry("b.test", 2, opening)) == set()
    assert "warm_sockets" in quality(
        *({**entry("a.test", 1, timings), "startedDateTime": None} for timings in (waiting, opening))
    )
    # What was answered before the connect phase ended had come over an earlier connection.
    answered = waiting | {"blocked": 0, "wait": 6}
    assert quality(entry("a.test", 1, answered), entry("a.test", 1, opening)) == {"warm_sockets", "warm_start"}


def test_cached_answers_matter_where_they_hide_a_host():
    assert quality(entry("a.test", 1), entry("a.test", _fromCache="memory")) == {"cached"}
    assert quality(entry("a.test", 1), entry("b.test", _fromCache="disk")) == {"cached", "cached_hosts"}


def test_service_workers():
    answer = {"status": 200, "content": {"mimeType": "text/html"}, "_fetchedViaServiceWorker": True}
    assert quality(entry("a.test", 1), entry("a.test", response=answer)) == {"cached", "service_worker"}


def test_a_proxy_has_one_address_for_several_sites():
    sites = [entry(f"h{n}.site{n}.test", n + 1) for n in range(3)]
    assert quality(*sites) == {"proxied"}
    assert quality(*[entry(f"h{n}.one.test", n + 1) for n in range(20)]) == set()
    assert quality(*sites[:2]) == set()
    assert quality(*sites, entry("c.test", 9, serverIPAddress="192.0.2.2")) == set()


def test_the_rest_of_a_cut_file_is_lost():
    assert "truncated" in quality(entry("a.test", 1), entry("b.test", 2), cut=20)


def test_several_pages_of_one_log():
    pages = [{"id": name, "startedDateTime": "2024-01-01T00:00:00Z", "title": "x", "pageTimings": {}} for name in "pq"]
    entries = [entry("a.test", 1, pageref="p"), entry("b.test", 1, REUSED, pageref="q")]
    assert qualities(*entries, pages=pages, creator="WebInspector") == [
        set(),
        {"preserved_log", "warm_sockets", "warm_start"},
    ]
    # Between the pages that it records, this one ends the browser.
    assert "preserved_log" not in qualities(*entries, pages=pages, creator="browsertime")[1]


@pytest.mark.parametrize("creator", ["Firefox", "WebKit Web Inspector", "mitmproxy", "Charles Proxy", "my script"])
def test_a_page_got_twice_in_one_log(creator):
    html = {"status": 200, "content": {"mimeType": "text/html"}}
    twice = [entry("a.test", 1, response=html), entry("b.test", 2), entry("a.test", 1, response=html)]
    assert "preserved_log" in qualities(*twice, creator=creator)[0]
    assert "preserved_log" not in qualities(*twice[:2], creator=creator)[0]


def test_a_log_without_its_document_or_its_end():
    page = {"id": "p", "title": "x", "_url": "https://a.test", "pageTimings": {"onContentLoad": 5, "onLoad": 9}}
    assert quality(entry("a.test", 1), pages=[page]) == set()
    assert quality(entry("b.test", 1), pages=[page]) == {"partial"}
    assert quality(entry("a.test", 1), pages=[{**page, "pageTimings": {"onContentLoad": 5}}]) == {"partial"}
    assert quality(pages=[page]) == set()


@pytest.mark.parametrize(
    ("recording", "page", "words"),
    [
        ("chrome-devtools/shop-cold-sanitised", 0, set()),
        ("chrome-devtools/shop-warm-reload", 0, {"cached", "warm_start"}),
        ("firefox/shop-warm-revisit", 0, {"cached"}),
        ("chrome-devtools/shop-then-travel-preserved-log", -1, {"preserved_log"}),
        ("firefox/shop-then-travel-persisted-log", -1, {"preserved_log"}),
        ("playwright/shop-cold-then-reload", -1, {"preserved_log"}),
    ],
)
def test_recordings(recording, page, words):
    batch = HarBatch()
    batch.add((HARS / f"{recording}.har").read_bytes(), "x.har", "0" * 64)
    found = set(batch.tables()["visits"]["quality"][page]) - {"no_connection_ids", "no_addresses"}
    assert found >= words
    assert words or not found & {"warm_start", "cached_hosts", "proxied", "partial", "truncated", "preserved_log"}
