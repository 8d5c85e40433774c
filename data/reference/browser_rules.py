"""When browsers share connections: the rules that the models follow, each with a browser version and a source."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

#: What people call the browsers that rules are known of, by their names in tables and files.
BROWSER_TITLES = {"chromium": "Chromium", "firefox": "Firefox"}

_FILE = "browser_rules.toml"


@dataclass(frozen=True, slots=True)
class BrowserRules:
    """One browser's rules; browser_rules.toml says of each what it means and where it is from.

    ``version`` is one that was observed to follow them. ``protocols`` in ``origin_*`` are h2 and h3. ``pool`` names
    what requests on one connection have in common.
    """

    browser: str
    version: str
    connections_per_host: int
    pool: frozenset[str]
    waits_for_connections_under_way: bool
    only_first_at_address: bool
    carries_others: frozenset[str]
    holds_back_images: bool
    quic_races_tcp: bool
    modes_share_host: bool
    retries_share_connection: bool
    origin_permits: frozenset[str]
    origin_restricts: frozenset[str]
    origin_skips_lookup: frozenset[str]
    origin_carries_others: frozenset[str]
    lookups_follow_partition: bool
    ech_needs_encrypted_dns: bool


@cache
def browser_rules() -> dict[str, BrowserRules]:
    """The rules of each browser today, by its name."""
    return {name: _rules(name, entry, entry["version"]) for name, entry in _browser_entries().items()}


@cache
def rules_of_version(browser: str, version: str | None) -> BrowserRules:
    """The rules of the nearest older version of ``browser`` that was observed, which is their ``version``.

    Of a version before all that were observed, those of the oldest; of one that is not known, today's.

    Raises:
        KeyError: no rules of this browser are known.
    """
    entry = _browser_entries()[browser]
    wanted = _version_numbers(version or "")
    if not wanted:
        return browser_rules()[browser]
    observed = sorted(
        (
            (_version_numbers(each), each, older)
            for older in (entry, *entry.get("older", []))
            for each in older["observed"]
        ),
        key=lambda one: one[0],
    )
    _, taken, older = next((one for one in reversed(observed) if one[0] <= wanted), observed[0])
    return _rules(browser, {**entry, **older}, taken)


@cache
def rule_sets() -> tuple[BrowserRules, ...]:
    """Rules that versions have in common, each once and without ``version``: those of today first, by browser."""
    every = [
        *browser_rules().values(),
        *(
            rules_of_version(browser, older["observed"][0])
            for browser, entry in _browser_entries().items()
            for older in entry.get("older", [])
        ),
    ]
    return tuple(dict.fromkeys(replace(rules, version="") for rules in every))


def _version_numbers(version: str) -> tuple[int, ...]:
    """A version's numbers; none if it does not begin with one. ``88`` is as new as any 88, and so is ``88.0.0.0``.

    The latter is what User-Agent headers say since Chromium 101 (https://www.chromium.org/updates/ua-reduction/).
    """
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    found = tuple(map(int, numbers[0].split("."))) if numbers else ()
    return found if any(found[1:]) or not found else (found[0], sys.maxsize)


def _rules(name: str, entry: dict[str, Any], version: str) -> BrowserRules:
    values = {rule: rule_entry["value"] for rule, rule_entry in entry.items() if isinstance(rule_entry, dict)}
    return BrowserRules(
        browser=name,
        version=version,
        connections_per_host=values["connections_per_host"],
        pool=frozenset(values["pool"]),
        waits_for_connections_under_way=values["waits_for_connections_under_way"],
        only_first_at_address=values["only_first_at_address"],
        carries_others=frozenset(values["carries_others"]),
        holds_back_images=values["holds_back_images"],
        quic_races_tcp=values["quic_races_tcp"],
        modes_share_host=values["modes_share_host"],
        retries_share_connection=values["retries_share_connection"],
        origin_permits=frozenset(values["origin_permits"]),
        origin_restricts=frozenset(values["origin_restricts"]),
        origin_skips_lookup=frozenset(values["origin_skips_lookup"]),
        origin_carries_others=frozenset(values["origin_carries_others"]),
        lookups_follow_partition=values["lookups_follow_partition"],
        ech_needs_encrypted_dns=values["ech_needs_encrypted_dns"],
    )


@cache
def _browser_entries() -> dict[str, dict[str, Any]]:
    content = tomllib.loads(resources.files("originset.data.reference").joinpath(_FILE).read_text())
    return {name: entry for name, entry in content.items() if isinstance(entry, dict)}
