"""Between which versions of a browser a rule changed. Pure, from the rules' files.

A rule whose loads go one way or the other in one and the same version is decided by a race: that two versions were seen
to differ there is no change. Versions are compared within one build: a headless-shell build differs from a browser with
windows in more than its age.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise

import msgspec

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.observations import Browser
from originset.crawler.testbed.rules.outcome_summary import outcome_summary
from originset.crawler.testbed.rules.rule_text import RuleText
from originset.crawler.testbed.rules.version_outcomes import VersionOutcome, version_outcomes


class BrowserColumn(msgspec.Struct, frozen=True):
    """A browser as it was observed: ``flags`` are those besides what all get."""

    browser: Browser
    version: str
    build: str
    flags: tuple[str, ...]

    @property
    def major(self) -> str:
        return self.version.partition(".")[0]

    @property
    def order(self) -> tuple[Browser, str, tuple[str, ...], tuple[int, ...]]:
        """Versions of one build and its flags follow one another."""
        return self.browser, self.build, self.flags, tuple(map(int, self.version.split(".")))


class ColumnSummary(msgspec.Struct, frozen=True):
    """What one browser did over all rules.

    ``rules`` were observed, with ``fewest_loads`` to ``most_loads`` loads each. ``uses_http3``: some load did;
    ``asks_https_records``: some load asked DNS for one.
    """

    rules: int
    fewest_loads: int
    most_loads: int
    uses_http3: bool
    asks_https_records: bool


class RuleChange(msgspec.Struct, frozen=True):
    """No load of ``before`` went as any of ``after``, the next version or another build of the same one."""

    rule: str
    before: BrowserColumn
    after: BrowserColumn
    ways_before: Ways
    ways_after: Ways


Ways = tuple[tuple[str, int], ...]
"""How loads of a rule went (:func:`outcome_summary` without paths), and how many did, the most frequent first."""


@cache
def columns() -> dict[BrowserColumn, ColumnSummary]:
    """Every browser that was observed with third-party cookies allowed, in order."""
    found: dict[BrowserColumn, list[VersionOutcome]] = {}
    rules: dict[BrowserColumn, set[str]] = {}
    for rule in rule_catalogue.rule_names():
        for one in _all_outcomes(rule_catalogue.read_rule(rule)):
            found.setdefault(_column(one), []).append(one)
            rules.setdefault(_column(one), set()).add(rule)
    return {
        column: ColumnSummary(
            rules=len(rules[column]),
            fewest_loads=min(one.loads for one in found[column]),
            most_loads=max(one.loads for one in found[column]),
            uses_http3=any(each.protocol == "h3" for one in found[column] for each in one.connections),
            asks_https_records=any("HTTPS" in types for one in found[column] for types in one.lookups.values()),
        )
        for column in sorted(found, key=lambda each: each.order)
    }


@cache
def rule_ways(rule: str) -> Mapping[BrowserColumn, Ways]:
    """How the loads of a rule went in each browser, in order; those that cannot load it (:func:`lacks`) left out."""
    found: dict[BrowserColumn, dict[str, int]] = {}
    for one in _all_outcomes(rule_catalogue.read_rule(rule)):
        ways = found.setdefault(_column(one), {})
        summary = outcome_summary(rule, one.connections, one.missing, paths=False)
        ways[summary] = ways.get(summary, 0) + one.count
    return {
        column: tuple(sorted(found[column].items(), key=lambda way: (-way[1], way[0])))
        for column in sorted(found, key=lambda each: each.order)
        if lacks(rule, column) is None
    }


def lacks(rule: str, column: BrowserColumn) -> str | None:
    """What a browser does not have that the rule is about: ``HTTP/3`` or ``HTTPS records``."""
    hosts = rule_catalogue.scenario(rule).hosts.values()
    summary = columns()[column]
    if any(host.http3 for host in hosts) and not summary.uses_http3:
        return "HTTP/3"
    if any(host.https_record for host in hosts) and not summary.asks_https_records:
        return "HTTPS records"
    return None


def rule_changes(rule: str) -> Iterator[RuleChange]:
    """Between versions of one build that were observed one after the other."""
    ways = rule_ways(rule)
    for before, after in pairwise(ways):
        if before.order[:3] == after.order[:3] and _differ(before, after, ways):
            yield RuleChange(rule, before, after, ways[before], ways[after])


def build_differences(rule: str) -> Iterator[RuleChange]:
    """Between the builds of one version, without flags."""
    ways = rule_ways(rule)
    plain = sorted((column for column in ways if not column.flags), key=lambda each: (each.version, each.build))
    for before, after in pairwise(plain):
        if (before.browser, before.version) == (after.browser, after.version) and _differ(before, after, ways):
            yield RuleChange(rule, before, after, ways[before], ways[after])


def _differ(before: BrowserColumn, after: BrowserColumn, ways: Mapping[BrowserColumn, Ways]) -> bool:
    """Whether no load of the one went as any of the other, and no version of the browser went both ways: a race."""
    earlier, later = ({way for way, _ in ways[one]} for one in (before, after))
    both_ways = ({way for way, _ in each} for column, each in ways.items() if column.browser == before.browser)
    return earlier.isdisjoint(later) and not any(each & earlier and each & later for each in both_ways)


def _column(one: VersionOutcome) -> BrowserColumn:
    return BrowserColumn(one.browser, one.version, one.build, one.flags)


def _all_outcomes(text: RuleText) -> Iterable[VersionOutcome]:
    """Those of the installed browsers, which are full builds, and of the others."""
    for section in text.observed:
        for cell in section.cells:
            if cell.cookies == "allowed":
                yield from version_outcomes(cell, section.version, "full", (), section.observed_on)
    yield from text.versions
