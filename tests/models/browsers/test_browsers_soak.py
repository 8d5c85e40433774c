"""The models against real browsers: the table of rules cell by cell, the testbed's pages, scenarios drawn at random.

A tenth of each; all with ``ORIGINSET_SOAK=full``. What does not hold is listed with what was
seen and what was said.
"""

import os
import tomllib
from pathlib import Path

import polars as pl
import pytest
from browser_replays import Load, compare, load_all, tables_of_captures
from drawn_scenarios import drawn

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.testbed import Testbed
from originset.data.studies.study import Study

pytestmark = [
    pytest.mark.testbed, pytest.mark.browser, pytest.mark.soak, pytest.mark.alone, pytest.mark.timeout(3600)
]  # fmt: skip

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
DRAWN = tomllib.loads((Path(__file__).parent / "drawn.toml").read_text())["draw"][-1]

# Cells that the models miss, each with why.
EXPLAINED = {
    "http3-alt-svc": "Firefox goes over to HTTP/3 with the first answer that offers it, Chromium later; protocols are "
    "taken from Chromium's capture",
    "http3-alt-svc-origin": "likewise",
    "http3-origin-unknown": "Chromium does not ask DNS for a name in an ORIGIN frame, so its capture does not say that "
    "there is no such name: one or two. Firefox asks in vain; it has a second connection, for the page itself, where "
    "HTTP/2 wins its race with HTTP/3: in three of the five loads stored, in few of others",
}


def test_the_table_of_rules(tmp_path: Path) -> None:
    """Models of Chromium's captures against what both browsers did in the majority of five loads."""
    rules = [*rule_catalogue.rule_names()][:: 1 if FULL else 10]
    scenario = rule_catalogue.combined_scenario(rules)
    captures = tmp_path / "captures"
    with Testbed(scenario, tmp_path / "lab") as lab:
        for cookies in ("allowed", "blocked"):
            pages = [rule_catalogue.page(rule) for rule in rule_catalogue.rules_under(rules, cookies)]
            load_all(lab, pages, "chromium", cookies, captures)
    observed = rule_catalogue.observations()
    loads = [
        Load(
            rule_catalogue.page(cell.rule).host,
            cell.browser,
            cell.cookies,
            tuple(one.requests for one in outcome.connections),
        )
        for cell in observed.cells
        if cell.rule in rules
        for outcome in cell.outcomes
        for _ in outcome.loads
    ]
    found = compare(tables_of_captures(captures, Study(tmp_path / "study")), loads, scenario)
    missed = _missed(found)
    _show(missed, found)
    # A tenth of the rules has one that is explained, and leaves a race no room in a twentieth of it.
    assert missed.height <= max(2, 0.05 * found.height), missed.rows()
    rule_of = {rule_catalogue.page(rule).host: rule for rule in rules}
    surprises = missed.filter(~pl.col("site").replace_strict(rule_of).is_in(list(EXPLAINED)))
    # Races come out otherwise at times.
    assert surprises.height <= max(1, 0.01 * found.height), surprises.rows()


@pytest.mark.parametrize("name", ["small_internet", "captures"] if FULL else ["small_internet"])
def test_the_testbeds_pages(name: str, tmp_path: Path) -> None:
    scenario = scenario_file.built_in(name)
    pages = scenario.pages[:: 1 if FULL else 5]
    captures, loads = tmp_path / "captures", []
    with Testbed(scenario, tmp_path / "lab") as lab:
        for cookies in ("allowed", "blocked"):
            loads += load_all(lab, pages, "chromium", cookies, captures, loads=5 if FULL else 1)
        loads += load_all(lab, pages, "firefox", "allowed", captures, loads=5 if FULL else 1)
    found = compare(tables_of_captures(captures, Study(tmp_path / "study")), loads, scenario)
    # Chromium is told to use HTTP/3 for one of the pages, which Firefox is not.
    missed = _missed(found).filter(pl.col("site") != "promised.test")
    _show(missed, found)
    assert missed.height <= max(1, 0.05 * found.height), missed.rows()


def test_scenarios_drawn_at_random(tmp_path: Path) -> None:
    """The share that holds is a result, not a promise: it is printed, and what did not hold."""
    count = DRAWN["scenarios"] if FULL else DRAWN["scenarios"] // 10
    scenario = drawn(DRAWN["seed"], range(count))
    captures = tmp_path / "captures"
    with Testbed(scenario, tmp_path / "lab") as lab:
        loads = [
            load
            for cookies, first in (("allowed", 0), ("blocked", 1))
            for browser in ("chromium", "firefox")
            for load in load_all(lab, scenario.pages[first::2], browser, cookies, captures)
        ]
    found = compare(tables_of_captures(captures, Study(tmp_path / "study")), loads, scenario)
    missed = _missed(found)
    _show(missed, found)
    for browser in ("chromium", "firefox"):
        of_browser = missed.filter(pl.col("browser") == browser).height
        # As many as before, and what races and a few scenarios make of that.
        before = 1 - DRAWN[f"{browser}_within"] / (DRAWN["scenarios"] * DRAWN["loads"])
        assert of_browser / count <= before + 0.2, browser


def _missed(found: pl.DataFrame) -> pl.DataFrame:
    return found.filter(~pl.col("majority").is_between("low", "high"))


def _show(missed: pl.DataFrame, found: pl.DataFrame) -> None:
    print(f"{missed.height} of {found.height} do not hold:", *missed.rows(), sep="\n")  # noqa: T201 - the result
