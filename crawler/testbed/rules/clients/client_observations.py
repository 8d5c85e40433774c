"""What the clients did, rule by rule: observed in the testbed, kept in ``observed.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

import msgspec

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.clients.http_clients import InstalledClient, TrustFiles
from originset.crawler.testbed.rules.outcome_summary import outcome_summary
from originset.crawler.testbed.rules.rule_outcome import expected_requests, shared_connections
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import UsageError

_STORED = resources.files("originset.crawler.testbed.rules.clients") / "observed.json"
_PLAIN_KINDS = {"page", "style", "script", "image"}


class ClientObservations(msgspec.Struct, frozen=True):
    """A client in all rules. ``outcomes``: by rule, each way that loads went (``outcome_summary``) and how many did."""

    client: str
    version: str
    observed_on: str
    loads: int
    outcomes: dict[str, dict[str, int]]


def client_rules() -> tuple[str, ...]:
    """The rules that say something of a client that fetches URLs one after the other, over TCP.

    Their pages ask for all that they load at once, and for nothing without credentials; no host redirects.
    """
    return tuple(rule for rule in rule_catalogue.rule_names() if _is_plain(rule))


def _is_plain(rule: str) -> bool:
    scenario = rule_catalogue.scenario(rule)
    plain = all(
        one.kind in _PLAIN_KINDS and not one.crossorigin and one.after_ms is None
        for one in rule_catalogue.page(rule).walk()
    )
    redirected = any(host.redirect is not None for host in scenario.hosts.values())
    return plain and not redirected and not rule.startswith("http3-")


def observe_client(
    installed: InstalledClient, testbed: Testbed, rules: Sequence[str], scratch: Path, *, loads: int, observed_on: str
) -> ClientObservations:
    """Ask for the URLs of each rule's page, ``loads`` times.

    The testbed's scenario is the rules' ``combined_scenario``.

    Raises:
        UsageError: a run of the client does not end in time, or loads nothing.
    """
    trust = TrustFiles(testbed.authority.root, scratch)
    outcomes = {
        rule: dict(Counter(_observe_once(installed, testbed, rule, trust) for _ in range(loads)).most_common())
        for rule in rules
    }
    if all(way.startswith("0 ") for ways in outcomes.values() for way in ways):
        said = installed.fetch([testbed.scenario.url_of(testbed.sites[0])], trust).strip().splitlines() or ["nothing"]
        raise UsageError(f"{installed.client.title} loaded nothing", f"it said: {said[-1]}")
    return ClientObservations(installed.client.title, installed.version, observed_on, loads, outcomes)


def _observe_once(installed: InstalledClient, testbed: Testbed, rule: str, trust: TrustFiles) -> str:
    order = expected_requests(rule_catalogue.page(rule))
    shaken, asked = len(testbed.handshakes()), len(testbed.requests())
    installed.fetch([f"https://{one}" for one in order], trust)
    # What nobody asked for is left out, such as icons.
    requests = [one for one in testbed.requests()[asked:] if f"{one.host}{one.path}" in order]
    connections = shared_connections(testbed.handshakes()[shaken:], requests, order)
    answered = {one for connection in connections for one in connection.requests}
    return outcome_summary(rule, connections, [one for one in order if one not in answered])


def stored_observations(path: Path | None = None) -> tuple[ClientObservations, ...]:
    """What observed.json has, or another file of its kind."""
    return tuple(msgspec.json.decode((path or _STORED).read_bytes(), type=list[ClientObservations]))


def merged_observations(
    before: Sequence[ClientObservations], seen: Sequence[ClientObservations]
) -> Iterator[ClientObservations]:
    """What was seen in place of what was stored of the same clients, in the order of titles."""
    by_client = {one.client: one for one in (*before, *seen)}
    yield from (by_client[title] for title in sorted(by_client, key=str.lower))


def encoded_observations(observations: Sequence[ClientObservations]) -> bytes:
    """As observed.json is written."""
    return msgspec.json.format(msgspec.json.encode(observations), indent=1) + b"\n"
