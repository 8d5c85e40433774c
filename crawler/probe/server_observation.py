"""What is seen of a live server: its ORIGIN frames, and how it answers for each host beside that host's own server."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from originset.crawler.probe import origin_frame
from originset.crawler.probe.http3_origin_frames import read_origin_payloads
from originset.crawler.probe.system_lookup import addresses_of
from originset.crawler.probe.tls_client import ProbeAnswer, ProbeConnection
from originset.data.certificate_errors import CERTIFICATE_ERRORS
from originset.data.errors import ProbeError
from originset.data.host_names import covers
from originset.data.reference.special_purpose import is_public

# Hosts that are tried, each over some five connections. A larger set is checked in part, and that is said.
MAX_HOSTS = 50

# For everything together: a usual set takes some seconds. Connections and lookups have shorter ones of their own.
DEADLINE_SECONDS = 120.0

_HTTPS, _ALTERNATIVE = 443, 8443


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """Whom to ask: the site's server at an address. ``ca_file``: a PEM file of authorities, None for the system's."""

    site: str
    address: str
    port: int = _HTTPS
    path: str = "/"
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True)
class ProbeResponse:
    """An answer, or why there was none."""

    answer: ProbeAnswer | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Security:
    """What a server asks of a client's handshake."""

    tls_version: str
    takes_tls_1_2: bool
    asks_for_client_certificate: bool


@dataclass(frozen=True, slots=True)
class HostObservation:
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
    first: ProbeResponse
    after: ProbeResponse
    site_after: ProbeResponse
    own: ProbeResponse | None
    security: Security | None
    own_security: Security | None
    not_compared: str | None


@dataclass(frozen=True, slots=True)
class ServerObservation:
    """All that was seen. ``payloads``: of the ORIGIN frames over HTTP/2; ``http3_payloads``: None where it has none.

    ``not_tried``: hosts beyond :data:`MAX_HOSTS`. ``unfinished``: hosts that the deadline left no time for.
    ``certificate``: the server's own, DER.
    """

    target: ProbeTarget
    protocol: str
    payloads: tuple[bytes, ...]
    longest_frame: int
    certificate_names: tuple[str, ...]
    page: ProbeResponse
    http3_offered: bool
    http3_payloads: tuple[bytes, ...] | None
    http3_problem: str | None
    hosts: tuple[HostObservation, ...] = ()
    not_tried: int = 0
    unfinished: int = 0
    tls_version: str = ""
    certificate: bytes = b""

    @property
    def origins(self) -> tuple[str, ...]:
        """The valid origins of the HTTP/2 frames, each once, in order."""
        return origins_in(self.payloads)


def origins_in(payloads: Iterable[bytes]) -> tuple[str, ...]:
    """The valid origins in ORIGIN frames, each once, in order."""
    return tuple(dict.fromkeys(origin for payload in payloads for origin in origin_frame.decode(payload)))


def observe_server(target: ProbeTarget, seconds: float = DEADLINE_SECONDS) -> ServerObservation:
    """Look at a server. Connects to it, and to the promised hosts' own addresses where these are public.

    Takes at most ``seconds``, whatever the servers and the resolver do; what was seen of whole hosts until then counts.

    Raises:
        ProbeError: the server cannot be reached or trusted for the site, or tells too little of itself in that time.
    """
    return asyncio.run(observe_within(target, seconds))


async def observe_within(target: ProbeTarget, seconds: float) -> ServerObservation:
    """As :func:`observe_server`, beside whatever else the loop does."""
    seen: ServerObservation | None = None
    try:
        async with asyncio.timeout(seconds):
            async for seen in _stages(target):  # noqa: B007 - the last one is what was seen in time
                pass
    except TimeoutError as error:
        if seen is None:
            problem = f"did not show what it announces within {round(seconds, 1):g} seconds"
            raise ProbeError(target.site, target.address, target.port, problem) from error
    if seen is None:
        raise RuntimeError("nothing was looked at")
    return seen


async def _stages(target: ProbeTarget) -> AsyncIterator[ServerObservation]:
    """What has been seen so far: of the server alone, then with one host more each time."""
    async with ProbeConnection(target.address, target.port, target.site, target.ca_file) as connection:
        page = await _response_or_problem(connection, target.site, target.path)
        security = await _security(target, connection)
    payloads = tuple(connection.origin_frames.payloads)
    names = _names(connection.certificate)
    http3_offered = page.answer is not None and "h3" in (page.answer.alt_svc or "")
    http3_payloads, http3_problem = await _over_http3(target) if http3_offered else (None, None)
    seen = ServerObservation(
        target,
        connection.protocol,
        payloads,
        connection.origin_frames.longest,
        names,
        page,
        http3_offered,
        http3_payloads,
        http3_problem,
        tls_version=connection.tls_version,
        certificate=connection.certificate,
    )
    secure = [origin for origin in seen.origins if origin.startswith("https:")]
    promised = [place for place in map(_place, secure) if place != (target.site, target.port)]
    yield replace(seen, unfinished=len(promised))
    sharing = await _names_at_same_address(target, names, promised)
    every = [(host, port, True) for host, port in promised] + [(host, target.port, False) for host in sharing]
    chosen = every[:MAX_HOSTS]
    seen = replace(seen, not_tried=len(every) - len(chosen), unfinished=len(chosen))
    yield seen
    for host, port, of_set in chosen:
        one = await _host_seen(target, host, port, security, promised=of_set, covered=covers(names, host))
        seen = replace(seen, hosts=(*seen.hosts, one), unfinished=seen.unfinished - 1)
        yield seen


async def _host_seen(
    target: ProbeTarget, host: str, port: int, security: Security, *, promised: bool, covered: bool
) -> HostObservation:
    addresses = await addresses_of(host)
    first, site_after = await _answers_in_turn(target, host, target.site)
    _, after = await _answers_in_turn(target, target.site, host)
    own: ProbeResponse | None = None
    own_security: Security | None = None
    not_compared: str | None = None
    if target.address in addresses and port == target.port:
        not_compared = "its name leads to this server"
    else:
        own, own_security, not_compared = await _own_answer(target, host, port, addresses)
    return HostObservation(
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


async def _answers_in_turn(target: ProbeTarget, host: str, other: str) -> tuple[ProbeResponse, ProbeResponse]:
    """The answers for two hosts over one new connection of the site's, one after the other."""
    try:
        async with ProbeConnection(target.address, target.port, target.site, target.ca_file) as connection:
            return await _response_or_problem(connection, host, target.path), await _response_or_problem(
                connection, other, target.path
            )
    except ProbeError as error:
        return ProbeResponse(None, error.problem), ProbeResponse(None, error.problem)


async def _own_answer(
    target: ProbeTarget, host: str, port: int, addresses: list[str]
) -> tuple[ProbeResponse | None, Security | None, str | None]:
    """The host at its own address; otherwise why not."""
    if not addresses:
        return None, None, "its name has no address, or none was told in time"
    # The set comes from a stranger: it must not make us look into somebody's network, or at other services.
    if port not in (_HTTPS, _ALTERNATIVE, target.port):
        return None, None, f"its port {port} is not one of https"
    allowed = [one for one in addresses if is_public(one) or not is_public(target.address)]
    if not allowed:
        return None, None, f"its address {addresses[0]} is not a public one"
    address = min(allowed, key=lambda one: (":" in one) != (":" in target.address))
    own = ProbeTarget(host, address, port, target.path, target.ca_file)
    try:
        async with ProbeConnection(address, port, host, target.ca_file) as connection:
            return await _response_or_problem(connection, host, target.path), await _security(own, connection), None
    except ProbeError as error:
        return None, None, f"its own server at {address} cannot be asked ({error.problem})"


async def _response_or_problem(connection: ProbeConnection, host: str, path: str) -> ProbeResponse:
    try:
        return ProbeResponse(await connection.get(host, path))
    except ProbeError as error:
        return ProbeResponse(None, error.problem)


async def _security(target: ProbeTarget, connection: ProbeConnection) -> Security:
    takes_tls_1_2 = connection.tls_version == "TLSv1.2"
    if not takes_tls_1_2:
        try:
            older = ssl.TLSVersion.TLSv1_2
            async with ProbeConnection(target.address, target.port, target.site, target.ca_file, latest=older):
                takes_tls_1_2 = True
        except ProbeError:
            takes_tls_1_2 = False
    return Security(connection.tls_version, takes_tls_1_2, connection.asks_for_client_certificate)


async def _over_http3(target: ProbeTarget) -> tuple[tuple[bytes, ...] | None, str | None]:
    try:
        return tuple(await read_origin_payloads(target.address, target.port, target.site, target.ca_file)), None
    except ProbeError as error:
        return None, error.problem


async def _names_at_same_address(
    target: ProbeTarget, names: tuple[str, ...], promised: list[tuple[str, int]]
) -> list[str]:
    """The certificate's other names that lead to the server's address: browsers share its connections with them now."""
    known = {target.site, *(host for host, _ in promised)}
    others = [name for name in names if "*" not in name and name not in known and not _is_address(name)][:MAX_HOSTS]
    found = await asyncio.gather(*map(addresses_of, others))
    return [name for name, addresses in zip(others, found, strict=True) if target.address in addresses]


def _names(certificate: bytes) -> tuple[str, ...]:
    try:
        extension = x509.load_der_x509_certificate(certificate).extensions
        names = extension.get_extension_for_class(x509.SubjectAlternativeName).value
    except (*CERTIFICATE_ERRORS, x509.ExtensionNotFound):
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
