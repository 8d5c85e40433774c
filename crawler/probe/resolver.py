"""A second opinion on names: a named resolver asked for every host of a visit, once the visit is over.

What the browser was told decides what it did; this shows what else the names lead to, and whether that changes.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype

from originset.data.captures.capture import DnsQuery, Extension
from originset.data.errors import UsageError
from originset.data.host_names import address_and_port, canonical_ip
from originset.data.reference.special_purpose import special_use_zone

RTYPES = ("A", "AAAA", "CNAME", "HTTPS")

# For all questions of a visit together, how long before one is sent again, and how many may be open at a time.
_TIMEOUT_S = 5.0
_AGAIN_S = 1.5
_OPEN = 64


@dataclass(frozen=True, slots=True)
class Resolver:
    """Whom to ask, by plain DNS; ``source`` is the address to ask from, where that matters.

    ``named``: somebody chose this resolver; False for the one that the system has.
    """

    address: str
    port: int = 53
    source: str | None = None
    named: bool = True

    @property
    def name(self) -> str:
        """As ``dns_queries.resolver`` has it: the address, with the port where it is not 53."""
        if self.port == 53:
            return self.address
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    def may_be_asked(self, host: str, *, allow_private: bool) -> bool:
        """Whether a host that a stranger named is asked for: no address, and with ``allow_private`` any name.

        Else no name that is of one network alone. Those under ``test`` are asked of a resolver that was named: whoever
        tests with them has a server of their own for them (RFC 6761 section 6.2).
        """
        if not host or canonical_ip(host) is not None:
            return False
        zone = special_use_zone(host)
        return allow_private or zone is None or (zone == "test" and self.named)


def parse_resolver(text: str) -> Resolver | None:
    """``system`` (the first name server of resolv.conf), ``none``, or ``ADDRESS[:PORT]``, IPv6 with a port in brackets.

    Raises:
        UsageError: it is none of these, or the system has no name server.
    """
    if text == "none":
        return None
    if text == "system":
        return _of_system()
    place = address_and_port(text, 53)
    if place is None:
        raise UsageError(f"{text!r} is no resolver", "give ADDRESS, ADDRESS:PORT, [IPV6]:PORT, system or none")
    return Resolver(*place)


def _of_system() -> Resolver:
    from dns.resolver import Resolver as SystemResolver  # noqa: PLC0415 - brings QUIC, and most commands ask nobody

    try:
        servers = SystemResolver().nameservers
        return Resolver(str(ipaddress.ip_address(str(servers[0]).partition("%")[0])), named=False)
    except (dns.exception.DNSException, OSError, IndexError, ValueError) as error:
        raise UsageError(
            "this machine names no resolver", "name one with --resolver ADDRESS, or --resolver none"
        ) from error


def query_visit_names(
    resolver: Resolver, har_log: dict[str, Any], extension: Extension, *, allow_private: bool = False
) -> None:
    """Ask for every name of a visit, and add what came to its ``dns``; takes at most some seconds, never raises.

    Names that :meth:`Resolver.may_be_asked` refuses are left out.
    """
    hosts = {query.host for query in extension.dns}
    hosts |= {host for entry in har_log["entries"] if (host := _host(entry["request"]["url"])) is not None}
    started = time.time() - _timestamp(extension.visit.started_at)
    wanted = sorted(host for host in hosts if resolver.may_be_asked(host, allow_private=allow_private))
    answers = asyncio.run(query_names(resolver, wanted))
    last = max((query.lookup_id for query in extension.dns), default=0)
    for query in answers:
        query.lookup_id += last
        query.asked_ms = None if query.asked_ms is None else round(query.asked_ms + started * 1000, 3)
    extension.dns = [*extension.dns, *answers]


async def query_names(resolver: Resolver, hosts: Iterable[str]) -> list[DnsQuery]:
    """All record types of all names at once: status, answers, aliases, lowest TTL and time of each.

    The status is that of the answer (NODATA where the name exists without the type), TIMEOUT, UNREACHABLE where nobody
    takes questions there, or MALFORMED where what came is no answer. ``lookup_id`` numbers the names from 1;
    ``asked_ms`` counts from the call and is None for what was not sent in time.
    """
    began = time.monotonic()
    gate = asyncio.Semaphore(_OPEN)
    return list(
        await asyncio.gather(
            *(
                _ask(resolver, number, host, rtype, gate, began)
                for number, host in enumerate(hosts, 1)
                for rtype in RTYPES
            )
        )
    )


async def _ask(  # noqa: PLR0917 - one query has six facts
    resolver: Resolver, number: int, host: str, rtype: str, gate: asyncio.Semaphore, began: float
) -> DnsQuery:
    found = DnsQuery(lookup_id=number, host=host, rtype=rtype, source="resolver", resolver=resolver.name)
    async with gate:
        asked = time.monotonic()
        rest = _TIMEOUT_S - (asked - began)
        if rest <= 0:
            found.status = "TIMEOUT"
            return found
        found.asked_ms = round((asked - began) * 1000, 3)
        try:
            question = dns.message.make_query(dns.name.from_text(host), rtype, use_edns=0, payload=1232)
            _read_reply(found, await _answer(resolver, question, found, asked + rest), rtype)
        except (dns.exception.Timeout, TimeoutError):
            found.status = "TIMEOUT"
        except (OSError, EOFError):
            found.status = "UNREACHABLE"
        except (dns.exception.DNSException, ValueError):
            found.status = "MALFORMED"
        found.took_ms = round((time.monotonic() - asked) * 1000, 3)
    return found


async def _answer(
    resolver: Resolver, question: dns.message.Message, found: DnsQuery, deadline: float
) -> dns.message.Message:
    """The answer over UDP, asked for twice if need be, or over TCP where it is longer; counts the queries."""
    from dns.asyncquery import udp_with_fallback  # noqa: PLC0415 - brings QUIC, and most commands ask nobody

    while True:
        found.attempts += 1
        rest = deadline - time.monotonic()
        wait = min(rest, _AGAIN_S) if found.attempts == 1 else rest
        try:
            reply, over_tcp = await udp_with_fallback(
                question, resolver.address, timeout=wait, port=resolver.port, source=resolver.source
            )
        except dns.exception.Timeout:
            if found.attempts > 1 or wait == rest:
                raise
        else:
            found.attempts += over_tcp
            return reply


def _read_reply(found: DnsQuery, reply: dns.message.Message, rtype: str) -> None:
    kind = dns.rdatatype.from_text(rtype)
    wanted = [rrset for rrset in reply.answer if rrset.rdtype == kind]
    found.answers = [_text(rdata) for rrset in wanted for rdata in rrset]
    if rtype != "CNAME":
        targets = {_text(rrset.name): _text(rrset[0]) for rrset in reply.answer if rrset.rdtype == dns.rdatatype.CNAME}
        name: str | None = found.host
        while (name := targets.pop(name or "", None)) is not None:  # in whatever order they came
            found.cname_chain.append(name)
    found.ttl = min((rrset.ttl for rrset in reply.answer), default=None)
    rcode = reply.rcode()
    found.status = "NODATA" if rcode == dns.rcode.NOERROR and not wanted else dns.rcode.to_text(rcode)


def _text(rdata: object) -> str:
    """Addresses as they are, names without their last dot, parameters without quotes, as the browser's rows."""
    text = str(rdata).replace('"', "")
    return text if " " in text else text.rstrip(".").lower()


def _timestamp(started_at: str) -> float:
    return datetime.fromisoformat(started_at).timestamp()


def _host(url: str) -> str | None:
    try:
        split = urlsplit(url)
    except ValueError:
        return None
    return split.hostname if split.scheme in {"http", "https", "ws", "wss"} else None
