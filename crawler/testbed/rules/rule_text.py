"""A rule's file, ``texts/RULE.md``: its title, why it is asked, its scenario, and what each browser did.

The scenario is TOML, as scenario files have it (``crawler/testbed/scenarios/captures.toml`` explains every key), but
for what nearly all rules have in common:

- a host name without a dot is below ``RULE.test``, and the word RULE in a text is the rule's name;
- a host has the certificate ``all`` unless it names another; unless the rule has one of that name, it is for all hosts;
- without a ``site`` the page is that of ``www``, which loads ``static/a.css``, ``a.js``, ``a.svg`` and its own
  ``b.svg``.

A section for each browser follows, with its version; a paragraph for each setting of third-party cookies says how many
loads went which way. Host names are shortened as in the scenario. ``make rules`` writes these sections.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from originset.crawler.testbed.rules.connection_table import outcome_lines, parse_outcome, short_name, whole_name
from originset.crawler.testbed.rules.observations import Browser, Cell, Cookies, LoadOutcome
from originset.crawler.testbed.rules.version_outcomes import VersionOutcome, parse_versions, version_lines
from originset.data.errors import InputError
from originset.data.reference.browser_rules import BROWSER_TITLES

_FILE = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?P<why>(?:[^\n#`][^\n]*\n)*)\n?```toml\n(?P<toml>.*?)```\n(?P<observed>.*)", re.DOTALL
)
_BROWSER = re.compile(r"^## (Chromium|Firefox) (\S+)\n\n(\d+) loads on (\S+), latency: (.+)\.\n", re.MULTILINE)
_COOKIES = re.compile(r"^### Third-party cookies (allowed|blocked)\n", re.MULTILINE)
_LOADS = re.compile(r"^Loads ([\d, ]+):\n\n", re.MULTILINE)
_LABEL_URL = re.compile(r"([a-z]+://)([a-z0-9-]+)((?::\d+)?(?:/.*)?)")
_VERSIONS = "## Other versions\n\n"
# Keys whose values are host names; others have URLs and origins.
_NAMES = frozenset({"alias", "lands_on"})
_PAGE = {
    "loads": [
        {"style": "https://static/a.css"},
        {"script": "https://static/a.js"},
        {"image": "https://static/a.svg"},
        {"image": "https://www/b.svg"},
    ]
}


class BrowserSection(msgspec.Struct, frozen=True):
    """One browser's section: its version, how and when it was observed, and its cells."""

    browser: Browser
    version: str
    loads: int
    observed_on: str
    latency: str
    cells: tuple[Cell, ...]


class RuleText(msgspec.Struct, frozen=True):
    """A rule's file. ``why``: what the title leaves open, in a paragraph; ``toml``: the scenario as it is written.

    ``observed``: the installed browsers; ``versions``: others.
    """

    rule: str
    title: str
    why: str
    toml: str
    observed: tuple[BrowserSection, ...]
    versions: tuple[VersionOutcome, ...] = ()

    def scenario(self) -> dict[str, Any]:
        """The scenario's tables, whole: as a scenario file has them.

        Raises:
            InputError: it is no TOML.
        """
        try:
            tables: dict[str, Any] = tomllib.loads(self.toml.replace("RULE", self.rule))
        except ValueError as error:
            raise InputError(_name(self.rule), "not-toml", str(error)) from error
        hosts = {
            whole_name(name, self.rule): _with_whole_names(one, self.rule)
            for name, one in tables.get("host", {}).items()
        }
        for host in hosts.values():
            host.setdefault("certificate", "all")
        certificates = {
            name: {**one, "names": [whole_name(each, self.rule) for each in one["names"]]}
            for name, one in tables.get("certificate", {}).items()
        }
        if any(host["certificate"] == "all" for host in hosts.values()):
            certificates.setdefault("all", {"names": list(hosts)})
        site = tables.get("site", {"www": _PAGE})
        return {
            **tables,
            "title": self.title,
            "missing": [whole_name(name, self.rule) for name in tables.get("missing", [])],
            "certificate": certificates,
            "host": hosts,
            "site": {whole_name(name, self.rule): _with_whole_names(one, self.rule) for name, one in site.items()},
        }


def parse(rule: str, text: str) -> RuleText:
    """A rule's file.

    Raises:
        InputError: it is not written as :func:`serialize` writes it.
    """
    found = _FILE.fullmatch(text)
    if found is None:
        raise InputError(_name(rule), "bad-rule", "is no title, scenario and observations")
    seen, _, others = found["observed"].partition(_VERSIONS)
    heads = list(_BROWSER.finditer(seen))
    ends = [*(head.start() for head in heads[1:]), len(seen)]
    try:
        observed = tuple(
            _browser_section(rule, head, seen[head.end() : end]) for head, end in zip(heads, ends, strict=False)
        )
        versions = parse_versions(rule, others)
    except ValueError:  # a number that is none
        observed, versions = (), ()
    parsed = RuleText(rule, found["title"], found["why"].strip(), found["toml"], observed, versions)
    if serialize(parsed) != text:
        raise InputError(_name(rule), "bad-rule", "has observations that are not written as make rules writes them")
    return parsed


def serialize(text: RuleText) -> str:
    """The file."""
    return "\n".join(_lines(text))


def _lines(text: RuleText) -> Iterator[str]:
    yield from (f"# {text.title}", "")
    if text.why:
        yield from (text.why, "")
    yield from ("```toml", f"{text.toml}```", "")
    for one in text.observed:
        yield from (f"## {BROWSER_TITLES[one.browser]} {one.version}", "")
        yield from (f"{one.loads} loads on {one.observed_on}, latency: {one.latency}.", "")
        for cell in one.cells:
            yield from _cell_lines(cell)
    if text.versions:
        yield from (_VERSIONS.rstrip(), "")
        yield from version_lines(text.rule, text.versions)


def _cell_lines(cell: Cell) -> Iterator[str]:
    yield from (f"### Third-party cookies {cell.cookies}", "")
    for outcome in cell.outcomes:
        yield from (f"Loads {', '.join(str(load + 1) for load in outcome.loads)}:", "")
        yield from outcome_lines(cell.rule, outcome.connections, outcome.missing)
    yield from (f"Handshakes: {_counts(cell.opened)}", "")
    for host, types in sorted(cell.lookups.items()):
        asked = "; ".join(f"{rtype} {_counts(counts)}" for rtype, counts in sorted(types.items()))
        yield f"- DNS queries for {short_name(host, cell.rule)}: {asked}"
    yield ""


def _counts(counts: Sequence[int]) -> str:
    return " ".join(map(str, counts))


def _browser_section(rule: str, head: re.Match[str], text: str) -> BrowserSection:
    browser: Browser = "chromium" if head[1] == "Chromium" else "firefox"
    parts = _COOKIES.split(text)[1:]
    cells = tuple(
        _cell(rule, browser, "allowed" if cookies == "allowed" else "blocked", body)
        for cookies, body in zip(parts[::2], parts[1::2], strict=True)
    )
    return BrowserSection(browser, head[2], int(head[3]), head[4], head[5], cells)


def _cell(rule: str, browser: Browser, cookies: Cookies, text: str) -> Cell:
    parts = _LOADS.split(text)[1:]
    outcomes = tuple(_outcome(rule, loads, body) for loads, body in zip(parts[::2], parts[1::2], strict=True))
    opened = re.search(r"^Handshakes: (.+)$", text, re.MULTILINE)
    lookups = {
        whole_name(host, rule): {
            rtype: _numbers(counts) for rtype, _, counts in (each.partition(" ") for each in asked.split("; "))
        }
        for host, asked in re.findall(r"^- DNS queries for (\S+): (.+)$", text, re.MULTILINE)
    }
    return Cell(rule, browser, cookies, outcomes, _numbers(opened[1]) if opened else (), lookups)


def _outcome(rule: str, loads: str, text: str) -> LoadOutcome:
    connections, missing = parse_outcome(rule, text)
    return LoadOutcome(connections, tuple(int(load) - 1 for load in loads.split(", ")), missing)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(" ")))


def _with_whole_names(value: Any, rule: str) -> Any:  # noqa: ANN401 - any part of a TOML file
    """A part of the scenario with its URLs and origins whole."""
    if isinstance(value, Mapping):
        return {
            key: whole_name(one, rule) if key in _NAMES and isinstance(one, str) else _with_whole_names(one, rule)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [_with_whole_names(one, rule) for one in value]
    if isinstance(value, str) and (found := _LABEL_URL.fullmatch(value)) is not None:
        return f"{found[1]}{whole_name(found[2], rule)}{found[3]}"
    return value


def _name(rule: str) -> str:
    return f"{rule}.md"
