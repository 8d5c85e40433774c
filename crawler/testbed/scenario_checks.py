"""Checks of a whole scenario: hosts, certificates, addresses and pages must fit together."""

from __future__ import annotations

import re

from originset.crawler.testbed.scenario import HINTS, Host, Resource, Scenario
from originset.data.errors import InputError

# What Node's server does not have; it speaks HTTP/2 whatever the protocol.
_NOT_OF_NODE = ("http3", "redirect", "rough", "cookies", "origin_delay_ms", "origin_added")


def check_scenario(scenario: Scenario, source: str) -> None:
    """Raises ``InputError`` where parts of a scenario contradict one another; ``source`` names the file."""
    _check_pages(scenario, source)
    for host in scenario.hosts.values():
        _check_host(scenario, host, source)


def bad_scenario(source: str, place: str, problem: str) -> InputError:
    """The error of a scenario's file, at a place in it."""
    return InputError(source, "bad-scenario", f"{place}: {problem}")


def _check_pages(scenario: Scenario, source: str) -> None:
    for site in scenario.sites:
        if site not in scenario.names:
            raise bad_scenario(source, f'site."{site}"', "is neither a host nor missing")
    seen: dict[tuple[str, str], Resource] = {}
    for page in scenario.pages:
        for one in page.walk():
            if one.kind == "inline":
                continue
            if one.host not in scenario.names:
                raise bad_scenario(source, one.url, f"{one.host} is neither a host nor missing")
            if one.kind in HINTS or (one.kind == "link" and one.url in {page.url for page in scenario.pages}):
                continue
            first = seen.setdefault((one.host, one.path), one)
            if (first.content, first.loads, first.status) != (one.content, one.loads, one.status):
                raise bad_scenario(source, one.url, "stands twice with different contents")


def _check_host(scenario: Scenario, host: Host, source: str) -> None:
    place = f'host."{host.name}"'
    if not host.addresses:
        raise bad_scenario(source, place, "has no addresses")
    if scenario.dns_address in host.addresses:
        raise bad_scenario(source, place, f"{scenario.dns_address} is the DNS server's")
    if not host.refuses and host.certificate not in scenario.certificates:
        raise bad_scenario(source, place, f"there is no certificate {host.certificate}")
    if host.implementation == "node" and any(getattr(host, key) for key in _NOT_OF_NODE):
        raise bad_scenario(source, place, f"Node's server has none of {', '.join(_NOT_OF_NODE)}")
    if host.alias is not None:
        target = scenario.hosts.get(host.alias)
        # The addresses stand at both so that a reader sees what is served where.
        if target is None or target.addresses != host.addresses:
            raise bad_scenario(source, place, f"its alias {host.alias} is not a host at the same addresses")
        if host.name in scenario.aliases_of(host.name):
            raise bad_scenario(source, place, "is an alias of itself")
    if re.fullmatch(r"[0-9.]+", host.name) and host.addresses != (host.name,):
        raise bad_scenario(source, place, "is an address, which has no other")
    _check_shared_addresses(scenario, host, place, source)


def _check_shared_addresses(scenario: Scenario, host: Host, place: str, source: str) -> None:
    for address in host.addresses:
        sharing = [scenario.hosts[name] for name in scenario.hosts_at(address)]
        if len({(one.refuses, one.external) for one in sharing}) > 1:
            raise bad_scenario(source, place, f"some hosts at {address} refuse or are external, others not")
        if len({one.implementation for one in sharing}) > 1:
            raise bad_scenario(source, place, f"the hosts at {address} are not all of one implementation")
