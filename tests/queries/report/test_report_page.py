"""The report in real browsers: used by keyboard alone, at both widths, silent, and deaf to what strangers put in it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from example_study import ROWS
from open_pages import OpenPage, opened

from originset.cli.common.study_report import report_contents
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.queries.report.report_contents import contents
from originset.queries.report.report_page import render

HOSTILE = [
    "<script>document.title='owned'</script>",
    "\" onload=\"document.title='owned'",
    "</style><script>document.title='owned'</script>",
    "javascript:document.title='owned'",
    "\u202egro.live\u202c",
    "x" * 10_000,
    "</script><img src=x onerror=document.title='owned'>",
    "{{ 7 * 7 }}${7*7}",
    "&lt;b&gt;",
]


def written(study: Study, path: Path, title: str = "example") -> Path:
    path.write_text(render(report_contents(study, title, 100)), encoding="utf-8")
    return path


@pytest.fixture
def report(study: Study, tmp_path: Path) -> Path:
    return written(study, tmp_path / "report.html")


class _Names(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.promise("reports-run-nothing")
def test_it_refers_to_nothing_outside(report: Path) -> None:
    names = _Names()
    names.feed(report.read_text())
    assert names.addresses
    assert all(address.startswith("#") for address in names.addresses)
    assert "@import" not in report.read_text()
    assert "url(" not in report.read_text()


def test_it_says_what_the_study_says(report: Path) -> None:
    names = _Names()
    names.feed(report.read_text())
    text = " ".join(" ".join(names.text).split())
    assert "6 visits of 5 sites" in text
    assert "one connection for each network" in text
    assert "serve api.tiny.test over HTTP/2" not in text  # its only connection
    assert "left out" in text


@pytest.mark.browser
@pytest.mark.parametrize("browser", ["chromium", "firefox"])
@pytest.mark.parametrize("width", [390, 1200])
def test_by_keyboard_alone(report: Path, browser: str, width: int) -> None:
    with opened(browser, report, width, 900) as page:
        assert page.run("return document.documentElement.scrollWidth") <= width
        # A pointer sent to where a row is now finds another there while the page still scrolls smoothly.
        page.run("document.documentElement.style.scrollBehavior = 'auto'")
        _opens_a_page(page)
        _opens_a_reason(page)
        _sorts_a_table(page)
        assert page.complaints == []
        assert page.asked in ([report.as_uri()], [])


def _tab_to(page: OpenPage, script: str) -> None:
    for _ in range(80):
        page.press("Tab")
        if page.run(f"return Boolean({script})"):
            return
    raise AssertionError(f"no way by Tab to: {script}")


def _opens_a_page(page: OpenPage) -> None:
    _tab_to(page, "document.activeElement.matches('details.page > summary')")
    page.press("Enter")
    assert page.run("return document.querySelector('details.page').open")


def _opens_a_reason(page: OpenPage) -> None:
    _tab_to(page, "document.activeElement.matches('table.connections summary')")
    page.press("Enter")
    assert page.run("return document.querySelector('table.connections details').open")


def _sorts_a_table(page: OpenPage) -> None:
    _tab_to(page, "document.activeElement.matches('details.table > summary')")
    page.press("Enter")
    _tab_to(page, "document.activeElement.matches('table.sortable th.n button')")
    column = (
        "const head = document.activeElement.closest('th'), body = head.closest('table').tBodies[0];"
        "return [...body.rows].map(row => row.cells[head.cellIndex].dataset.value)"
    )
    for key, descending in (("Enter", True), ("Enter", False)):
        page.press(key)
        values = [float(value) for value in page.run(column) if value != ""]
        assert len(values) > 1
        assert values == sorted(values, reverse=descending)
        order = page.run("return document.activeElement.closest('th').getAttribute('aria-sort')")
        assert order == ("descending" if descending else "ascending")


def _hostile_rows() -> dict[str, list[dict[str, Any]]]:
    """The example study with strangers' texts wherever these can come from."""
    text = iter(HOSTILE * 50)
    rows = json.loads(json.dumps(ROWS, default=str))
    renamed: dict[str, str] = {}
    for table, columns in {
        "requests": ("host", "url", "mime_type"), "connections": ("first_host",), "visits": ("site", "url", "vantage"),
        "certificates": ("subject_cn", "issuer_org"), "addresses": ("as_name",),
    }.items():  # fmt: skip
        for row in rows.get(table, []):
            for column in columns:
                if row.get(column):
                    row[column] = renamed.setdefault(row[column], f"{next(text)}{len(renamed)}")
            row.pop("started_at", None)
    return rows


@pytest.mark.promise("reports-run-nothing")
@pytest.mark.browser
@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_nothing_of_a_stranger_runs(
    build_study: Callable[[dict, Parameters], Study], tmp_path: Path, browser: str
) -> None:
    study = build_study(_hostile_rows(), Parameters())
    path = written(study, tmp_path / "hostile.html", HOSTILE[0])
    assert re.search(r"default-src &#39;none&#39;", path.read_text())
    assert "\u202e" not in path.read_text()
    with opened(browser, path, 1200, 900) as page:
        page.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert page.run("return document.title").startswith("Connections of <script>")
        assert page.run("return document.querySelectorAll('script').length") == 1
        assert page.run("return document.querySelectorAll('img, iframe, [onload], [onerror]').length") == 0
        assert page.run("return document.body.textContent.includes('7 * 7')")
        assert page.complaints == []


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core's script."""
    return resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1300, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(report: Path, axe: str, dark: bool, width: int) -> None:
    with opened("chromium", report, width, 900, dark=dark) as page:
        assert page.run("return document.querySelectorAll('.lanes svg path').length") > 0
        assert page.run("return document.documentElement.scrollWidth") <= width
        page.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
        page.run(axe)
        found = page.run(
            "return axe.run().then(result => result.violations.map(v => [v.id, v.nodes.map(n => n.html)]))"
        )
    assert found == []


def _with_ladder(study: Study, totals: dict[str, int], bounds: tuple[float, float] | None = None) -> str:
    """The report of a single visit with these rungs, the first measured; ``bounds`` of what each saves."""
    with open_database(study) as connection:
        made = contents(connection, "example", 100)
    measured = next(iter(totals.values()))
    rows = [
        {"counts": "TLS connections", "rung": rung, "comparison_only": rung != "measured", "total": total,
         "saved_pct": 100 * (measured - total) / measured,
         "saved_pct_low": bounds and bounds[0], "saved_pct_high": bounds and bounds[1]}
        for rung, total in totals.items()
    ]  # fmt: skip
    one = {**made.facts, "visits": 1, "sites": 1}
    page = dataclasses.replace(made.pages[0], facts={**made.pages[0].facts, **ONE_OF_EACH})
    return render(dataclasses.replace(made, ladders=[(None, pl.DataFrame(rows))], facts=one, pages=[page]))


ONE_OF_EACH = {"measured_tls": 1, "paired_ideal_deployable": 1, "paired_ideal_origin": 1, "browser": "chromium"}
ONE_OF_EACH |= {"browser_version": None, "quality": ["warm_sockets"], "status": "ok", "recorder": "netlog"}
ONE_OF_EACH |= {"vantage": None, "round": None, "third_party_cookies": None}


def test_more_than_measured_is_called_more_and_drawn_longer(study: Study) -> None:
    page = _with_ladder(study, {"measured": 534, "at most": 986, "at least": 267})
    assert "84.6 % more" in page
    assert "50.0 % less" in page
    assert "-84.6" not in page
    widths = [float(width) for width in re.findall(r'class="fill" width="([\d.]+)"', page)]
    assert widths == pytest.approx([100 * 534 / 986, 100, 100 * 267 / 986], abs=0.01)


def test_one_is_not_several(study: Study) -> None:
    text = _with_ladder(study, {"measured": 1})
    assert "1 visit of 1 site" in text
    assert "1 connection; 1 would remain (deployable), 1 (one per network)" in text
    assert "Recorded by netlog with chromium (some connections were already open)</bdi>." in text
    assert not re.search(r"\b1 (visits|sites|networks|connections|hosts|rows|pages|inputs)\b", text)


@pytest.mark.parametrize(
    ("bounds", "drawn"),
    [((14.2, 33.0), "14\N{EN DASH}33"), ((-122.0, -59.4), "59\N{EN DASH}122"), ((-5.0, 9.0), "5 more to 9 less")],
)
def test_bounds_go_up(study: Study, bounds: tuple[float, float], drawn: str) -> None:
    assert f"<small>({drawn})</small>" in _with_ladder(study, {"measured": 4, "deployable": 3}, bounds)


@pytest.mark.browser
def test_reasons_are_in_sight_on_a_narrow_screen(report: Path) -> None:
    with opened("chromium", report, 400, 900) as page:
        page.run("document.querySelectorAll('details.page').forEach(one => { one.open = true })")
        places = page.run(
            "return [...document.querySelectorAll('table.connections')].map(table => {"
            "  const edge = table.parentElement.getBoundingClientRect().right;"
            "  return [table.parentElement.scrollWidth - table.parentElement.clientWidth,"
            "    [...table.querySelectorAll('td:last-child')].every(one => one.getBoundingClientRect().right <= edge)];"
            "})"
        )
    assert places
    assert all(place == [0, True] for place in places)


@pytest.mark.browser
def test_steps_keep_their_words_on_a_narrow_screen(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "narrow.html"
    rungs = {"measured": 534, "Chromium with servers as they are, at most": 986}
    path.write_text(_with_ladder(study, rungs, (-122.0, 59.0)), encoding="utf-8")
    with opened("chromium", path, 390, 900) as page:
        step = "return document.querySelector('.ladder tbody th').getBoundingClientRect().width"
        assert page.run(step) > 130


def test_a_group_that_measured_nothing_has_no_heading(build_study, example_rows) -> None:
    visits = [{**row, "browser": "webkit"} if row["status"] == "failed" else row for row in example_rows["visits"]]
    with open_database(build_study({**example_rows, "visits": visits}, Parameters())) as connection:
        made = contents(connection, "example", 100)
    assert [name for name, _ in made.ladders] == ["unknown browser", "chromium at here", "chromium at there"]
    assert any(sentence.startswith("webkit at here, TLS connections: not counted") for sentence in made.rests_on)
