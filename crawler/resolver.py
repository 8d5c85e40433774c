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

import dns.asyncquery
import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.resolver

from originset.data.capture import DnsQuery, Extension
from originset.data.errors import UsageError

RTYPES = ("A", "AAAA", "CNAME", "HTTPS")

# For all questions of a visit together, and how many may be open at a time.
_TIMEOUT_S = 5.0
_OPEN = 64


@dataclass(frozen=True, slots=True)
class Resolver:
    """Whom to ask, by plain DNS; ``source`` is the address to ask from, where that matters."""

    address: str
    port: int = 53
    source: str | None = None

    @property
    def name(self) -> str:
        """As ``dns_queries.resolver`` has it: the address, with the port where it is not 53."""
        if self.port == 53:
            return self.address
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def parse_resolver(text: str) -> Resolver | None:
    """``system`` (the first name server of resolv.conf), ``none``, or ``ADDRESS[:PORT]``, IPv6 with a port in brackets.

    Raises:
        UsageError: it is none of these, or the system has no name server.
    """
    if text == "none":
        return None
    if text == "system":
        return _of_system()
    host, separator, port = text.rpartition(":")
    if not separator or (":" in host and not text.startswith("[")):
        host, port = text, "53"
    try:
        address = str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        address = ""
    if not (address and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise UsageError(f"{text!r} is no resolver", "give ADDRESS, ADDRESS:PORT, [IPV6]:PORT, system or none")
    return Resolver(address, int(port))


def _of_system() -> Resolver:
    try:
        servers = dns.resolver.Resolver().nameservers
        return Resolver(str(ipaddress.ip_address(str(servers[0]).partition("%")[0])))
    except (dns.exception.DNSException, OSError, IndexError, ValueError) as error:
        raise UsageError(
            "this machine names no resolver", "name one with --resolver ADDRESS, or --resolver none"
        ) from error


def ask_for_visit(resolver: Resolver, har_log: dict[str, Any], extension: Extension) -> None:
    """Ask for every name of a visit, and add what came to its ``dns``; takes at most some seconds, never raises."""
    hosts = {query.host for query in extension.dns}
    hosts |= {host for entry in har_log["entries"] if (host := _host(entry["request"]["url"])) is not None}
    hosts.discard("")
    started = time.time() - _timestamp(extension.visit.started_at)
    answers = asyncio.run(ask(resolver, sorted(host for host in hosts if not _is_address(host))))
    for query in answers:
        query.asked_ms = round((query.asked_ms or 0.0) + started * 1000, 3)
    extension.dns = [*extension.dns, *answers]


async def ask(resolver: Resolver, hosts: Iterable[str]) -> list[DnsQuery]:
    """All record types of all names at once: status, answers, aliases, lowest TTL and time of each.

    ``lookup_id`` numbers the names from 1; ``asked_ms`` counts from the call.
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
        found.asked_ms, found.attempts = round((asked - began) * 1000, 3), 1
        try:
            question = dns.message.make_query(dns.name.from_text(host), rtype, use_edns=0, payload=1232)
            reply, over_tcp = await dns.asyncquery.udp_with_fallback(
                question, resolver.address, timeout=rest, port=resolver.port, source=resolver.source
            )
            found.attempts += over_tcp
            _take(found, reply, rtype)
        except (dns.exception.Timeout, TimeoutError):
            found.status = "TIMEOUT"
        except (dns.exception.DNSException, OSError, ValueError) as error:
            found.status = type(error).__name__
        found.took_ms = round((time.monotonic() - asked) * 1000, 3)
    return found


def _take(found: DnsQuery, reply: dns.message.Message, rtype: str) -> None:
    kind = dns.rdatatype.from_text(rtype)
    wanted = [rrset for rrset in reply.answer if rrset.rdtype == kind]
    found.answers = [_text(rdata) for rrset in wanted for rdata in rrset]
    if rtype != "CNAME":
        aliases = [rrset for rrset in reply.answer if rrset.rdtype == dns.rdatatype.CNAME]
        found.cname_chain = [_text(rdata) for rrset in aliases for rdata in rrset]
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


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
