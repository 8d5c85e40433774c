"""Live lookups of the names in a recording, and TLS handshakes with their servers, for what the recording lacks.

Whoever made the recording chose its names and addresses. So only public addresses are contacted, unless others are
allowed: a name is resolved once, its answer is checked, and the connection goes to exactly the checked address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from originset.crawler.probe.resolver import Resolver, query_names
from originset.data.captures.capture import DnsQuery
from originset.data.host_names import canonical_ip
from originset.data.reference.special_purpose import is_public

_TIMEOUT_S = 10.0

# Ports of web servers. On other ports, a recording could make us contact servers of any kind.
PORTS = frozenset({443, 8443})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a recording has a host: its address, None where it does not say, and its port."""

    address: str | None
    port: int


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """A host to look up; a handshake is made at each of ``places``, or at the address that the host has today."""

    host: str
    places: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class CertificateProbe:
    """The result of one handshake, or why there was none (``problem``).

    ``certificate``: the leaf's DER, of a server that proved to be the host's; ``recorded``: the address is the
    recording's; ``asked_at``: None where nothing was contacted; ``changed``: the name leads elsewhere than to
    ``recorded_address`` now, None where it or the recorded one is not known.
    """

    host: str
    address: str | None
    port: int
    recorded_address: str | None
    changed: bool | None
    recorded: bool
    asked_at: datetime | None = None
    certificate: bytes | None = None
    protocol: str | None = None
    tls_version: str | None = None
    problem: str | None = None


@dataclass(slots=True)
class LookupPolicy:
    """The resolver (None: names are not looked up), the most handshakes to begin a second, and what is allowed.

    ``ca_file``: a PEM file of the authorities that are trusted; None: the system's.
    """

    resolver: Resolver | None
    rate: float
    allow_private: bool = False
    ca_file: Path | None = None
    _next: float = field(default=0.0, init=False)

    def tls_context(self) -> ssl.SSLContext:
        """For a handshake. Raises ``OSError`` where ``ca_file`` cannot be read as certificates."""
        context = ssl.create_default_context(cafile=self.ca_file)
        context.set_alpn_protocols(["h2", "http/1.1"])
        return context

    async def wait_turn(self) -> None:
        """Wait until the next handshake may begin."""
        now = time.monotonic()
        begin = max(now, self._next)
        self._next = begin + 1 / self.rate
        await asyncio.sleep(begin - now)

    def refusal(self, address: str, port: int) -> str | None:
        """Why an address is not contacted; None where it may be."""
        if self.allow_private:
            return None
        if not is_public(address):
            return "not contacted: not a public address"
        if port not in PORTS:
            return "not contacted: not a port of the web"
        return None

    def may_look_up(self, host: str) -> bool:
        """Whether a name is looked up: IP addresses and names of private networks are not."""
        return self.resolver is not None and self.resolver.may_be_asked(host, allow_private=self.allow_private)


@dataclass(frozen=True, slots=True)
class LookupAnswers:
    """The results of the hosts for which there was time; ``unfinished`` are the other hosts."""

    queries: list[DnsQuery]
    handshakes: list[CertificateProbe]
    unfinished: set[str]


def probe_live(wanted: Sequence[LookupRequest], policy: LookupPolicy, seconds: float) -> LookupAnswers:
    """Look up all names at once, then make handshakes at the allowed rate; never raises.

    Takes at most ``seconds``, whatever resolver and servers do. A server is asked for a host's certificate once,
    whatever places lead to it. What is refused is among the handshakes, with its problem.
    """
    return asyncio.run(_probe_live(wanted, policy, seconds))


async def _probe_live(wanted: Sequence[LookupRequest], policy: LookupPolicy, seconds: float) -> LookupAnswers:
    ends = time.monotonic() + seconds
    queries: list[DnsQuery] = []
    if policy.resolver is not None:
        try:
            async with asyncio.timeout(seconds):
                queries = await query_names(
                    policy.resolver, [one.host for one in wanted if policy.may_look_up(one.host)]
                )
        except TimeoutError:
            return LookupAnswers([], [], {one.host for one in wanted})
    for query in queries:
        query.source = "live"
    planned = [handshake for one in wanted for handshake in _planned_probes(one, queries, policy)]
    servers = {(one.host, one.address, one.port): one for one in planned}
    tasks = {server: asyncio.create_task(_make_handshake(one, policy)) for server, one in servers.items()}
    if tasks:
        await asyncio.wait(tasks.values(), timeout=max(0.0, ends - time.monotonic()))
    unfinished = {host for (host, _, _), task in tasks.items() if not task.done()}
    for task in tasks.values():
        task.cancel()
    return LookupAnswers(
        [query for query in queries if query.host not in unfinished],
        [
            _result_at(one, tasks[one.host, one.address, one.port].result())
            for one in planned
            if one.host not in unfinished
        ],
        unfinished,
    )


def _result_at(planned: CertificateProbe, shown: CertificateProbe) -> CertificateProbe:
    """The result of a server's handshake, for a place that leads to it."""
    return replace(shown, recorded_address=planned.recorded_address, changed=planned.changed, recorded=planned.recorded)


def _planned_probes(wanted: LookupRequest, queries: list[DnsQuery], policy: LookupPolicy) -> list[CertificateProbe]:
    own = [query for query in queries if query.host == wanted.host and query.rtype in {"A", "AAAA"}]
    today = list(dict.fromkeys(filter(None, (canonical_ip(text) for query in own for text in query.answers))))
    literal = canonical_ip(wanted.host)
    if literal is not None:
        today = [literal]
    planned = []
    for place in wanted.places:
        known = today and literal is None and place.address is not None
        changed = place.address not in today if known else None
        if place.address is not None:
            planned.append(
                CertificateProbe(wanted.host, place.address, place.port, place.address, changed=changed, recorded=True)
            )
        if place.address is None or changed:
            address = _preferred_address(today, place, policy)
            problem = None if today else "its name was not asked for, or has no address"
            planned.append(
                CertificateProbe(
                    wanted.host, address, place.port, place.address, changed=changed, recorded=False, problem=problem
                )
            )
    return planned


def _preferred_address(today: list[str], place: Endpoint, policy: LookupPolicy) -> str | None:
    """The first address that may be contacted, of the recorded one's family if there is one; else the first."""
    sixth = ":" in (place.address or "")
    order = sorted(today, key=lambda one: (policy.refusal(one, place.port) is not None, (":" in one) != sixth))
    return order[0] if order else None


async def _make_handshake(planned: CertificateProbe, policy: LookupPolicy) -> CertificateProbe:
    if planned.address is None or planned.problem is not None:
        return planned
    refusal = policy.refusal(planned.address, planned.port)
    if refusal is not None:
        return replace(planned, problem=refusal)
    await policy.wait_turn()
    asked_at = datetime.now(UTC)
    context = policy.tls_context()
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            # An address, not a name: nothing is resolved a second time.
            _, writer = await asyncio.open_connection(
                str(ipaddress.ip_address(planned.address)), planned.port, ssl=context, server_hostname=planned.host
            )
    except (OSError, ValueError) as error:  # TimeoutError and ssl.SSLError are OSErrors
        return replace(planned, asked_at=asked_at, problem=_problem(error))
    tls: ssl.SSLObject = writer.get_extra_info("ssl_object")
    shown = tls.getpeercert(binary_form=True)
    protocol, version = tls.selected_alpn_protocol() or "http/1.1", tls.version()
    writer.transport.abort()
    return replace(
        planned,
        asked_at=asked_at,
        certificate=shown,
        protocol=protocol,
        tls_version=None if version is None else version.replace("TLSv", "TLS "),
    )


def _problem(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no handshake in time"
    return (getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)) or type(error).__name__
