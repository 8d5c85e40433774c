"""What a configuration says of connections and requests, in the terms that all servers have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Protocol

_ALL = (None, "::")
# RFC 1918, RFC 6598 and RFC 4193.
_INSIDE = [ip_network(one) for one in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file, as it was named, and its line, or the path of a key in YAML."""

    file: str
    line: int | str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Something in a configuration that may change what is said of it."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a connection for a server name gets. ``certificate``: the names it covers; None: not known.

    ``client_certificate``: what is demanded of the client, as the configuration has it; None: nothing.
    """

    certificate: frozenset[str] | None
    client_certificate: str | None = None
    http2: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """Who answers a request: a site, by anything that tells it from others, or nobody, with a status.

    ``site`` and ``status`` None: it cannot be said. ``status`` 0: the connection ends without an answer.
    ``title``: what people call the site, if that is not ``site``.
    """

    site: str | None = None
    status: int | None = None
    title: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a listener listens; ``address`` None: at all addresses that no other listener of the port has."""

    address: str | None
    port: int


class Listener(Protocol):
    """What listens at an endpoint. ``hosts``: those that its configuration names, with the places."""

    @property
    def endpoint(self) -> Endpoint: ...

    @property
    def hosts(self) -> dict[str, Place]: ...

    def handshake(self, server_name: str) -> Handshake | None:
        """What a connection for this name gets; None: it fails."""

    def answer(self, server_name: str, host: str) -> Answer:
        """Who answers a request for a host on a connection for a server name."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration as far as it was understood."""

    listeners: Sequence[Listener]
    not_understood: Sequence[NotUnderstood]


def best_match(names: Iterable[str], host: str, *, one_label: bool = False) -> str | None:
    """Which of these names is for a host: itself, else the longest ``*.`` that it ends in.

    ``one_label``: ``*`` stands for one label alone, else for one or more.
    """
    known = names if isinstance(names, AbstractSet | Mapping) else set(names)
    if host in known:
        return host
    rest = host
    while "." in rest:
        rest = rest.partition(".")[2]
        if f"*.{rest}" in known:
            return f"*.{rest}"
        if one_label:
            break
    return None


def duplicates(endpoints: Collection[Endpoint], endpoint: Endpoint) -> bool:
    """Whether another of the endpoints may be reached at the same address, all of them or one.

    ``::`` is for all IPv6 addresses, or for IPv4 ones too, as the system and the server have it.
    """
    return any(
        one != endpoint and one.port == endpoint.port and not {one.address, endpoint.address}.isdisjoint(_ALL)
        for one in endpoints
    )


def is_public(endpoint: Endpoint) -> bool:
    """Whether browsers may come to it themselves: at port 443, and at no address of a machine or network alone."""
    if endpoint.address is None:
        return endpoint.port == 443
    address = ip_address(endpoint.address)
    inside = address.is_loopback or address.is_link_local or any(address in network for network in _INSIDE)
    return endpoint.port == 443 and not inside
