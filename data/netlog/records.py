"""What a visit's NetLog says, in the form that captures have: connections, lookups, certificates, address families."""

from __future__ import annotations

import base64
from collections.abc import Set as AbstractSet

from originset.data.captures.capture import Connection, DnsQuery
from originset.data.netlog.resolver_jobs import Lookup
from originset.data.netlog.sockets import Socket, certificate_id
from originset.data.netlog.visit_log import VisitLog


def connections(
    log: VisitLog, zero_ms: float | None, carried: AbstractSet[int]
) -> tuple[list[Connection], dict[str, str]]:
    """(connections, DER in base64 by certificate id).

    ``zero_ms`` is when the visit began, in NetLog's ms; ``carried`` the connections that carried the page's requests.
    """
    certificates: dict[str, str] = {}
    return [_connection(socket, zero_ms, carried, certificates) for socket in log.sockets.values()], certificates


def dns_queries(log: VisitLog, zero_ms: float | None) -> list[DnsQuery]:
    """One record for each lookup and record type."""
    return [query for lookup in log.lookups for query in _queries(lookup, zero_ms)]


def ip_families(log: VisitLog) -> str | None:
    """What the machine could reach: Chromium asks for AAAA only where its probe finds a way to IPv6."""
    lookups = [lookup for lookup in log.lookups if not lookup.cached]
    if not lookups:
        return None
    if not any("AAAA" in lookup.queries for lookup in lookups):
        return "4"
    reached = [socket.remote[0] for socket in log.sockets.values() if socket.remote and socket.established is not None]
    return "both" if any("." in address for address in reached) else None


def _connection(
    socket: Socket, zero_ms: float | None, carried: AbstractSet[int], certificates: dict[str, str]
) -> Connection:
    return Connection(
        id=socket.id,
        first_host=socket.host,
        server_ip=socket.remote[0] if socket.remote else None,
        port=socket.remote[1] if socket.remote else None,
        local_port=socket.local_port,
        protocol=socket.protocol,
        tls=socket.tls,
        tls_version=socket.tls_version,
        resumed=socket.resumed,
        ech=socket.ech,
        chain=_chain(socket.chain, certificates),
        verified_chain=_chain(socket.verified, certificates),
        opened_ms=_ms(socket.opened, zero_ms),
        established_ms=_ms(socket.established, zero_ms),
        closed_ms=_ms(socket.closed, zero_ms),
        used=socket.used or socket.id in carried,
        privacy_mode=socket.privacy_mode,
        partition_key=socket.partition_key,
        origin_set=socket.origin_set,
        origin_ms=_ms(socket.origin_received, zero_ms),
        misdirected=socket.misdirected,
        pooled_by_ip=socket.pooled_by_ip,
        pooled_by_origin=socket.pooled_by_origin,
        error=socket.error,
    )


def _chain(chain: list[bytes] | None, certificates: dict[str, str]) -> list[str] | None:
    """The ids of a chain's certificates, which are added to those known."""
    if chain is None:
        return None
    ids = [certificate_id(der) for der in chain]
    for number, der in zip(ids, chain, strict=True):
        if number not in certificates:
            certificates[number] = base64.b64encode(der).decode()
    return ids


def _queries(lookup: Lookup, zero_ms: float | None) -> list[DnsQuery]:
    return [
        DnsQuery(
            lookup_id=lookup.id,
            host=lookup.host,
            rtype=query.rtype,
            status=query.status,
            answers=query.answers,
            cname_chain=query.aliases,
            ttl=query.ttl,
            attempts=query.attempts,
            cache_hits=lookup.cache_hits,
            source="cache" if lookup.cached else "browser",
            asked_ms=_ms(lookup.asked, zero_ms),
            took_ms=_ms(lookup.answered, lookup.asked),
        )
        for query in lookup.queries.values()
    ]


def _ms(time_ms: int | None, zero_ms: float | None) -> float | None:
    return None if time_ms is None or zero_ms is None else round(time_ms - zero_ms, 3)
