"""The rules: their files, their scenarios one by one or all in one testbed, and what was observed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.rules.observations import Browser, Cell, Cookies, Observations
from originset.crawler.testbed.rules.rule_text import BrowserSection, RuleText, parse, serialize
from originset.crawler.testbed.rules.version_outcomes import VersionOutcome
from originset.crawler.testbed.scenario import Certificate, Host, Resource, Scenario
from originset.data.errors import InputError
from originset.data.files.atomic_files import replacing

_TEXTS = resources.files("originset.crawler.testbed.rules") / "texts"
_SUFFIX = ".md"

# A few of every kind, which differ from one another under some browser; the tests observe them again.
CORE = (
    "address-same",
    "address-same-cross-site",
    "address-different",
    "address-overlap-unconnected",
    "certificate-missing",
    "origin-complete",
    "origin-own-only-same-address",
    "credentials-crossorigin",
    "http3-different",
    "http3-origin-complete",
)


def rule_names() -> tuple[str, ...]:
    """All rules, sorted."""
    return tuple(sorted(one.name.removesuffix(_SUFFIX) for one in _TEXTS.iterdir() if one.name.endswith(_SUFFIX)))


def read_rule(rule: str, folder: Path | None = None) -> RuleText:
    """A rule's file, in another folder than the installed one where that is given. Raises ``InputError``."""
    return parse(rule, ((folder or _TEXTS) / f"{rule}{_SUFFIX}").read_text(encoding="utf-8"))


@cache
def scenario(rule: str) -> Scenario:
    """A rule's scenario: one site."""
    return scenario_file.from_tables(read_rule(rule).scenario(), f"{rule}{_SUFFIX}")


@cache
def observations() -> Observations:
    """What the rules' files say that browsers did.

    Raises:
        InputError: two rules were observed with other browsers, loads or latency.
    """
    versions: dict[Browser, str] = {}
    conditions: set[tuple[int, str]] = set()
    days: list[str] = []
    cells: list[Cell] = []
    for rule in rule_names():
        for one in read_rule(rule).observed:
            conditions.add((one.loads, one.latency))
            days.append(one.observed_on)
            cells += one.cells
            if versions.setdefault(one.browser, one.version) != one.version or len(conditions) > 1:
                problem = "was observed with another browser, number of loads or latency than others: make rules"
                raise InputError(f"{rule}{_SUFFIX}", "bad-observations", problem)
    loads, latency = conditions.pop() if conditions else (0, "none")
    return Observations(versions, max(days, default=""), latency, loads, tuple(sorted(cells, key=lambda one: one.key)))


def write_observations(seen: Observations, folder: Path) -> None:
    """Write what was seen into the files of its rules in ``folder``, in place of what they say of these browsers.

    Raises:
        InputError: a file is not written as it should be.
        StorageError: the disk is full or failed.
    """
    by_rule: dict[str, dict[Browser, list[Cell]]] = {}
    for cell in sorted(seen.cells, key=lambda one: one.key):
        by_rule.setdefault(cell.rule, {}).setdefault(cell.browser, []).append(cell)
    for rule, browsers in by_rule.items():
        before = read_rule(rule)
        kept = [one for one in before.observed if one.browser not in browsers]
        new = [
            BrowserSection(browser, seen.versions[browser], seen.loads, seen.observed_on, seen.latency, tuple(cells))
            for browser, cells in browsers.items()
        ]
        _write(msgspec.structs.replace(before, observed=tuple(sorted(kept + new, key=lambda one: one.browser))), folder)


def write_version(rule: str, outcomes: Sequence[VersionOutcome], folder: Path) -> None:
    """Write what one other version did into a rule's file in ``folder``, in place of what that says of it.

    Raises:
        InputError: the file is not written as it should be.
        StorageError: the disk is full or failed.
    """
    before = read_rule(rule, folder)
    keys = {one.key for one in outcomes}
    kept = [one for one in before.versions if one.key not in keys]
    _write(msgspec.structs.replace(before, versions=(*kept, *outcomes)), folder)


def _write(text: RuleText, folder: Path) -> None:
    with replacing(folder / f"{text.rule}{_SUFFIX}") as beside:
        beside.write_text(serialize(text), encoding="utf-8")


def page(rule: str) -> Resource:
    """The page of a rule's site."""
    return scenario(rule).pages[0]


def rules_under(rules: Iterable[str], cookies: Cookies) -> list[str]:
    """Those rules that are observed under a setting of third-party cookies.

    Without a third party the setting has nothing to act on: of such rules, the core's alone are observed with cookies
    blocked, as controls.
    """
    return [rule for rule in rules if cookies == "allowed" or rule in CORE or has_third_party(rule)]


def has_third_party(rule: str) -> bool:
    """Whether a rule's page uses a name of another site; all names are below .test, so two labels make a site."""
    return len({name.split(".")[-2] for name in scenario(rule).names}) > 1


def combined_scenario(rules: Iterable[str]) -> Scenario:
    """Rules as one scenario: they may share addresses, but no name.

    Raises:
        InputError: two rules have a name in common.
    """
    hosts: dict[str, Host] = {}
    certificates: dict[str, Certificate] = {}
    pages: list[Resource] = []
    sites: list[str] = []
    missing: list[str] = []
    opens: dict[str, str] = {}
    one = None
    for rule in rules:
        one = scenario(rule)
        if common := sorted(one.names.intersection((*hosts, *missing))):
            raise InputError(f"{rule}{_SUFFIX}", "bad-scenario", f"another rule has {common[0]}")
        for key, certificate in one.certificates.items():
            certificates[f"{rule}-{key}"] = dataclasses.replace(certificate, name=f"{rule}-{key}")
        for name, host in one.hosts.items():
            hosts[name] = dataclasses.replace(host, certificate=f"{rule}-{host.certificate}")
        pages += one.pages
        sites += one.sites
        missing += one.missing
        opens |= one.opens
    if one is None:
        raise InputError("rules", "no-such-rule", "none of this name")
    return Scenario(
        title="rules",
        dns_address=one.dns_address,
        certificates=certificates,
        hosts=hosts,
        sites=tuple(sites),
        pages=tuple(pages),
        missing=tuple(missing),
        opens=opens,
    )
