"""What other versions of the browsers did: the last section of a rule's file.

One table of connections for each way that loads went, below the versions that did so. A version whose loads did not
all go the same way stands above several tables. All were observed with third-party cookies allowed, unless a flag says
otherwise, and without latency.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from originset.crawler.testbed.rules.connection_table import outcome_lines, parse_outcome, short_name, whole_name
from originset.crawler.testbed.rules.observations import Browser, Cell, ObservedConnection

_TITLES: dict[str, Browser] = {"Chromium": "chromium", "Firefox": "firefox"}
_NAMES = {browser: title for title, browser in _TITLES.items()}
_LINE = re.compile(
    r"- (?P<title>Chromium|Firefox) (?P<version>[\d.]+) \((?P<build>[a-z-]+)(?P<flags>(?:, [^\s()]+(?<!,))*)\): "
    r"(?P<count>\d+) of (?P<loads>\d+) on (?P<day>\S+); handshakes: (?P<opened>[\d ]+)(?:; DNS queries: (?P<dns>.+))?"
)
# A way begins with the versions that went it.
_NEXT_WAY = re.compile(r"\n\n(?=- )")


class VersionOutcome(msgspec.Struct, frozen=True):
    """One way that loads went in one version: ``count`` of ``loads``.

    ``build`` is ``full`` or ``headless-shell``; ``flags``: what it was started with besides what all get. ``opened``:
    handshakes of these loads. ``lookups``: the types of records that any of them asked the DNS server for, by host.
    """

    browser: Browser
    version: str
    build: str
    flags: tuple[str, ...]
    observed_on: str
    count: int
    loads: int
    connections: tuple[ObservedConnection, ...]
    missing: tuple[str, ...]
    opened: tuple[int, ...]
    lookups: dict[str, tuple[str, ...]]

    @property
    def key(self) -> tuple[Browser, tuple[int, ...], str, tuple[str, ...]]:
        """What was observed, in the order of versions."""
        return self.browser, tuple(map(int, self.version.split("."))), self.build, self.flags


def version_outcomes(
    cell: Cell, version: str, build: str, flags: tuple[str, ...], observed_on: str
) -> tuple[VersionOutcome, ...]:
    """A cell as a rule's file has it for other versions."""
    return tuple(
        VersionOutcome(
            browser=cell.browser,
            version=version,
            build=build,
            flags=flags,
            observed_on=observed_on,
            count=len(outcome.loads),
            loads=len(cell.opened),
            connections=outcome.connections,
            missing=outcome.missing,
            opened=tuple(cell.opened[load] for load in outcome.loads),
            lookups={
                host: kinds
                for host, types in cell.lookups.items()
                if (kinds := tuple(kind for kind, counts in types.items() if any(counts[one] for one in outcome.loads)))
            },
        )
        for outcome in cell.outcomes
    )


def version_lines(rule: str, outcomes: Sequence[VersionOutcome]) -> Iterator[str]:
    """The section below its title: equal ways together, in the order of the first version that each has."""
    ways: dict[tuple[tuple[ObservedConnection, ...], tuple[str, ...]], list[VersionOutcome]] = {}
    for one in _in_order(outcomes):
        ways.setdefault((one.connections, one.missing), []).append(one)
    for (connections, missing), those in ways.items():
        for one in those:
            yield _line(rule, one)
        yield ""
        yield from outcome_lines(rule, connections, missing)


def parse_versions(rule: str, text: str) -> tuple[VersionOutcome, ...]:
    """The outcomes of a section that :func:`version_lines` wrote; what is not written so is left out."""
    return tuple(
        _in_order(
            _outcome(rule, line, *parse_outcome(rule, way))
            for way in _NEXT_WAY.split(text)
            for line in _LINE.finditer(way)
        )
    )


def _outcome(
    rule: str, line: re.Match[str], connections: tuple[ObservedConnection, ...], missing: tuple[str, ...]
) -> VersionOutcome:
    return VersionOutcome(
        browser=_TITLES[line["title"]],
        version=line["version"],
        build=line["build"],
        flags=tuple(line["flags"].split(", ")[1:]),
        observed_on=line["day"],
        count=int(line["count"]),
        loads=int(line["loads"]),
        connections=connections,
        missing=missing,
        opened=tuple(map(int, line["opened"].split())),
        lookups=_lookups(rule, line["dns"] or ""),
    )


def _in_order(outcomes: Iterable[VersionOutcome]) -> list[VersionOutcome]:
    return sorted(outcomes, key=lambda one: (one.key, -one.count, one.connections != (), str(one.connections)))


def _line(rule: str, one: VersionOutcome) -> str:
    build = ", ".join((one.build, *one.flags))
    hosts: dict[tuple[str, ...], list[str]] = {}
    for host, types in sorted(one.lookups.items()):
        hosts.setdefault(types, []).append(short_name(host, rule))
    asked = "; ".join(f"{' '.join(types)} of {' '.join(names)}" for types, names in sorted(hosts.items()))
    return (
        f"- {_NAMES[one.browser]} {one.version} ({build}): {one.count} of {one.loads} on {one.observed_on}; "
        f"handshakes: {' '.join(map(str, one.opened))}" + (f"; DNS queries: {asked}" if asked else "")
    )


def _lookups(rule: str, text: str) -> dict[str, tuple[str, ...]]:
    """By host, in the order of names, as a cell has them."""
    queries = (part.partition(" of ") for part in text.split("; ") if part)
    found = {whole_name(host, rule): tuple(types.split()) for types, _, hosts in queries for host in hosts.split()}
    return dict(sorted(found.items()))
