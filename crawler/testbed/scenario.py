"""What a testbed consists of: hosts, certificates, pages. Its text form is read by scenario_file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

from originset.data.host_names import covers
from originset.data.scenario.entries import Credentials, Http3, Implementation, Kind, Protocol, Rough

HINTS: tuple[Kind, ...] = ("preconnect", "dns_prefetch", "prefetch", "preload")


@dataclass(frozen=True)
class Certificate:
    """A leaf certificate's DNS names and IP addresses; an expired one ended yesterday."""

    name: str
    names: tuple[str, ...]
    expired: bool = False

    def covers(self, host: str) -> bool:
        """As :func:`originset.data.host_names.covers` says of its names."""
        return covers(self.names, host)


@dataclass(frozen=True)
class HttpsRecord:
    """What an HTTPS record (RFC 9460) says of a host; ``port`` is not in it if None."""

    alpn: tuple[str, ...]
    port: int | None = None


@dataclass(frozen=True)
class Host:
    """A name with the addresses that DNS gives for it, in this order, and how the servers there behave for it.

    ``origin_set``: the origins that its ORIGIN frame lists; empty: a frame without entries; None: no frame.
    ``origin_verbatim``: entries that stand in the same frame behind them, whether they are origins or not.
    ``origin_added``: those of a second frame. ``origin_delay_ms``: how long after the handshake the frames are sent.
    ``implementation``: whose HTTP/2 answers at its addresses, ours on Python's h2 or Node's.
    ``own_connection``: requests for it on a connection that was opened for another name are answered 421.
    ``unknown``: DNS says that it does not exist; its server is there all the same.
    ``external``: DNS, address and certificate exist, but the testbed's own server stays away: somebody else's listens.
    ``http3``: QUIC is answered too; "forced": browsers are told to use nothing else, "advertised": they have to find
    it.
    ``rough``: instead of what it has, it answers with a page whose script never ends or takes all memory, or never, or
    without an end, or it drops the connection.
    ``alt_svc``, ``hsts`` and ``cookies`` (names) go with every answer over TLS.
    """

    name: str
    addresses: tuple[str, ...] = ()
    asn: int | None = None
    certificate: str | None = None
    protocol: Protocol = "h2"
    origin_set: tuple[str, ...] | None = None
    origin_verbatim: tuple[str, ...] = ()
    origin_added: tuple[str, ...] = ()
    origin_delay_ms: int = 0
    implementation: Implementation = "python"
    alias: str | None = None
    own_connection: bool = False
    redirect: str | None = None
    delay_ms: int = 0
    refuses: bool = False
    unknown: bool = False
    external: bool = False
    http3: Http3 | None = None
    https_record: HttpsRecord | None = None
    alt_svc: str | None = None
    hsts: bool = False
    cookies: tuple[str, ...] = ()
    rough: Rough | None = None

    @property
    def origin_frames(self) -> tuple[tuple[str, ...], ...]:
        """The entries of each ORIGIN frame that it sends, in order."""
        first = () if self.origin_set is None else ((*self.origin_set, *self.origin_verbatim),)
        return (*first, self.origin_added) if self.origin_added else first

    @property
    def promised(self) -> tuple[str, ...] | None:
        """All entries of its ORIGIN frames; None without a frame."""
        frames = self.origin_frames
        return tuple(entry for frame in frames for entry in frame) if frames else None

    def answers_for(self, name: str) -> bool:
        """Whether a connection that was opened for it may carry requests for another name.

        However oddly an entry is written: a client that takes it for that name is to get its answer.
        """
        entries = (entry.lower() for entry in self.promised or ())
        return any(re.match(rf"https?://{re.escape(name)}(?![a-z0-9.-])", entry) for entry in entries)


@dataclass(frozen=True)
class Resource:
    """One URL of the testbed and what it loads in turn.

    ``crossorigin``: requested without credentials, which browsers do over connections of their own. ``after_ms``: a
    script waits that long after the page's load event before it asks for it. ``hinted``: what a hint hints at.
    ``hangs``: never answered. ``cached``: a service worker keeps it. ``bytes``: at least so long is its body.
    ``wait_ms``: how long its answer takes, besides what its host always takes.
    """

    kind: Kind
    url: str
    crossorigin: bool = False
    after_ms: int | None = None
    loads: tuple[Resource, ...] = ()
    hinted: Kind | None = None
    credentials: Credentials = "same-origin"
    status: int = 200
    hangs: bool = False
    cached: bool = False
    bytes: int = 0
    wait_ms: int = 0

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def content(self) -> Kind:
        """What it is, however it is asked for."""
        return self.hinted or self.kind

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
    """A whole testbed. ``sites`` are what a crawl visits, in order; ``missing`` names are used but not in DNS.

    ``opens``: what to open for a site if that is not ``https://SITE/``.
    """

    title: str
    dns_address: str
    certificates: Mapping[str, Certificate]
    hosts: Mapping[str, Host]
    sites: tuple[str, ...]
    pages: tuple[Resource, ...] = ()
    missing: tuple[str, ...] = ()
    opens: Mapping[str, str] = field(default_factory=dict)

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
        """Every (host, path) that is answered with content. Hints and links are to what others are."""
        aside = (*HINTS, "link")
        every = sorted((one for page in self.pages for one in page.walk()), key=lambda one: one.kind not in aside)
        return {(one.host, one.path): one for one in every if one.host}

    def hosts_at(self, address: str) -> frozenset[str]:
        """The names that are served at an address."""
        return frozenset(host.name for host in self.hosts.values() if address in host.addresses)

    def aliases_of(self, name: str) -> tuple[str, ...]:
        """The names that DNS answers with before the addresses, in order; up to the first that comes twice."""
        found: list[str] = []
        host = self.hosts.get(name)
        while host is not None and host.alias is not None and host.alias not in found:
            found.append(host.alias)
            host = self.hosts.get(host.alias)
        return tuple(found)

    def url_of(self, site: str) -> str:
        """What a browser is to open for a site."""
        return self.opens.get(site, f"https://{site}/")

    @cached_property
    def browser_flags(self) -> tuple[str, ...]:
        """What Chromium has to be told for its QUIC to accept a private authority.

        It accepts none for names that it has no reason to use QUIC for. Naming them with their port makes it use
        nothing but QUIC; with another port it only accepts the authority, and finds QUIC as it does on the internet.
        """
        ports = {"forced": 443, "advertised": 444}
        names = [f"{host.name}:{ports[host.http3]}" for host in self.hosts.values() if host.http3 is not None]
        return (f"--origin-to-force-quic-on={','.join(names)}",) if names else ()

    def with_external(self, *names: str) -> Scenario:
        """The same scenario with these hosts left to servers that are not the testbed's."""
        changed = {name: dataclasses.replace(self.hosts[name], external=True) for name in names}
        return dataclasses.replace(self, hosts={**self.hosts, **changed})
