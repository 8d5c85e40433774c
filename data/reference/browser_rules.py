"""When browsers share connections: the rules that the models follow, each with a browser version and a source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

_FILE = "browser_rules.toml"


@dataclass(frozen=True, slots=True)
class BrowserRules:
    """One browser's rules; browser_rules.toml says of each what it means and where it is from.

    ``protocols`` in ``origin_*`` are h2 and h3. ``pool`` names what requests on one connection have in common.
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
    """The rules of each browser, by its name."""
    file_content = _file_content()
    return {name: _rules(name, entry) for name, entry in file_content.items() if isinstance(entry, dict)}


def _rules(name: str, entry: dict[str, Any]) -> BrowserRules:
    values = {rule: rule_entry["value"] for rule, rule_entry in entry.items() if isinstance(rule_entry, dict)}
    return BrowserRules(
        browser=name,
        version=entry["version"],
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


def _file_content() -> dict[str, Any]:
    return tomllib.loads(resources.files("originset.data.reference").joinpath(_FILE).read_text())
