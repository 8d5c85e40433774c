"""The HAR part of captures opens elsewhere: in Chrome DevTools' importer, in haralyzer, and by HAR 1.2's own rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from haralyzer import HarParser

from originset.crawler.settings import BrowserName, VisitSettings
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import read_capture_bytes, write_capture

pytestmark = [pytest.mark.browser, pytest.mark.testbed]

# Redirects, frames, a service worker, a WebSocket, failures, a page that never loads, data: and blob:, HTTP/3.
SITES = ("one.test", "frames.test", "worker.test", "socket.test", "halfway.test", "hangs.test", "inline.test")
CHROMIUM_ONLY = ("promised.test", "gone.captures.test")

NUMBER, TEXT, TIME = (int, float), str, datetime
OPTIONAL = "?"
# HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/): each object's fields; those with a mark may be absent.
SPECIFICATION: dict[str, dict[str, Any]] = {
    "log": {"version": TEXT, "creator": "creator", "browser?": "creator", "pages?": ["page"], "entries": ["entry"]},
    "creator": {"name": TEXT, "version": TEXT, "comment?": TEXT},
    "page": {"startedDateTime": TIME, "id": TEXT, "title": TEXT, "pageTimings": "pageTimings", "comment?": TEXT},
    "pageTimings": {"onContentLoad?": NUMBER, "onLoad?": NUMBER, "comment?": TEXT},
    "entry": {
        "pageref?": TEXT,
        "startedDateTime": TIME,
        "time": NUMBER,
        "request": "request",
        "response": "response",
        "cache": "cache",
        "timings": "timings",
        "serverIPAddress?": TEXT,
        "connection?": TEXT,
        "comment?": TEXT,
    },
    "request": {
        "method": TEXT,
        "url": TEXT,
        "httpVersion": TEXT,
        "cookies": ["named"],
        "headers": ["named"],
        "queryString": ["named"],
        "headersSize": NUMBER,
        "bodySize": NUMBER,
        "comment?": TEXT,
    },
    "response": {
        "status": NUMBER,
        "statusText": TEXT,
        "httpVersion": TEXT,
        "cookies": ["named"],
        "headers": ["named"],
        "content": "content",
        "redirectURL": TEXT,
        "headersSize": NUMBER,
        "bodySize": NUMBER,
        "comment?": TEXT,
    },
    "named": {"name": TEXT, "value": TEXT, "comment?": TEXT},
    "content": {"size": NUMBER, "compression?": NUMBER, "mimeType": TEXT, "comment?": TEXT},
    "cache": {"comment?": TEXT},
    "timings": {
        **dict.fromkeys(("blocked?", "dns?", "connect?", "send", "wait", "receive", "ssl?"), NUMBER),
        "comment?": TEXT,
    },
}
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def problems(value: Any, kind: Any, place: str) -> Iterator[str]:
    """Where a value is not what the specification says; fields of anybody's own begin with an underscore."""
    if isinstance(kind, list):
        if not isinstance(value, list):
            yield f"{place} is no array"
            return
        for number, item in enumerate(value):
            yield from problems(item, kind[0], f"{place}[{number}]")
    elif kind is TIME:
        if not isinstance(value, str) or RFC3339.fullmatch(value) is None:
            yield f"{place} is no time: {value!r}"
    elif not isinstance(kind, str):
        if not isinstance(value, kind) or isinstance(value, bool):
            yield f"{place} is {value!r}"
    elif not isinstance(value, dict):
        yield f"{place} is no object"
    else:
        yield from field_problems(value, SPECIFICATION[kind], place)


def field_problems(value: dict[str, Any], wanted: dict[str, Any], place: str) -> Iterator[str]:
    for name in wanted:
        if not name.endswith(OPTIONAL) and name not in value:
            yield f"{place}.{name} is missing"
    fields = {name.rstrip(OPTIONAL): part for name, part in wanted.items()}
    for name, item in value.items():
        if name in fields:
            yield from problems(item, fields[name], f"{place}.{name}")
        elif not name.startswith("_"):
            yield f"{place}.{name} is nothing of HAR's"


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def texts(captures: Testbed, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The JSON of captures, as they lie in a study."""
    name: BrowserName = request.param
    flags = captures.browser_flags if name == "chromium" else ()
    settings = VisitSettings(
        browser=name, timeout_s=5, quiet_s=0.3, environment=captures.environment, extra_flags=flags
    )
    folder: Path = tmp_path_factory.mktemp("captures-read")
    found = []
    with browser_for(settings) as browser:
        for number, site in enumerate((*SITES, *(CHROMIUM_ONLY if name == "chromium" else ()))):
            url = captures.scenario.url_of(site)
            captured = visit(browser, VisitRequest(f"{number:016x}", site, url))
            found.append(read_capture_bytes(write_capture(folder, *captured)).decode())
    return found


def test_by_the_rules_of_har(texts: list[str]) -> None:
    for text in texts:
        log = json.loads(text)["log"]
        assert list(problems(log, "log", "log")) == []
        pages = {page["id"] for page in log["pages"]}
        for entry in log["entries"]:
            assert entry["pageref"] in pages
            timings = entry["timings"]
            # ssl is contained in connect; time is the sum of the others, as far as they apply.
            phases = sum(value for name, value in timings.items() if name != "ssl" and value > 0)
            assert entry["time"] == pytest.approx(phases, abs=0.01)
            assert timings["ssl"] <= timings["connect"]
            assert min(timings[name] for name in ("send", "wait", "receive")) >= 0
            assert "text" not in entry["response"]["content"], "bodies are never kept"
            assert "postData" not in entry["request"]


def test_the_rules_notice_what_breaks_them() -> None:
    def broken(value: Any, kind: str) -> list[str]:
        return list(problems(value, kind, kind))

    assert broken({"name": "a"}, "named") == ["named.value is missing"]
    assert broken({"name": "a", "value": 1}, "named") == ["named.value is 1"]
    assert broken({"name": "a", "value": "b", "own": 1}, "named") == ["named.own is nothing of HAR's"]
    assert broken({"startedDateTime": "now", "id": "1", "title": "", "pageTimings": {}}, "page") == [
        "page.startedDateTime is no time: 'now'"
    ]


def test_in_haralyzer(texts: list[str]) -> None:
    for text in texts:
        har = json.loads(text)
        parser = HarParser(har)
        (page,) = parser.pages
        entries = har["log"]["entries"]
        assert [entry.request.url for entry in page.entries] == [entry["request"]["url"] for entry in entries]
        assert [entry.response.status for entry in page.entries] == [entry["response"]["status"] for entry in entries]
        assert parser.creator["name"] == "originset"


# The DevTools front end's own modules: front_end/models/har/{HARFormat,Importer}.ts.
IMPORT = """
import("devtools://devtools/bundled/models/har/har.js").then((har) => {
  const log = new har.HARFormat.HARRoot(JSON.parse(TEXT)).log;
  return JSON.stringify(har.Importer.Importer.requestsFromHARLog(log).map((request) => ({
    url: request.url(), status: request.statusCode, type: request.resourceType().name(), failed: request.failed,
    address: request.remoteAddress(), protocol: request.protocol, connection: request.connectionId,
    start: request.startTime, end: request.endTime,
  })));
})
"""


def test_in_devtools(captures: Testbed, texts: list[str]) -> None:
    with browser_for(VisitSettings(environment=captures.environment)) as chromium:
        devtools = chromium.devtools
        target = devtools.call("Target.createTarget", url="devtools://devtools/bundled/devtools_app.html")["targetId"]
        session = devtools.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for text in texts:
            script = IMPORT.replace("TEXT", json.dumps(text))
            answer = devtools.call("Runtime.evaluate", session, 30, expression=script, awaitPromise=True)
            assert "exceptionDetails" not in answer, answer["exceptionDetails"]["exception"]["description"]
            shown = json.loads(answer["result"]["value"])
            entries = json.loads(text)["log"]["entries"]
            assert [one["url"] for one in shown] == [entry["request"]["url"] for entry in entries]
            assert [one["status"] for one in shown] == [entry["response"]["status"] for entry in entries]
            for one, entry in zip(shown, entries, strict=True):
                assert one["protocol"] == entry["response"]["httpVersion"] or not one["protocol"]
                assert one["type"] == entry["_resourceType"] or entry["_resourceType"] not in {"document", "image"}
                assert one["address"].startswith(entry.get("serverIPAddress", ""))
                if "connection" in entry:
                    assert str(one["connection"]) == entry["connection"]
                assert one["end"] >= one["start"]
