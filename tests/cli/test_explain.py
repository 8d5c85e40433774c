"""``explain`` read as the owner of a page reads it: what it claims is in the file, and what it cannot know it says."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hand_made_har import write_har
from handwritten_netlog import one_page

HARS = Path(__file__).parents[1] / "fixtures" / "hars"
HOME, NEAR = "104.20.8.1", "104.20.8.2"


def said(run, *arguments: str | Path) -> str:
    done = run("explain", *arguments)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("name", ["firefox/daily-cold.har", "playwright/daily-cold.har"])
def test_without_connections_nothing_is_said_of_them(run, name: str) -> None:
    text = said(run, HARS / name)
    assert "does not show which connection each request used" in text
    assert "TLS connections: not counted; the page is left out: without connection ids." in text
    assert "No earlier connection could have served" not in text


def test_devtools(run) -> None:
    text = said(run, HARS / "chrome-devtools" / "wiki-http1.har")
    entries = json.loads((HARS / "chrome-devtools" / "wiki-http1.har").read_text())["log"]["entries"]
    used = {entry["_connectionId"] for entry in entries if entry["request"]["url"].startswith("https://wiki.test/")}
    assert {entry["response"]["httpVersion"] for entry in entries} <= {"http/1.1", "HTTP/1.1"}
    assert f"What the site's owner can change: - ({len(used) - 1}) serve wiki.test over HTTP/2" in text
    text = said(run, HARS / "chrome-devtools" / "gazette-origin-frame.har")
    assert "lacks DNS answers (1), certificate names (1), credentials (1)" in text
    assert "can be obtained from live servers: explain --live" in text


def test_the_prediction_is_tested_on_the_page_itself(run) -> None:
    text = said(run, HARS / "chrome-devtools" / "wiki-http1.har")
    sentence = re.search(r"Back-test: from the recorded.*? predict (\d+)(?: to (\d+))? TLS connections?; (.*?)\.", text)
    assert sentence is not None
    low, high, found = sentence.groups()
    entries = json.loads((HARS / "chrome-devtools" / "wiki-http1.har").read_text())["log"]["entries"]
    used = {entry["_connectionId"] for entry in entries if entry["request"]["url"].startswith("https://")}
    assert int(low) <= len(used) <= int(high or low)
    assert found.startswith(f"the recording has {len(used)}")


def test_a_whole_page_of_the_web(run, shared: Path) -> None:
    path = shared / "data/hars/real/CDP__lighthouse__fixtures_artifacts_cnn_devtoolslog.san.har"
    text = said(run, path)
    assert "TLS connections: not counted; the page is left out: recorded in part." in text
    connections: dict[str, set[str]] = defaultdict(set)
    protocols: dict[str, set[str]] = defaultdict(set)
    for entry in json.loads(path.read_text())["log"]["entries"]:
        host = urlsplit(entry["request"]["url"]).hostname or ""
        if entry.get("connection") not in (None, "0"):
            connections[host].add(entry["connection"])
            protocols[host].add(entry["response"]["httpVersion"])
    # All but the first of a host over HTTP/1.1; that one may have had a neighbour, whose certificate is another.
    for host in ("ads.stickyadstv.com", "count.schwab.com", "sync.outbrain.com"):
        count = int(text.partition(f") serve {host} over HTTP/2")[0].rpartition("(")[2])
        assert protocols[host] == {"http/1.1"}
        assert count == len(connections[host]) - 1
    assert "serve li.cnn.com over HTTP/2" not in text  # its only connection


def test_webpagetest(run, shared: Path) -> None:
    text = said(run, shared / "data/hars/real/sitespeedio__compare__test__har__en.wikipedia.org-webpagetest-chrome.har")
    assert "recorded by webpagetest" in text
    assert "not counted; the page is left out: with a connection to an unknown address" in text


def test_several_recordings_are_one_answer_and_each(run, tmp_path: Path) -> None:
    (tmp_path / "netlog.json").write_bytes(one_page().text())
    har = write_har(tmp_path / "page.har", [("https://a.test/", HOME, "1"), ("https://b.test/", HOME, "2")])
    (tmp_path / "broken.har").write_text("{}")
    done = run("explain", tmp_path / "netlog.json", har, tmp_path / "broken.har")
    assert (done.returncode, "refused: broken.har" in done.stderr) == (1, True)
    together, *each = done.stdout.split("\n\nhttps://")
    assert together.startswith("2 page loads of 2 sites together:\n      4  TLS connections, measured\n")
    assert [text.partition(",")[0] for text in each] == ["a.test/", "site.test/"]
    assert all("\n2 connections" in text for text in each)
    assert "recorded by netlog with chromium 156.0.1.2" in each[1]
    assert run("explain", tmp_path / "broken.har").returncode == 2


@pytest.mark.promise("terminals-obey-nobody")
def test_strangers_texts_stay_texts(run, tmp_path: Path) -> None:
    url = "https://www.site.test/\x1b[2J\u202egnp.exe"
    har = write_har(tmp_path / "page.har", [(url, HOME, "1"), ("https://img.site.test/", NEAR, "2")])
    text = run("explain", har, "--out", tmp_path / "page.html").stdout
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\u202e" not in text
    assert "\x1b" not in (tmp_path / "page.html").read_text()


def test_a_protocol_of_any_text(run, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(one_page().text().replace(b'"h2"', b'"\\u001b[2J\\u009b\\u202e"'))
    run("explain", path, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert r"\x1b[2J\x9b\u202e" in page
    assert all(character.isprintable() or character == "\n" for character in page)


def test_a_url_without_a_host_that_can_be_read(run, tmp_path: Path) -> None:
    requests = [("https://www.site.test/", HOME, "1"), ("https://[", HOME, "1"), ("https://a b/", HOME, "1")]
    done = run("explain", write_har(tmp_path / "page.har", requests), "--format", "json")
    assert done.returncode == 0, done.stderr
    (page,) = json.loads(done.stdout)["pages"]
    assert [one["host"] for one in page["states"][0]["requests"]] == ["www.site.test", None, None]


def test_a_name_that_is_no_utf_8(run, tmp_path: Path) -> None:
    """Of one recording, and of two whose folders tell them apart."""
    paths = [write_har(tmp_path / f"{name}.har", [("https://www.site.test/", HOME, "1")]) for name in ("a", "b")]
    for path, folder in zip(paths, (b"one", b"two\xfe"), strict=True):
        place = tmp_path / os.fsdecode(folder)
        place.mkdir()
        path.rename(place / os.fsdecode(b"\xff.har"))
    names = sorted(tmp_path.glob("*/*.har"))
    run("explain", names[0], "--out", tmp_path / "page.html")
    assert r"\xff.har" in (tmp_path / "page.html").read_text()
    assert run("explain", *names).returncode == 0


def test_what_is_too_much_to_compare_is_not_called_shared(run, tmp_path: Path) -> None:
    urls = [(f"https://h{number}.site.test/", HOME, str(number)) for number in range(1, 1002)]
    assert "more than 1,000 hosts" not in said(run, write_har(tmp_path / "few.har", urls[:4]))
    har = write_har(tmp_path / "page.har", urls)
    text = said(run, har, "--out", tmp_path / "page.html")
    assert "TLS connections: not counted; the page is left out: with more than 1,000 hosts or connections." in text
    assert "This page has more than 1,000 hosts or connections, so these were not compared" in text
    page = (tmp_path / "page.html").read_text()
    assert "This page has more than 1,000 hosts or connections, so these were not compared" in page
    assert "No earlier connection could have served" not in text + page
    (tmp_path / "budget.toml").write_text("[budget]\nconnections = 2000\nredundant_connections = 9\n")
    judged = run("check", "budget", tmp_path / "budget.toml", har, "--format", "csv")
    assert [row.split(",")[5] for row in judged.stdout.splitlines()[1:]] == ["1001", ""]
    assert judged.returncode == 3


def entries_changed(har: Path, change: Callable[[dict[str, Any]], object], creator: str = "WebInspector") -> Path:
    """The file with ``change`` made to each of its entries."""
    log = json.loads(har.read_text())
    log["log"]["creator"]["name"] = creator
    for entry in log["log"]["entries"]:
        change(entry)
    har.write_text(json.dumps(log))
    return har


def names_of(**certificates: list[str]) -> Callable[[dict[str, Any]], object]:
    """Gives each entry the certificate of its connection, such as ``c1=[...]``: its names."""

    def change(entry: dict[str, Any]) -> None:
        names = certificates[f"c{entry['connection']}"]
        dates = {"validFrom": 1_700_000_000, "validTo": 1_900_000_000}
        entry["_securityDetails"] = {"protocol": "TLS 1.3", "subjectName": names[0], "sanList": names, "issuer": "X"}
        entry["_securityDetails"] |= dates

    return change


def test_a_file_without_connections_or_addresses_has_its_connect_phases(run, tmp_path: Path) -> None:
    """Of a recorder that does not tell connections apart, what it does tell is counted, and called what it is."""
    urls = [(f"https://{host}.site.test/{n}", HOME, None) for n, host in enumerate(["www", "a", "a", "b", "a"])]

    def change(entry: dict[str, Any]) -> None:
        del entry["serverIPAddress"]
        if entry["request"]["url"].endswith("/4"):
            entry["timings"] |= {"connect": -1, "ssl": -1}

    text = said(run, entries_changed(write_har(tmp_path / "page.har", urls), change, "Playwright"))
    assert "does not show which connection each request used" in text
    assert "By their connect phases, 4 requests opened a connection, to 3 hosts; more than one: " in text
    assert "more than one: a.site.test (2)." in text
    assert "No earlier connection could have served" not in text


def test_what_certificates_would_show_is_not_denied(run, tmp_path: Path) -> None:
    """Two networks; whether one's certificate covers the other's host, only one of the two files tells."""
    har = write_har(tmp_path / "page.har", [("https://www.a.test/", HOME, "1"), ("https://b.test/", "8.8.8.8", "2")])
    lacking = "The recording cannot show more: it lacks certificate names of 2 of 2 connections."
    assert f"No earlier connection could have served another. {lacking}" in said(run, har)
    text = said(run, entries_changed(har, names_of(c1=["www.a.test"], c2=["b.test"])))
    assert text.endswith("No earlier connection could have served another.")


def test_a_certificate_that_does_not_cover_its_host_is_named(run, tmp_path: Path) -> None:
    har = write_har(tmp_path / "page.har", [("https://www.a.test/", HOME, "1"), ("https://m.a.test/x", "8.8.8.8", "2")])
    text = said(run, entries_changed(har, names_of(c1=["www.a.test"], c2=["*.d3.stranger.test", "*.x.a.test"])))
    uncovered = "m.a.test (it names *.d3.stranger.test, *.x.a.test)"
    assert f"Presented a certificate that does not cover the host: {uncovered}." in text
    text = said(run, entries_changed(har, names_of(c1=["www.a.test"], c2=["*.a.test"])))
    assert "does not cover" not in text


def test_two_strangers_asked_for_at_once_are_neither_told_to_serve_each_other(run, tmp_path: Path) -> None:
    """They are on one network, and the file has neither certificates nor DNS answers."""
    urls = [("https://www.a.test/", HOME, "1"), ("https://pixel.b.test/", "172.217.15.115", "2")]
    text = said(run, write_har(tmp_path / "page.har", [*urls, ("https://ads.c.test/", "172.217.7.226", "3")]))
    assert (
        "1 connection: the recording does not show the cause, or the first cause; it lacks DNS answers (1), certif"
        in text
    )
    assert "ask pixel.b.test" not in text
    assert "the browser's makers" not in text


def test_strangers_on_one_network_may_have_one_owner(run, tmp_path: Path) -> None:
    urls = [("https://fonts.a.test/", "172.217.15.115", "1"), ("https://ads.c.test/", "172.217.7.226", "2")]
    har = write_har(tmp_path / "page.har", urls)
    text = said(run, entries_changed(har, names_of(c1=["fonts.a.test"], c2=["ads.c.test"])))
    assert (
        "1 connection: on the same network as an earlier one, but under other registrable domains; the recording"
        in text
    )
    assert "does not show whether one owner has both" in text


def test_cleartext_connections_are_counted_apart(run, tmp_path: Path) -> None:
    urls = [("https://www.a.test/", HOME, "1"), ("http://b.test/", NEAR, "2"), ("http://b.test/2", NEAR, "3")]
    text = said(run, write_har(tmp_path / "page.har", [*urls, ("http://c.test/", NEAR, "4")]))
    assert "3 connections to 2 hosts carried cleartext HTTP" in text
    assert "cleartext" not in said(run, write_har(tmp_path / "page.har", urls[:1]))


def test_what_the_plan_counts_as_saving_nothing_is_not_advised(run, tmp_path: Path) -> None:
    """A font is asked for without credentials, and so in no browser over the connection that the page came by."""
    urls = [("https://www.site.test/", HOME, "1"), ("https://img.site.test/one", NEAR, "2")]
    har = write_har(tmp_path / "page.har", urls)
    entries_changed(har, names_of(c1=["www.site.test"], c2=["img.site.test"]))
    advised = "add img.site.test to the certificate of www.site.test and list it in the ORIGIN frame there (acted on by"
    assert advised in said(run, har)

    def to_font(entry: dict[str, Any]) -> None:
        entry["_resourceType"] = "font" if entry["connection"] == "2" else "document"

    text = said(run, entries_changed(har, to_font))
    assert "ORIGIN frame there" not in text
    assert "1 connection: the page's server could name the host in its certificate and its ORIGIN frame, but by" in text


def test_a_page_over_http_does_not_own_the_first_host_that_it_asks_over_https(run, tmp_path: Path) -> None:
    urls = [
        ("http://www.site.test/", HOME, "1"),
        ("https://ads.b.test/", NEAR, "2"),
        ("https://ads.b.test/", NEAR, "3"),
    ]

    def untyped(entry: dict[str, Any]) -> None:
        del entry["_resourceType"]
        entry["request"]["httpVersion"] = entry["response"]["httpVersion"] = "http/1.1"

    text = said(run, entries_changed(write_har(tmp_path / "page.har", urls), untyped))
    assert "What the owners of other hosts would have to change: - (1) serve ads.b.test over HTTP/2" in text
    assert "What the site's owner can change" not in text
