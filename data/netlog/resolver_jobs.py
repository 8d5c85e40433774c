"""Lookups in a NetLog: resolver jobs, the queries that they sent, and what came back.

A job asks for A, AAAA and HTTPS at once. Where the built-in resolver fails, Chromium asks the operating system's too,
whose queries the log does not show one by one: an attempt of getaddrinfo is one query for each address family, before
retries and search domains of the C library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from originset.data.netlog.events import Constants, Event, parameters
from originset.data.netlog.sockets import endpoint, parse_group, parse_stream_key

BEGIN, END = 1, 2

_RTYPES = {1: "A", 28: "AAAA", 65: "HTTPS"}
_FAMILIES = ("A", "AAAA")
_RCODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}
_ERRORS = {"net::ERR_DNS_TIMED_OUT": "TIMEOUT", "net::ERR_TIMED_OUT": "TIMEOUT"}
_DEFAULT_PROTOCOL = "http/1.1"
_MAX_TTL = (1 << 31) - 1  # RFC 2181 section 8
_WINDOWS_EPOCH_MS = 11_644_473_600_000


@dataclass(slots=True)
class Query:
    """What a lookup asked for one record type."""

    rtype: str
    attempts: int = 0
    status: str | None = None
    answers: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    ttl: int | None = None


@dataclass(slots=True)
class Lookup:
    """One resolver job; times in NetLog's ms.

    ``system`` tells that the operating system's resolver was asked too, ``cache_hits`` how many later requests for the
    name the browser's cache answered. ``cached``: there was no job at all, the cache answered from the first.
    """

    id: int
    host: str
    partition_key: str
    asked: int
    queries: dict[str, Query]
    error: str | None = None
    system: bool = False
    answered: int | None = None
    cache_hits: int = 0
    cached: bool = False
    addresses: set[str] = field(default_factory=set)  # of all answers so far


class LookupLog:
    """Collects the lookups of a sequence of events."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._lookups: dict[int, Lookup] = {}
        self._owners: dict[int, int] = {}  # DNS transaction -> resolver job
        self._queries: dict[int, Query] = {}  # DNS transaction -> query
        self._askers: dict[int, tuple[str, str]] = {}  # who wants a name's addresses -> name, partition key
        # Who wanted them -> when the cache first answered, and what.
        self._hits: dict[int, tuple[int, dict[str, Query]]] = {}

    def lookups(self) -> list[Lookup]:
        """All lookups, in the order asked; then the names that the cache knew without any."""
        found = dict(self._lookups)
        latest = {(lookup.host, lookup.partition_key): lookup for lookup in found.values()}
        for asker, (time, queries) in self._hits.items():
            if (name := self._askers.get(asker)) is None:
                continue
            lookup = latest.get(name)
            if lookup is None:
                lookup = latest[name] = found[asker] = Lookup(asker, *name, time, queries, cached=True)
            lookup.cache_hits += 1
        return list(found.values())

    def add(self, event: Event) -> None:
        """Take in one event; others than those in ``EVENT_NAMES`` are passed over."""
        if (handler := _HANDLERS.get(event.name)) is not None:
            handler(self, event)

    def job(self, event: Event) -> None:
        """A resolver job begins or ends."""
        values = parameters(event)
        if event.phase == END:
            if (lookup := self._lookups.get(event.source)) is not None and lookup.answered is None:
                lookup.answered = event.time
                lookup.error = self._constants.errors.get(values.get("net_error", 0))
                for query in lookup.queries.values():
                    query.status = query.status or _ERRORS.get(lookup.error or "")
                if lookup.system:  # which is not asked for services
                    lookup.queries = {t: q for t, q in lookup.queries.items() if t in _FAMILIES or q.attempts}
            return
        types = [str(name) for name in values.get("dns_query_types", [])] or ["A", "AAAA"]
        self._lookups[event.source] = Lookup(
            event.source,
            _host(str(values.get("host", ""))),
            str(values.get("network_anonymization_key", "")),
            event.time,
            {rtype: Query(rtype) for rtype in types},
        )

    def asker(self, event: Event) -> None:
        """Somebody wants a name's addresses: a QUIC job says so itself, a TCP job by its socket group or stream key."""
        values = parameters(event)
        # The estimator of the network's quality asks what the cache knows, for itself.
        if event.source_type == "NETWORK_QUALITY_ESTIMATOR" or event.phase == END:
            return
        if "host" in values:
            name = _host(str(values["host"])), str(values.get("network_anonymization_key", ""))
            self._askers[event.source] = name
        elif (group := parse_group(values.get("group_id")) or parse_stream_key(values.get("stream_key"))) is not None:
            self._askers[event.source] = group.host, group.partition_key

    def cache_hit(self, event: Event) -> None:
        """The cache answered, once for each record type that it was asked for."""
        if event.source not in self._hits:
            self._hits[event.source] = event.time, _cached_queries(event)

    def transaction(self, event: Event) -> None:
        """A transaction is named by its job, then begins; its end names the error."""
        values = parameters(event)
        if event.source in self._lookups:
            dependency = values.get("source_dependency") or {}
            self._owners[dependency.get("id", -1)] = event.source
        elif event.phase == BEGIN:
            lookup = self._lookups.get(self._owners.get(event.source, -1))
            rtype = _RTYPES.get(values.get("query_type", 0), str(values.get("query_type")))
            if lookup is not None:
                self._queries[event.source] = lookup.queries.setdefault(rtype, Query(rtype))
        elif event.phase == END and (query := self._queries.get(event.source)) is not None:
            error = self._constants.errors.get(values.get("net_error", 0), "")
            query.status = query.status or _ERRORS.get(error)

    def attempt(self, event: Event) -> None:
        """A query was sent."""
        if (query := self._queries.get(event.source)) is not None:
            query.attempts += 1

    def response(self, event: Event) -> None:
        """An answer came."""
        query = self._queries.get(event.source)
        values = parameters(event)
        if query is None or "rcode" not in values:
            return
        rcode = values["rcode"]
        query.status = _RCODES.get(rcode, f"RCODE{rcode}")
        if rcode == 0 and not query.answers:
            query.status = "NODATA"  # until an answer of the type is taken from it

    def extraction(self, event: Event) -> None:
        """What the resolver took from an answer."""
        lookup = self._lookups.get(event.source)
        if lookup is None:
            return
        targets: dict[str, dict[str, str]] = {}
        for result in parameters(event).get("results", []):
            rtype = str(result.get("query_type"))
            query = lookup.queries.get(rtype)
            if query is None:
                continue
            if result.get("type") == "alias":
                target = _name(result.get("alias_target"))
                targets.setdefault(rtype, {})[_name(result.get("domain_name"))] = target
            self._add_result(lookup, query, result, event.time)
        for rtype, of in targets.items():  # the log sorts them otherwise than they lead on
            name: str | None = lookup.host
            while (name := of.pop(name or "", None)) is not None:
                lookup.queries[rtype].aliases.append(name)

    def _add_result(self, lookup: Lookup, query: Query, result: dict[str, Any], time: int) -> None:
        kind = result.get("type")
        if kind == "data":
            addresses = [str(item["address"]) for item in result.get("endpoints", []) if "address" in item]
            query.answers += addresses
            lookup.addresses.update(addresses)
        elif kind == "metadata":
            query.answers += _services(result)
        if query.answers:
            query.status = "NOERROR"
        expiration = result.get("timed_expiration")
        if expiration is not None and kind != "error":
            expires = int(expiration) / 1000 - _WINDOWS_EPOCH_MS
            ttl = min(_MAX_TTL, max(0, round((expires - time - self._constants.time_offset_ms) / 1000)))
            query.ttl = ttl if query.ttl is None else min(ttl, query.ttl)

    def system_attempt(self, event: Event) -> None:
        """The operating system's resolver was asked."""
        lookup = self._lookups.get(event.source)
        if lookup is None:
            return
        lookup.system = True
        for rtype in _FAMILIES:
            if (query := lookup.queries.get(rtype)) is not None:
                query.attempts += 1

    def system_answer(self, event: Event) -> None:
        """The operating system's resolver answered: addresses of both families, and the last name of the aliases."""
        values = parameters(event)
        lookup = self._lookups.get(event.source)
        if lookup is None or event.phase != END or not values.get("address_list"):
            return
        aliases = [name for alias in values.get("aliases", []) if (name := _name(alias)) != lookup.host]
        for address in dict.fromkeys(found[0] for text in values["address_list"] if (found := endpoint(text))):
            rtype = "AAAA" if ":" in address else "A"
            query = lookup.queries.setdefault(rtype, Query(rtype))
            query.status, query.aliases = "NOERROR", query.aliases or aliases
            if address not in lookup.addresses:
                query.answers.append(address)
                lookup.addresses.add(address)


def _cached_queries(event: Event) -> dict[str, Query]:
    """The addresses in an answer of the cache."""
    results = parameters(event).get("results")
    endpoints = results.get("ip_endpoints") if isinstance(results, dict) else None
    queries: dict[str, Query] = {}
    for item in endpoints if isinstance(endpoints, list) else []:
        address = str(item.get("endpoint_address", "")) if isinstance(item, dict) else ""
        rtype = "AAAA" if ":" in address else "A"
        queries.setdefault(rtype, Query(rtype, status="NOERROR")).answers.append(address)
    return queries


def _name(text: object) -> str:
    return str(text or "").lower().rstrip(".")


def _services(result: dict[str, Any]) -> list[str]:
    """Service parameters of HTTPS records, in the presentation form of RFC 9460 as far as the log gives them.

    The log adds http/1.1, which is meant where a record says nothing else (section 7.1.2) and is not in the record.
    """
    answers = []
    for priority, metadata in _pairs(result.get("metadatas")):
        protocols = [str(name) for name in metadata.get("supported_protocol_alpns", [])]
        named = [name for name in protocols if name != _DEFAULT_PROTOCOL]
        words = [f"{priority} {metadata.get('target_name') or '.'}"]
        if named:
            words += [f"alpn={','.join(named)}", *(() if _DEFAULT_PROTOCOL in protocols else ("no-default-alpn",))]
        if metadata.get("ech_config_list"):
            words.append("ech")
        answers.append(" ".join(words))
    return answers


def _pairs(metadatas: object) -> list[tuple[object, dict[str, Any]]]:
    if isinstance(metadatas, dict):
        return [(key, value) for key, value in metadatas.items() if isinstance(value, dict)]
    if not isinstance(metadatas, list):
        return []
    return [
        (item.get("metadata_weight"), value)
        for item in metadatas
        if isinstance(item, dict) and isinstance(value := item.get("metadata_value"), dict)
    ]


def _host(text: str) -> str:
    """The host of ``https://host``, ``https://host:444`` or ``host:80``, lower-case."""
    text = text.partition("://")[2] or text
    if text.startswith("["):
        return text[1:].partition("]")[0].lower()
    return text.partition(":")[0].lower().rstrip(".")


_HANDLERS: dict[str, Callable[[LookupLog, Event], None]] = {
    "HOST_RESOLVER_MANAGER_JOB": LookupLog.job,
    "HOST_RESOLVER_MANAGER_REQUEST": LookupLog.asker,
    "SOCKET_POOL_CONNECT_JOB_CREATED": LookupLog.asker,
    "HTTP_STREAM_POOL_ATTEMPT_MANAGER_ALIVE": LookupLog.asker,
    "HOST_RESOLVER_MANAGER_CACHE_HIT": LookupLog.cache_hit,
    "DNS_TRANSACTION": LookupLog.transaction,
    "DNS_TRANSACTION_ATTEMPT": LookupLog.attempt,
    "DNS_TRANSACTION_TCP_ATTEMPT": LookupLog.attempt,
    "DNS_TRANSACTION_HTTPS_ATTEMPT": LookupLog.attempt,
    "DNS_TRANSACTION_RESPONSE": LookupLog.response,
    "HOST_RESOLVER_DNS_TASK_EXTRACTION_RESULTS": LookupLog.extraction,
    "HOST_RESOLVER_MANAGER_ATTEMPT_STARTED": LookupLog.system_attempt,
    "HOST_RESOLVER_SYSTEM_TASK": LookupLog.system_answer,
}

EVENT_NAMES = frozenset(_HANDLERS)
