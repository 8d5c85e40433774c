"""``explain`` read as the owner of a page reads it: what it claims is in the file, and what it cannot know it says."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hand_made_har import write_har

HARS = Path(__file__).parents[1] / "fixtures" / "hars"
HOME, NEAR = "104.20.8.1", "104.20.8.2"


def said(run, *arguments: str | Path) -> str:
    done = run("explain", *arguments)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("name", ["firefox/daily-cold.har", "playwright/daily-cold.har"])
def test_without_connections_nothing_is_said_of_them(run, name: str) -> None:
    text = said(run, HARS / name)
    assert "does not tell which connection each request used" in text
    assert "TLS connections: no totals, as the page was without connection ids." in text
    assert "No connection was found" not in text


def test_devtools(run) -> None:
    text = said(run, HARS / "chrome-devtools" / "wiki-http1.har")
    entries = json.loads((HARS / "chrome-devtools" / "wiki-http1.har").read_text())["log"]["entries"]
    used = {entry["_connectionId"] for entry in entries if entry["request"]["url"].startswith("https://wiki.test/")}
    assert {entry["response"]["httpVersion"] for entry in entries} <= {"http/1.1", "HTTP/1.1"}
    assert f"What the site's owner can change: - ({len(used) - 1}) serve wiki.test over HTTP/2" in text
    text = said(run, HARS / "chrome-devtools" / "gazette-origin-frame.har")
    assert "lacks DNS answers (1), certificate names (1), credentials (1)" in text
    assert "can be asked for: explain --live" in text


def test_a_whole_page_of_the_web(run, shared: Path) -> None:
    path = shared / "data/hars/real/CDP__lighthouse__fixtures_artifacts_cnn_devtoolslog.san.har"
    text = said(run, path)
    assert "TLS connections: no totals, as the page was recorded in part." in text
    connections: dict[str, set[str]] = defaultdict(set)
    protocols: dict[str, set[str]] = defaultdict(set)
    for entry in json.loads(path.read_text())["log"]["entries"]:
        host = urlsplit(entry["request"]["url"]).hostname or ""
        if entry.get("connection") not in (None, "0"):
            connections[host].add(entry["connection"])
            protocols[host].add(entry["response"]["httpVersion"])
    # All but the first of a host at its one address over HTTP/1.1, and that one where a neighbour was there before.
    for host in ("ads.stickyadstv.com", "count.schwab.com", "li.cnn.com"):
        count = int(text.partition(f") serve {host} over HTTP/2")[0].rpartition("(")[2])
        assert protocols[host] == {"http/1.1"}
        assert len(connections[host]) - 1 <= count <= len(connections[host])


def test_webpagetest(run, shared: Path) -> None:
    text = said(run, shared / "data/hars/real/sitespeedio__compare__test__har__en.wikipedia.org-webpagetest-chrome.har")
    assert "recorded by webpagetest" in text
    assert "no totals, as the page was with a connection to an unknown address" in text


@pytest.mark.promise("terminals-obey-nobody")
def test_strangers_texts_stay_texts(run, tmp_path: Path) -> None:
    url = "https://www.site.test/\x1b[2J\u202egnp.exe"
    har = write_har(tmp_path / "page.har", [(url, HOME, "1"), ("https://img.site.test/", NEAR, "2")])
    text = run("explain", har, "--out", tmp_path / "page.html").stdout
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\u202e" not in text
    assert "\x1b" not in (tmp_path / "page.html").read_text()


def test_what_is_too_much_to_compare_is_not_called_shared(run, tmp_path: Path) -> None:
    urls = [(f"https://h{number}.site.test/", HOME, str(number)) for number in range(1, 1002)]
    assert "more hosts or connections" not in said(run, write_har(tmp_path / "few.har", urls[:4]))
    har = write_har(tmp_path / "page.har", urls)
    text = said(run, har, "--out", tmp_path / "page.html")
    assert "TLS connections: no totals, as the page was with more than 1,000 hosts or connections." in text
    assert "This page has more hosts or connections than are compared" in text
    page = (tmp_path / "page.html").read_text()
    assert "1 page has more hosts or connections than are compared" in page
    assert "No connection was found" not in text + page
    (tmp_path / "budget.toml").write_text("[budget]\nconnections = 2000\nredundant_connections = 9\n")
    judged = run("check", "--budget", tmp_path / "budget.toml", har, "--format", "csv")
    assert [row.split(",")[5] for row in judged.stdout.splitlines()[1:]] == ["1001", ""]
    assert judged.returncode == 2
