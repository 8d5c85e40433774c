"""HAR entries from DevTools events as Chromium 156 sends them, without a browser."""

from typing import Any

import msgspec
import pytest

from originset.crawler.visits.har import har_log
from originset.crawler.visits.page_log import PageLog
from originset.crawler.visits.recorded_page import recorded_page
from originset.data.netlog.sockets import SentRequest, Socket
from originset.data.netlog.visit_log import VisitLog

TIMING = {
    "requestTime": 100.010,
    "dnsStart": 1.0,
    "dnsEnd": 5.0,
    "connectStart": 6.0,
    "connectEnd": 26.0,
    "sslStart": 12.0,
    "sslEnd": 26.0,
    "sendStart": 27.0,
    "sendEnd": 28.0,
    "receiveHeadersEnd": 48.0,
}


def response(url: str, connection: int, **more: Any) -> dict[str, Any]:
    return {
        "url": url,
        "status": 200,
        "statusText": "",
        "headers": {"Content-Type": "text/html", "Set-Cookie": "sid=hunter2"},
        "mimeType": "text/html",
        "connectionId": connection,
        "remoteIPAddress": "[2606:4700::1]",
        "remotePort": 443,
        "encodedDataLength": 10,
        "timing": TIMING,
        "protocol": "h2",
        "securityDetails": {"protocol": "TLS 1.3", "subjectName": "a.test", "signedCertificateTimestampList": [1]},
        **more,
    }


def sent(request: str, url: str, time: float, **more: Any) -> tuple[str, dict[str, Any]]:
    event = {
        "requestId": request,
        "loaderId": "L1",
        "documentURL": "https://a.test/",
        "request": {"url": url, "method": "GET", "headers": {"Cookie": "sid=hunter2"}, "initialPriority": "High"},
        "timestamp": time,
        "wallTime": 1_700_000_000 + time,
        "initiator": {"type": "parser", "url": "https://a.test/"},
        "type": "Image",
        "frameId": "F1",
    }
    return "Network.requestWillBeSent", event | more


def finished(request: str, time: float) -> tuple[str, dict[str, Any]]:
    return "Network.loadingFinished", {"requestId": request, "timestamp": time, "encodedDataLength": 500}


EVENTS = [
    ("Page.lifecycleEvent", {"frameId": "F1", "loaderId": "L1", "name": "init", "timestamp": 100.0}),
    sent("L1", "http://a.test/", 100.0, type="Document", documentURL="http://a.test/", initiator={"type": "other"}),
    sent(
        "L1",
        "https://a.test/",
        100.08,
        type="Document",
        initiator={"type": "other"},
        redirectResponse=response("http://a.test/", 7, status=301, headers={"Location": "https://a.test/"}),
    ),
    (
        "Network.responseReceived",
        {"requestId": "L1", "timestamp": 100.2, "type": "Document", "response": response("https://a.test/", 9)},
    ),
    finished("L1", 100.3),
    sent("1.1", "https://b.test/x.js?token=hunter2", 100.31, type="Script"),
    ("Network.loadingFailed", {"requestId": "1.1", "timestamp": 100.41, "errorText": "net::ERR_CONNECTION_RESET"}),
    sent(
        "1.2",
        "https://b.test/x.js?token=hunter2",
        100.32,
        initiator={
            "type": "script",
            "stack": {"callFrames": [], "parent": {"callFrames": [{"url": "https://b.test/x.js?token=hunter2"}]}},
        },
    ),
    ("Network.requestServedFromCache", {"requestId": "1.2"}),
    ("Network.responseReceived", {"requestId": "1.2", "timestamp": 100.33, "response": response("", 9)}),
    finished("1.2", 100.34),
    sent("1.3", "data:image/gif;base64,AAAA", 100.35),
    sent("1.4", "chrome://favicon/", 100.36),
    sent(
        "F2L", "https://c.test/f", 100.37, type="Document", loaderId="F2L", frameId="F2", documentURL="https://c.test/f"
    ),
    ("Page.frameAttached", {"frameId": "F2", "parentFrameId": "F1"}),
    sent(
        "2.1",
        "https://c.test/i.png",
        100.38,
        loaderId="F2L",
        frameId="F2",
        documentURL="https://c.test/f",
        initiator={"type": "parser", "url": "https://c.test/f"},
    ),
    ("Page.lifecycleEvent", {"frameId": "F1", "loaderId": "L1", "name": "DOMContentLoaded", "timestamp": 100.35}),
    ("Page.lifecycleEvent", {"frameId": "F1", "loaderId": "L1", "name": "load", "timestamp": 100.5}),
    ("Page.lifecycleEvent", {"frameId": "F2", "loaderId": "F2L", "name": "load", "timestamp": 100.9}),
]


@pytest.fixture(scope="module")
def log() -> dict[str, Any]:
    page = PageLog("F1")
    for method, params in EVENTS:
        page.add(method, msgspec.Raw(msgspec.json.encode(params)))
    requests = [
        SentRequest("https://b.test/x.js?token=hunter2", "GET", 1, "https://a.test", main_frame=False, socket=12)
    ]
    netlog = VisitLog({12: Socket(12, remote=("192.0.2.1", 443))}, [], requests)
    return har_log(recorded_page(page, netlog, "http://a.test/#top"), "Chromium", "156.0")


def test_one_entry_per_request_in_order(log: dict[str, Any]) -> None:
    shown = [(e["request"]["url"], e["response"]["status"], e.get("connection")) for e in log["entries"]]
    assert shown == [
        ("http://a.test/", 301, "7"),
        ("https://a.test/", 200, "9"),
        ("https://b.test/x.js?token=REDACTED", 0, "12"),
        ("https://b.test/x.js?token=REDACTED", 200, None),
        ("data:image/gif;base64,", 0, None),
        ("https://c.test/f", 0, None),
        ("https://c.test/i.png", 0, None),
    ]


def test_timings_add_up(log: dict[str, Any]) -> None:
    document = log["entries"][1]
    timings = document["timings"]
    assert timings["dns"] == 4
    assert timings["connect"] == 20
    assert timings["ssl"] == 14
    assert timings["send"] == 1
    assert timings["wait"] == 20
    # From the request's start to its end, ssl being part of connect.
    assert document["time"] == pytest.approx(sum(v for k, v in timings.items() if k != "ssl" and v > 0))
    first = log["entries"][0]
    assert first["time"] == pytest.approx(80), "a redirect ends where the next hop starts"
    failed = log["entries"][2]["timings"]
    assert failed == {"blocked": 100, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 0, "receive": 0}


def test_what_caused_what(log: dict[str, Any]) -> None:
    causes = [entry.get("_initiatorIndex") for entry in log["entries"]]
    assert causes == [None, 0, 1, 2, 1, 1, 5]
    asking = [entry.get("_frameUrl") for entry in log["entries"]]
    assert asking[5] == "https://a.test/", "a frame's document is asked for by its parent"
    assert asking[6] == "https://c.test/f"
    assert [entry.get("_mainFrame") for entry in log["entries"]] == [True] * 5 + [False] * 2


def test_failed_and_cached(log: dict[str, Any]) -> None:
    failed, cached = log["entries"][2:4]
    assert failed["response"]["_error"] == "net::ERR_CONNECTION_RESET"
    assert failed["serverIPAddress"] == "192.0.2.1", "the network log knows where it was sent"
    assert cached["_fromCache"] == "memory"
    assert "serverIPAddress" not in cached
    assert log["entries"][1]["serverIPAddress"] == "2606:4700::1"


def test_page_and_privacy(log: dict[str, Any]) -> None:
    page = log["pages"][0]
    assert page["title"] == "http://a.test/"
    assert page["pageTimings"]["onLoad"] == pytest.approx(500)
    assert page["pageTimings"]["onContentLoad"] == pytest.approx(350)
    text = msgspec.json.encode(log)
    assert b"hunter2" not in text
    assert b"signedCertificateTimestampList" not in text
    assert b"chrome://" not in text


def test_a_page_without_requests() -> None:
    log = har_log(recorded_page(PageLog("F1"), VisitLog({}, [], []), "https://a.test/"), "Chromium", "156.0")
    assert log["entries"] == []
    assert log["pages"][0]["pageTimings"] == {"onContentLoad": -1, "onLoad": -1}
