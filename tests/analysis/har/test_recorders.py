"""What wrote a HAR is told by its own name for itself, or else by what only it writes."""

import json

import pytest
from handmade_hars import entry, har_of, tables_of

from originset.analysis.har.decoding.har_decoder import decode
from originset.analysis.har.recorders import detect_recorder


@pytest.mark.parametrize(
    ("creator", "name"),
    [
        ("WebInspector", "chrome-devtools"),
        ("WebKit Web Inspector", "safari"),
        ("Chrome HAR Capturer", "chrome-har-capturer"),
        ("chrome-har", "chrome-har"),
        ("Browsertime", "browsertime"),
        ("WebPagetest", "webpagetest"),
        ("Firefox", "firefox"),
        ("Firebug", "firebug"),
        ("Playwright", "playwright"),
        ("Charles Proxy", "charles"),
        ("Fiddler", "fiddler"),
        ("mitmproxy", "mitmproxy"),
        ("BrowserMob Proxy", "browsermob"),
        ("Insomnia REST Client", "insomnia"),
        ("Splash", "splash"),
        ("originset", "originset"),
        ("my script", "other"),
    ],
)
def test_recorders_are_told_by_their_names(creator, name):
    assert detect_recorder(decode(json.dumps(har_of(creator=creator)).encode(), "x")).name == name


def test_chrome_har_with_a_browser_is_browsertime():
    har = har_of(creator="chrome-har")
    har["log"]["creator"]["version"] = "1.1.1"
    assert tables_of(har)["visits"].select("recorder", "recorder_version").row(0) == ("chrome-har", "1.1.1")
    har["log"]["browser"] = {"name": "Chrome", "version": "156"}
    assert tables_of(har)["visits"].select("recorder", "recorder_version").row(0) == ("browsertime", None)


def test_webpagetest_is_told_by_its_sockets_where_nothing_else_tells():
    page = {
        "id": "p",
        "_browser_name": "Chrome",
        "_browser_version": "126.0",
        "startedDateTime": "2024-01-01T00:00:00Z",
    }
    har = {"log": {"pages": [page, {"title": "without an id"}], "entries": [entry("https://a.test/", _socket=7)]}}
    tables = tables_of(har)
    assert tables["visits"].select("recorder", "browser", "browser_version").row(0) == (
        "webpagetest",
        "chromium",
        "126.0",
    )
    assert tables["requests"].select("connection_id", "connection_source").rows() == [(7, "inferred")]


def test_no_creator_at_all():
    assert tables_of({"log": {"entries": []}})["visits"].select("recorder", "status", "error").row(0) == (
        "other",
        "failed",
        "empty",
    )
