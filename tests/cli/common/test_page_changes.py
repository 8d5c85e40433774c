"""What a page's owner can change, from a recording to the numbers on the page: each worked out by hand here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hand_made_har import write_har
from msgspec import structs

from originset.cli.common.study_report import report_contents
from originset.cli.modelling.scratch_study import study_of
from originset.models.plans.change_savings import MOST_TRIED_ALONE
from originset.queries.report.change_sentences import saved_sentence
from originset.queries.report.connection_lanes import waterfalls
from originset.queries.report.explained_changes import Bounds, OwnerChange
from originset.queries.report.explanation import explanation
from originset.queries.report.report_contents import Page
from originset.queries.report.report_page import render

HOME, NEAR, FAR = "104.20.8.1", "104.20.8.2", "151.101.1.140"
URLS = [
    ("https://www.site.test/", HOME, "1"),
    ("https://img.site.test/one", HOME, "2"),
    ("https://img.site.test/two", HOME, "2"),
    ("https://fonts.other.test/three", FAR, "3"),
]
NAMES = {"1": "www.site.test", "2": "img.site.test", "3": "fonts.other.test"}
# Starts and phases in ms: blocked, dns, connect, send, wait, receive. The document's answer begins at 31.
TIMES = [
    (0, 0, 10, 10, 1, 10, 9),
    (40, 0, 10, 20, 0, 10, 10),
    (95, 0, 0, 0, 0, 10, 10),
    (120, 0, 0, 30, 0, 10, 20),
]


def recorded(folder: Path, change: Callable[[dict[str, Any]], object] = lambda _log: None) -> Path:
    """Requests with certificates over three connections, their load event at 180 ms."""
    path = write_har(folder / "page.har", URLS)
    log = json.loads(path.read_text())
    for entry, (start, *phases) in zip(log["log"]["entries"], TIMES, strict=True):
        entry["startedDateTime"] = f"2026-11-01T00:00:00.{start:03d}Z"
        entry["timings"] = dict(zip(("blocked", "dns", "connect", "send", "wait", "receive"), phases, strict=True))
        if not phases[2]:
            entry["timings"] |= {"dns": -1, "connect": -1}
        if entry["timings"]["connect"] > 0 and not phases[1]:
            entry["timings"]["dns"] = -1
        entry["time"] = sum(phases)
        name = NAMES[entry["connection"]]
        dates = {"validFrom": 1_700_000_000, "validTo": 1_900_000_000}
        entry["_securityDetails"] = {"protocol": "TLS 1.3", "subjectName": name, "sanList": [name], "issuer": "X"}
        entry["_securityDetails"] |= dates
    log["log"]["pages"][0]["pageTimings"]["onLoad"] = 180
    change(log["log"])
    path.write_text(json.dumps(log))
    return path


def explained(path: Path) -> tuple[Page, str]:
    with study_of([path]) as study:
        contents = report_contents(study, "page", pages=1)
    return contents.pages[0], render(contents)


def test_what_a_name_in_the_certificate_saves(tmp_path: Path) -> None:
    page, html = explained(recorded(tmp_path))
    (change,) = page.changes
    assert change.fix == "add img.site.test to the certificate of www.site.test, which is at the same address"
    assert (change.saved, change.connections) == ((0, 1), [2]), "whether images were sent with credentials, it lacks"
    assert change.lookups == 0, "the browser asks DNS before it finds the connection"
    assert change.handshake_bytes is None, "a DevTools HAR has no sizes of certificates"
    assert page.timeline is not None
    assert page.timeline.carriers == {2: 1}
    assert "0 to 1 connection; 0 lookups; bytes: the file does not say" in html
    drawing = waterfalls(page.timeline, page.connections, page.facts)
    assert drawing is not None
    assert [panel.count for panel in drawing.panels] == [(3, 3), (2, 3), (2, 2)]
    first, after, _ = drawing.panels
    assert [(lane.number, lane.redundant, lane.could_be) for lane in first.lanes] == [
        (1, False, None), (2, True, 1), (3, False, None),
    ]  # fmt: skip
    assert [(lane.number, lane.carries) for lane in after.lanes] == [(1, [2]), (3, [])]


def test_programs_are_told_the_numbers_of_the_page(tmp_path: Path) -> None:
    with study_of([recorded(tmp_path)]) as study:
        contents = report_contents(study, "page", pages=1)
    page, told = contents.pages[0], explanation(contents).pages[0]
    (change,) = told.owner_changes
    assert change == OwnerChange(
        change=page.changes[0].fix, connections=[2], connections_saved=Bounds(0, 1), lookups_saved=0,
        handshake_bytes_saved=None, load_ms_saved=Bounds(*page.changes[0].load_ms or ()),
        load_ms_exceeds_errors=False,
        connections_saved_elsewhere={"firefox": Bounds(*page.changes[0].elsewhere["firefox"])},
    )  # fmt: skip
    assert told.owner_changes_together == structs.replace(change, change=None)
    assert told.owner_changes_untried == 0
    assert [state.state for state in told.states] == ["recorded", "changed", "best"]
    assert [state.connections for state in told.states] == [Bounds(3, 3), Bounds(2, 3), Bounds(2, 2)]
    assert told.states[0].load_ms == Bounds(180, 180)
    first, after, _ = told.states
    assert [request.connection for request in first.requests] == [1, 2, 2, 3]
    assert [request.connection for request in after.requests] == [1, 1, 1, 3]
    font = first.requests[-1]
    assert (font.host, font.begun_ms, font.sent_ms, font.answered_ms, font.ended_ms) == pytest.approx(
        ("fonts.other.test", 120, 150, 160, 180)
    )
    (hint,) = told.preconnects
    assert (hint.host, hint.connection, hint.saved_ms) == ("fonts.other.test", 3, pytest.approx(30))


def test_a_connection_that_the_document_could_have_announced(tmp_path: Path) -> None:
    """The font's handshake of 30 ms begins at 120 and the document's answer at 31; it ends at 180, and so the page."""
    page, html = explained(recorded(tmp_path))
    (hint,) = page.preconnects
    assert (hint.host, hint.number) == ("fonts.other.test", 3)
    assert (hint.opened_ms, hint.announced_ms, hint.saved_ms) == pytest.approx((120, 31, 30))
    assert "with a preconnect in the document up to 30 ms less, by the paper&#39;s timeline" in html

    def later(log: dict[str, Any]) -> None:
        log["pages"][0]["pageTimings"]["onLoad"] = 116

    assert explained(recorded(tmp_path, later))[0].preconnects == [], "the load event did not wait for it"


def test_what_the_file_lacks_is_said(tmp_path: Path) -> None:
    def without_load(log: dict[str, Any]) -> None:
        log["pages"][0]["pageTimings"]["onLoad"] = -1

    page, html = explained(recorded(tmp_path, without_load))
    assert page.changes[0].load_ms is None
    assert "ms: the file does not say (without a load event)" in saved_sentence(
        page.changes[0], "the file does not say (without a load event)", "chromium"
    )
    assert "the page is left out of load times, without a load event" in html
    assert page.preconnects == []


def test_an_origin_frame_saves_nothing_where_the_browser_does_not_heed_it(tmp_path: Path) -> None:
    def elsewhere(log: dict[str, Any]) -> None:
        for entry in log["entries"]:
            if entry["connection"] == "2":
                entry["serverIPAddress"] = NEAR

    page, _ = explained(recorded(tmp_path, elsewhere))
    (change,) = page.changes
    assert "list it in the ORIGIN frame" in (change.fix or "")
    assert change.saved == (0, 0)
    assert change.elsewhere == {"firefox": (0, 1)}
    assert page.timeline is not None
    assert page.timeline.carriers == {}


def test_at_best_as_many_connections_as_the_ladder_counts(tmp_path: Path) -> None:
    """A connection whose handshake took no measured time is carried by another, too."""

    def without_handshakes(log: dict[str, Any]) -> None:
        for entry in log["entries"][1:]:
            entry["timings"] |= {"dns": -1, "connect": -1}

    page, _ = explained(recorded(tmp_path, without_handshakes))
    assert page.timeline is not None
    drawing = waterfalls(page.timeline, page.connections, page.facts)
    assert drawing is not None
    assert drawing.panels[-1].count == (page.facts["paired_ideal_origin"],) * 2 == (2, 2)


def test_a_page_with_very_many_changes(tmp_path: Path) -> None:
    """As a stranger's file can have them: one for each host."""
    hosts = [f"img{number}.site.test" for number in range(25)]
    path = write_har(
        tmp_path / "page.har", [(URLS[0][0], HOME, "0"), *((f"https://{host}/", HOME, host[3:5]) for host in hosts)]
    )
    log = json.loads(path.read_text())
    for number, (entry, host) in enumerate(zip(log["log"]["entries"], ["www.site.test", *hosts], strict=True)):
        entry["connection"] = str(number)
        entry["_securityDetails"] = {"protocol": "TLS 1.3", "subjectName": host, "sanList": [host], "issuer": "X"}
        entry["_securityDetails"] |= {"validFrom": 1_700_000_000, "validTo": 1_900_000_000}
    path.write_text(json.dumps(log))
    page, html = explained(path)
    advised = {entry["fix"] for entry in page.connections} - {None}
    assert len(advised) > MOST_TRIED_ALONE
    assert (len(page.changes), page.further_changes) == (MOST_TRIED_ALONE, len(advised) - MOST_TRIED_ALONE)
    assert page.together is not None
    assert f"And {page.further_changes} changes for fewer connections, tried only together with these." in html


def test_a_number_that_the_rules_do_not_give_is_one_of_two(tmp_path: Path) -> None:
    """Two connections to one host over HTTP/2, of which the rules explain one. After the change none is left."""

    def two(log: dict[str, Any]) -> None:
        first, second = log["entries"][1:3]
        first["timings"]["receive"] = 100
        second["timings"] |= {"dns": 0, "connect": 5}
        second["connection"] = "4"
        second["_securityDetails"] = first["_securityDetails"]
        for entry in (first, second):
            entry["_resourceType"] = "document"

    page, _ = explained(recorded(tmp_path, two))
    (change,) = (change for change in page.changes if "to the certificate" in (change.fix or ""))
    assert change.saved == (1, 2)


def test_a_preconnect_is_in_no_recording(tmp_path: Path) -> None:
    """Firefox shares one connection among both ways of asking, unless the page announced one for the other way."""

    def both_ways(log: dict[str, Any]) -> None:
        *_, second, third = log["entries"]
        third["request"]["url"] = "https://img.site.test/three"
        third |= {name: second[name] for name in ("serverIPAddress", "_securityDetails")}
        third["startedDateTime"] = "2026-11-01T00:00:00.400Z"
        second["timings"]["receive"] = 500
        for entry, kind in zip(log["entries"][1:], ("preflight", "preflight", "document"), strict=True):
            entry["_resourceType"] = kind

    page, _ = explained(recorded(tmp_path, both_ways))
    (change,) = (change for change in page.changes if "in one way" in (change.fix or ""))
    assert change.saved == (1, 1)
    assert change.elsewhere == {"firefox": (0, 1)}
