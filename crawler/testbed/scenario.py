"""What a testbed consists of: hosts, certificates, pages. Its text form is read by scenario_file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import urlsplit

Protocol = Literal["h2", "http/1.1"]
Kind = Literal["page", "style", "script", "image", "font", "fetch", "iframe"]
KINDS: tuple[Kind, ...] = ("style", "script", "image", "font", "fetch", "iframe")


@dataclass(frozen=True)
class Certificate:
    """A leaf certificate's DNS names; an expired one ended yesterday."""

    name: str
    names: tuple[str, ...]
    expired: bool = False

    def covers(self, host: str) -> bool:
        """RFC 9525: a wildcard stands for exactly one label, the left-most."""
        parent = host.partition(".")[2]
        return host in self.names or f"*.{parent}" in self.names


@dataclass(frozen=True)
class Host:
    """A name with the addresses that DNS gives for it, in this order, and how the servers there behave for it.

    ``origin_set``: the origins that its ORIGIN frame lists; empty: a frame without entries; None: no frame.
    ``own_connection``: requests for it on a connection that was opened for another name are answered 421.
    ``external``: DNS, address and certificate exist, but the testbed's own server stays away: somebody else's listens.
    """

    name: str
    addresses: tuple[str, ...] = ()
    asn: int | None = None
    certificate: str | None = None
    protocol: Protocol = "h2"
    origin_set: tuple[str, ...] | None = None
    alias: str | None = None
    own_connection: bool = False
    redirect: str | None = None
    delay_ms: int = 0
    refuses: bool = False
    external: bool = False


@dataclass(frozen=True)
class Resource:
    """One URL of the testbed and what it loads in turn.

    ``crossorigin``: requested without credentials, which browsers do over connections of their own. ``after_ms``: a
    script waits that long after the page's load event before it asks for it.
    """

    kind: Kind
    url: str
    crossorigin: bool = False
    after_ms: int | None = None
    loads: tuple[Resource, ...] = ()

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def path(self) -> str:
        return urlsplit(self.url).path or "/"

    def walk(self) -> Iterator[Resource]:
        """The resource and all below it."""
        yield self
        for child in self.loads:
            yield from child.walk()


@dataclass(frozen=True)
class Scenario:
    """A whole testbed. ``sites`` are what a crawl visits, in order; ``missing`` names are used but not in DNS."""

    title: str
    dns_address: str
    certificates: Mapping[str, Certificate]
    hosts: Mapping[str, Host]
    sites: tuple[str, ...]
    pages: tuple[Resource, ...] = ()
    missing: tuple[str, ...] = ()

    @cached_property
    def addresses(self) -> tuple[str, ...]:
        """Every server's address once."""
        return tuple(dict.fromkeys(address for host in self.hosts.values() for address in host.addresses))

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that pages use, those that DNS does not know included."""
        return frozenset((*self.hosts, *self.missing))

    @cached_property
    def served(self) -> Mapping[tuple[str, str], Resource]:
        """Every (host, path) that is answered with content."""
        return {(one.host, one.path): one for page in self.pages for one in page.walk()}

    def hosts_at(self, address: str) -> frozenset[str]:
        """The names that are served at an address."""
        return frozenset(host.name for host in self.hosts.values() if address in host.addresses)

    def with_external(self, *names: str) -> Scenario:
        """The same scenario with these hosts left to servers that are not the testbed's."""
        changed = {name: dataclasses.replace(self.hosts[name], external=True) for name in names}
        return dataclasses.replace(self, hosts={**self.hosts, **changed})
