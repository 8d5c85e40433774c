"""What is seen of a live server: its ORIGIN frames, and how it answers for each host beside that host's own server."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlsplit

from cryptography import x509

from originset.crawler import origin_frame
from originset.crawler.preflight.client import Answer, Connection
from originset.crawler.preflight.http3 import read_origin_payloads
from originset.data.errors import ProbeError
from originset.data.host_names import covers
from originset.data.reference.special_purpose import is_public

# Hosts that are tried, each over some five connections. A larger set is checked in part, and that is said.
MOST_HOSTS = 50

_HTTPS, _ALTERNATIVE = 443, 8443


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to ask: the site's server at an address. ``trust``: a PEM file of authorities, None for the system's."""

    site: str
    address: str
    port: int = _HTTPS
    path: str = "/"
    trust: str | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """An answer, or why there was none."""

    answer: Answer | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Security:
    """What a server asks of a client's handshake."""

    tls_version: str
    takes_tls_1_2: bool
    asks_for_client_certificate: bool


@dataclass(frozen=True, slots=True)
class HostSeen:
    """One host at the site's server (``first``: as a connection's first request; ``after``: behind one for the site).

    ``site_after``: the site's page behind a request for this host. ``shares_address``: the host's name leads to the
    server too, so that browsers use its connections for the host today. ``own``: at the host's own address; None where
    it has no other, with the reason in ``not_compared``.
    """

    host: str
    port: int
    promised: bool
    covered: bool
    shares_address: bool
    first: Tried
    after: Tried
    site_after: Tried
    own: Tried | None
    security: Security | None
    own_security: Security | None
    not_compared: str | None


@dataclass(frozen=True, slots=True)
class Observed:
    """All that was seen. ``payloads``: of the ORIGIN frames over HTTP/2; ``http3_payloads``: None where it has none.

    ``not_tried``: promised hosts beyond :data:`MOST_HOSTS`.
    """

    target: Target
    protocol: str
    payloads: tuple[bytes, ...]
    longest_frame: int
    certificate_names: tuple[str, ...]
    page: Tried
    http3_offered: bool
    http3_payloads: tuple[bytes, ...] | None
    http3_problem: str | None
    hosts: tuple[HostSeen, ...]
    not_tried: int

    @property
    def origins(self) -> tuple[str, ...]:
        """The valid origins of the HTTP/2 frames, each once, in order."""
        return origins_in(self.payloads)


def origins_in(payloads: Iterable[bytes]) -> tuple[str, ...]:
    """The valid origins in ORIGIN frames, each once, in order."""
    return tuple(dict.fromkeys(origin for payload in payloads for origin in origin_frame.decode(payload)))


def observe(target: Target) -> Observed:
    """Look at a server. Connects to it, and to the promised hosts' own addresses where these are public.

    Raises:
        ProbeError: the server cannot be reached or trusted for the site.
    """
    with Connection(target.address, target.port, target.site, target.trust) as connection:
        page = _tried(connection, target.site, target.path)
        frames = connection.origin_frames
        names = _names(connection.certificate)
        protocol, security = connection.protocol, _security(target, connection)
    payloads = tuple(frames.payloads)
    secure = [origin for origin in origins_in(payloads) if origin.startswith("https:")]
    promised = [place for place in map(_place, secure) if place != (target.site, target.port)]
    http3_offered = page.answer is not None and "h3" in (page.answer.alt_svc or "")
    http3_payloads, http3_problem = _over_http3(target) if http3_offered else (None, None)
    sharing = _sharing(target, names, promised)
    every = [(host, port, True) for host, port in promised] + [(host, target.port, False) for host in sharing]
    hosts = tuple(
        _host_seen(target, host, port, security, promised=of_set, covered=covers(names, host))
        for host, port, of_set in every[:MOST_HOSTS]
    )
    return Observed(
        target,
        protocol,
        payloads,
        frames.longest,
        names,
        page,
        http3_offered,
        http3_payloads,
        http3_problem,
        hosts,
        max(0, len(every) - MOST_HOSTS),
    )


def addresses_of(host: str) -> list[str]:
    """The addresses that the system's resolver gives for a name, in its order; none where there is none."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))


def _host_seen(target: Target, host: str, port: int, security: Security, *, promised: bool, covered: bool) -> HostSeen:
    addresses = addresses_of(host)
    first, site_after = _two(target, host, target.site)
    _, after = _two(target, target.site, host)
    own: Tried | None = None
    own_security: Security | None = None
    not_compared: str | None = None
    if target.address in addresses and port == target.port:
        not_compared = "its name leads to this server"
    else:
        own, own_security, not_compared = _at_home(target, host, port, addresses)
    return HostSeen(
        host,
        port,
        promised,
        covered,
        target.address in addresses,
        first,
        after,
        site_after,
        own,
        security,
        own_security,
        not_compared,
    )


def _two(target: Target, host: str, other: str) -> tuple[Tried, Tried]:
    """The answers for two hosts over one new connection of the site's, one after the other."""
    try:
        with Connection(target.address, target.port, target.site, target.trust) as connection:
            return _tried(connection, host, target.path), _tried(connection, other, target.path)
    except ProbeError as error:
        return Tried(None, error.problem), Tried(None, error.problem)


def _at_home(
    target: Target, host: str, port: int, addresses: list[str]
) -> tuple[Tried | None, Security | None, str | None]:
    """The host at its own address; otherwise why not."""
    if not addresses:
        return None, None, "its name has no address"
    # The set comes from a stranger: it must not make us look into somebody's network, or at other services.
    if port not in (_HTTPS, _ALTERNATIVE, target.port):
        return None, None, f"its port {port} is not one of https"
    allowed = [one for one in addresses if is_public(one) or not is_public(target.address)]
    if not allowed:
        return None, None, f"its address {addresses[0]} is not a public one"
    address = min(allowed, key=lambda one: (":" in one) != (":" in target.address))
    own = Target(host, address, port, target.path, target.trust)
    try:
        with Connection(address, port, host, target.trust) as connection:
            return _tried(connection, host, target.path), _security(own, connection), None
    except ProbeError as error:
        return None, None, f"its own server at {address} cannot be asked ({error.problem})"


def _tried(connection: Connection, host: str, path: str) -> Tried:
    try:
        return Tried(connection.get(host, path))
    except ProbeError as error:
        return Tried(None, error.problem)


def _security(target: Target, connection: Connection) -> Security:
    takes_tls_1_2 = connection.tls_version == "TLSv1.2"
    if not takes_tls_1_2:
        try:
            Connection(target.address, target.port, target.site, target.trust, latest=ssl.TLSVersion.TLSv1_2).__exit__(
                None, None, None
            )
            takes_tls_1_2 = True
        except ProbeError:
            takes_tls_1_2 = False
    return Security(connection.tls_version, takes_tls_1_2, connection.asks_for_client_certificate)


def _over_http3(target: Target) -> tuple[tuple[bytes, ...] | None, str | None]:
    try:
        return tuple(read_origin_payloads(target.address, target.port, target.site, target.trust)), None
    except ProbeError as error:
        return None, error.problem


def _sharing(target: Target, names: tuple[str, ...], promised: list[tuple[str, int]]) -> Iterator[str]:
    """The certificate's other names that lead to the server's address: browsers share its connections with them now."""
    known = {target.site, *(host for host, _ in promised)}
    others = [name for name in names if "*" not in name and name not in known and not _is_address(name)]
    return (name for name in islice(others, MOST_HOSTS) if target.address in addresses_of(name))


def _names(certificate: bytes) -> tuple[str, ...]:
    try:
        extension = x509.load_der_x509_certificate(certificate).extensions
        names = extension.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return ()
    return tuple(name.lower() for name in names.get_values_for_type(x509.DNSName))


def _place(origin: str) -> tuple[str, int]:
    parts = urlsplit(origin)
    return parts.hostname or "", parts.port or _HTTPS


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
