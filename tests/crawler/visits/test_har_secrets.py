"""Secrets planted in every place of DevTools' events that can hold one: none gets into a capture."""

import json
from typing import Any

import msgspec
import planted_secrets
import pytest

from originset.crawler.visits.har import har_log
from originset.crawler.visits.page_log import PageLog
from originset.crawler.visits.recorded_page import recorded_page
from originset.data.netlog.visit_log import VisitLog

WORDS = (
    *("cookie", "set_cookie", "authorization", "api_key", "post", "user", "password", "query", "nested", "fragment"),
    *("redirect", "jwt", "data_url", "blob", "initiator", "stack", "document", "referer", "link", "page", "camel"),
)
S = {word: f"S3CRET{number:03}{word}" for number, word in enumerate(WORDS)}

_URL = (
    f"https://{S['user']}:{S['password']}@a.test/x?token={S['query']}&sessionId={S['camel']}"
    f"&to=https%3A%2F%2Fc.test%2F%3Fid_token%3D{S['nested']}#{S['fragment']}"
)
_JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0{S['jwt']}.c2ln"


def _event(request: str, url: str, time: float, **more: Any) -> tuple[str, dict[str, Any]]:
    return "Network.requestWillBeSent", {
        "requestId": request,
        "loaderId": "L1",
        "documentURL": f"https://a.test/?auth={S['document']}",
        "request": {
            "url": url,
            "method": "POST",
            "postData": S["post"],
            "headers": {
                "Cookie": f"id={S['cookie']}",
                "Authorization": f"Bearer {S['authorization']}",
                "X-Api-Key": S["api_key"],
                "Referer": f"https://a.test/?password={S['referer']}",
                "X-Forwarded": f"x {_JWT}",
            },
        },
        "timestamp": time,
        "wallTime": 1_700_000_000 + time,
        "initiator": {
            "type": "script",
            "url": f"https://a.test/?sid={S['initiator']}",
            "stack": {"callFrames": [{"url": f"https://a.test/?key={S['stack']}"}]},
        },
        "type": "Document" if request == "L1" else "Fetch",
        "frameId": "F1",
        **more,
    }


def _answer(url: str) -> dict[str, Any]:
    return {
        "url": url,
        "status": 302,
        "headers": {
            "Set-Cookie": f"id={S['set_cookie']}",
            "Location": f"https://b.test/?code={S['redirect']}",
            "Link": f"<https://b.test/?signature={S['link']}>; rel=preload",
        },
        "mimeType": "text/html",
        "connectionId": 7,
        "encodedDataLength": 10,
    }


@pytest.mark.promise("captures-without-secrets")
def test_no_planted_secret_gets_into_a_capture() -> None:
    events = [
        ("Page.lifecycleEvent", {"frameId": "F1", "loaderId": "L1", "name": "init", "timestamp": 100.0}),
        _event("L1", _URL, 100.0),
        _event("L1", f"https://b.test/?code={S['redirect']}", 100.1, redirectResponse=_answer(_URL)),
        ("Network.responseReceived", {"requestId": "L1", "timestamp": 100.2, "response": _answer("https://b.test/")}),
        _event("1.1", f"https://a.test/{_JWT}", 100.3),
        ("Network.loadingFailed", {"requestId": "1.1", "timestamp": 100.4, "errorText": "net::ERR_FAILED"}),
        _event("1.2", f"data:text/plain,{S['data_url']}", 100.5),
        _event("1.3", f"blob:https://u:{S['blob']}@a.test/{S['blob']}", 100.6),
    ]
    assert all(secret in json.dumps(events) for word, secret in S.items() if word != "page")
    page = PageLog("F1")
    for method, params in events:
        page.add(method, msgspec.Raw(msgspec.json.encode(params)))
    log = har_log(recorded_page(page, VisitLog({}, [], []), f"https://a.test/?login={S['page']}"), "Chromium", "156.0")
    kept = json.dumps(log)
    assert len(log["entries"]) == 5
    assert "https://a.test/x?token=REDACTED" in kept
    assert [word for word, secret in S.items() if secret in kept] == []


@pytest.mark.promise("captures-without-secrets")
def test_none_of_all_that_is_planted_gets_into_a_capture() -> None:
    """As the address of a request, as what caused it, in headers of either direction and in status lines."""
    events = [("Page.lifecycleEvent", {"frameId": "F1", "loaderId": "L1", "name": "init", "timestamp": 100.0})]
    headers = [*planted_secrets.headers()]
    reasons = [*planted_secrets.reasons()]
    for number, planted in enumerate([*planted_secrets.urls()]):
        header, reason = headers[number % len(headers)], reasons[number % len(reasons)]
        name, event = _event(f"1.{number}", planted.place, 100 + number / 1000)
        event["request"] |= {"headers": {header.header: header.place}}
        event["initiator"] = {"type": "parser", "url": planted.place}
        event["documentURL"] = planted.place
        answer = {
            "url": planted.place,
            "status": 200,
            "statusText": reason.place,
            "headers": {header.header: header.place, "Location": planted.place},
            "mimeType": f"text/html; token={reason.secret}",
        }
        response = {"requestId": f"1.{number}", "timestamp": 101 + number / 1000, "response": answer}
        events += [(name, event), ("Network.responseReceived", response)]
    page = PageLog("F1")
    for method, params in events:
        page.add(method, msgspec.Raw(msgspec.json.encode(params)))
    entries = har_log(recorded_page(page, VisitLog({}, [], []), "https://a.test/"), "Chromium", "156.0")["entries"]
    kept = json.dumps(entries)
    everything = [*planted_secrets.urls(), *headers, *reasons]
    assert len(everything) > 196
    assert len(entries) == len([*planted_secrets.urls()])
    assert [planted for planted in everything if planted.secret in kept] == []
