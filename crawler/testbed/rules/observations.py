"""What browsers did in the testbed, rule by rule: the second part of each rule's file (``texts/RULE.md``).

A *rule* is a small scenario. A *cell* is one rule under one browser and one setting of third-party cookies; it was
loaded several times, each in a context without a past. Rules whose page has no third party were observed with cookies
allowed alone, but for a few controls: the setting has nothing to act on. All of it is what the servers and the DNS
server logged, never what the browser said of itself.

    for cell in rule_catalogue.observations().cells:
        cell.majority.connections     # the partition of the page's requests into connections
        cell.lookups["static.x.test"] # {"A": [1, 1, 1, 1, 1], "HTTPS": [1, 1, 1, 1, 1]}, one number for each load
"""

from __future__ import annotations

from typing import Literal

import msgspec

Browser = Literal["chromium", "firefox"]
Cookies = Literal["allowed", "blocked"]


class ObservedConnection(msgspec.Struct, frozen=True, omit_defaults=True):
    """A TLS or QUIC connection that carried requests of the page.

    ``opened_for`` is its server name (SNI), ``address`` the server's. ``requests`` are what was asked for over it,
    ``HOST/PATH``, each once and sorted; ``misdirected`` those of them that were answered 421. ``origins``: how many
    entries its ORIGIN frames had; None without a frame.
    """

    opened_for: str
    address: str
    protocol: str  # h2, http/1.1, h3, websocket
    requests: tuple[str, ...]
    misdirected: tuple[str, ...] = ()
    origins: int | None = None


class LoadOutcome(msgspec.Struct, frozen=True):
    """One way that loads went: the connections, in the order of their first request in the page; which loads (from 0).

    ``missing``: what was not asked for over TLS at all, because a name could not be resolved or a connection made.
    """

    connections: tuple[ObservedConnection, ...]
    loads: tuple[int, ...]
    missing: tuple[str, ...] = ()

    @property
    def hosts(self) -> frozenset[frozenset[str]]:
        """For each connection the hosts that had an answer over it."""
        return frozenset(
            frozenset(one.partition("/")[0] for one in connection.requests if one not in connection.misdirected)
            for connection in self.connections
        )


class Cell(msgspec.Struct, frozen=True):
    """All loads of a rule in one browser. The lists have one number for each load.

    ``opened``: handshakes completed, unused connections included. ``lookups``: queries that reached the DNS server, by
    host and record type; a name that was not asked for is absent.
    """

    rule: str
    browser: Browser
    cookies: Cookies
    outcomes: tuple[LoadOutcome, ...]
    opened: tuple[int, ...]
    lookups: dict[str, dict[str, tuple[int, ...]]]

    @property
    def majority(self) -> LoadOutcome:
        """The way that most loads went; the first of several that tie."""
        return max(self.outcomes, key=lambda outcome: len(outcome.loads))

    @property
    def used(self) -> tuple[int, ...]:
        """Connections that carried requests, load by load."""
        counts = {load: len(outcome.connections) for outcome in self.outcomes for load in outcome.loads}
        return tuple(counts[load] for load in sorted(counts))

    @property
    def key(self) -> tuple[str, Browser, Cookies]:
        return self.rule, self.browser, self.cookies


class Observations(msgspec.Struct, frozen=True):
    """Cells that are comparable: the browsers' versions, the last day, the latency profile and what made it."""

    versions: dict[Browser, str]
    observed_on: str
    latency: str
    loads: int
    cells: tuple[Cell, ...]

    def cell(self, rule: str, browser: Browser, cookies: Cookies) -> Cell | None:
        """One cell; None where it was not observed."""
        return next((cell for cell in self.cells if cell.key == (rule, browser, cookies)), None)
