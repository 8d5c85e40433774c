"""Other versions' outcomes: written into a rule's file and read again, equal ways together."""

from __future__ import annotations

import msgspec

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.observations import Cell, LoadOutcome, ObservedConnection
from originset.crawler.testbed.rules.rule_text import parse, serialize
from originset.crawler.testbed.rules.version_outcomes import VersionOutcome, version_lines, version_outcomes

RULE = "address-same"
WWW, STATIC = "www.address-same.test", "static.address-same.test"
SHARED = (ObservedConnection(WWW, "192.0.2.1", "h2", (f"{STATIC}/a", f"{WWW}/"), (f"{STATIC}/a",), 2),)
APART = (
    ObservedConnection(WWW, "192.0.2.1", "h2", (f"{WWW}/",)),
    ObservedConnection(STATIC, "192.0.2.2", "h3", (f"{STATIC}/a",)),
)


def observed(version: str, *ways: tuple[ObservedConnection, ...], flags: tuple[str, ...] = ()) -> list[VersionOutcome]:
    """A load for each way, which opened one more connection than it used."""
    cell = Cell(
        rule=RULE,
        browser="chromium",
        cookies="allowed",
        outcomes=tuple(LoadOutcome(way, (load,), () if way else (f"{WWW}/",)) for load, way in enumerate(ways)),
        opened=tuple(len(way) + 1 for way in ways),
        lookups={STATIC: {"A": (0,) * (len(ways) - 1) + (1,)}, WWW: {"A": (1,) * len(ways), "HTTPS": (1,) * len(ways)}},
    )
    return list(version_outcomes(cell, version, "headless-shell", flags, "2026-11-23"))


def test_a_file_with_other_versions_is_read_as_it_was_written() -> None:
    flags = ("--enable-features=One,Two", "--three")
    outcomes = (
        observed("88.0.1.2", APART)
        + observed("88.0.1.2", SHARED, flags=flags)
        + observed("110.0.1.2", SHARED, APART)
        + observed("131.0.1.2", ())
    )
    text = serialize(msgspec.structs.replace(rule_catalogue.read_rule(RULE), versions=tuple(outcomes)))
    read = parse(RULE, text)
    assert sorted(read.versions, key=str) == sorted(outcomes, key=str)
    assert serialize(read) == text
    assert read.observed == rule_catalogue.read_rule(RULE).observed


def test_versions_that_went_one_way_stand_above_one_table() -> None:
    lines = list(version_lines(RULE, observed("110.0.1.2", APART) + observed("88.0.1.2", APART)))
    assert [line.partition(" (")[0] for line in lines if line.startswith("- ")] == [
        "- Chromium 88.0.1.2",
        "- Chromium 110.0.1.2",
    ]
    assert sum(line.startswith("| opened for") for line in lines) == 1


def test_an_outcome_has_the_lookups_of_its_own_loads() -> None:
    first, second = observed("88.0.1.2", SHARED, APART)
    assert first.lookups == {WWW: ("A", "HTTPS")}
    assert second.lookups == {STATIC: ("A",), WWW: ("A", "HTTPS")}
    assert (first.count, first.loads, first.opened, second.opened) == (1, 2, (2,), (3,))
