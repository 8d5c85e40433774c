"""The paper's timeline reconstruction (section 4, Figure 2): page load times if connections had been coalesced.

A model, not a measurement: the authors' own live test found no effect on load time. The rules, read off Figure 2:

- A request that opened a connection although the page had already asked a server with the same key loses its DNS and
  connect phases. It keeps what it sent, waited for and received.
- A request that queued behind such a handshake of its own origin (or connection, where ids are known) stops queueing
  for the part of its blocked time that overlapped it.
- A request starts earlier by all that its predecessor saved and was shifted, but never before its predecessor. By time,
  the predecessor is the request whose first byte came last before this one's start: in Figure 2 dependents start while
  their predecessors are still being received.
- The page loads earlier by as much as the last of the requests that had ended by the load event now ends earlier.
  So no modelled time is below the end of any request that the load event waited for, nor above the measured one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from originset.data.schema import PAGE_LOAD_TIMES
from originset.models.network import network_requests
from originset.models.parameters import Parameters

# What one pass needs of each request; NULL phases took no time.
_PHASES = ("blocked_ms", "dns_ms", "connect_ms", "send_ms", "wait_ms", "receive_ms")
# Recordings in which connections, or what waited for them, are not to be seen as they were.
_LIMITS = ("truncated", "partial", "proxied", "warm_start", "preserved_log", "cached_hosts")

Coalesces = Callable[["Request"], Hashable | None]


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a page, times in ms from the page's first request; ``initiator`` is a ``request_id``."""

    request_id: int
    started: float
    blocked: float = 0.0
    dns: float = 0.0
    connect: float = 0.0
    send: float = 0.0
    wait: float = 0.0
    receive: float = 0.0
    server_ip: str | None = None
    key: str | None = None
    asn: int | None = None
    initiator: int | None = None
    lane: Hashable = None  # the connection where its id is known, else the origin

    @property
    def first_byte(self) -> float:
        """When the response began."""
        return self.started + self.blocked + self.dns + self.connect + self.send + self.wait

    @property
    def ended(self) -> float:
        """When the response ended."""
        return self.first_byte + self.receive

    @property
    def handshake(self) -> tuple[float, float]:
        """Beginning and end of its DNS and connect phases."""
        begun = self.started + self.blocked
        return begun, begun + self.dns + self.connect


@dataclass(frozen=True, slots=True)
class Change:
    """What the model does to one request: it starts ``shift`` ms earlier and then takes less time by the others."""

    shift: float
    dns: float
    connect: float
    blocked: float

    @property
    def total(self) -> float:
        """By how much the request ends earlier."""
        return self.shift + self.dns + self.connect + self.blocked


def by_address(request: Request) -> Hashable | None:
    """IP coalescing: what a request's server is known by."""
    return request.server_ip


def by_key(request: Request) -> Hashable | None:
    """ORIGIN coalescing: what a request's server is known by."""
    return request.key


def by_provider(asns: frozenset[int]) -> Coalesces:
    """ORIGIN coalescing if one provider alone offers it, whatever its number of ASes."""
    return lambda request: request.key if request.asn in asns else None


def reconstruct(requests: Sequence[Request], coalesces: Coalesces, parameters: Parameters) -> list[Change]:
    """What coalescing does to each request of one page, in O(n log n).

    ``requests`` are those that reached the network, by (``started``, ``request_id``); ``coalesces`` gives what a
    request's server is known by, None where nothing can be coalesced with it.
    """
    place = {request.request_id: i for i, request in enumerate(requests)}
    by_time = _predecessors_by_time(requests)
    dns = _dns_savings(requests, coalesces, parameters)
    changes: list[Change] = []
    openers: dict[Hashable, int] = {}
    for i, request in enumerate(requests):
        connect = 0.0 if dns[i] is None else request.connect
        blocked = 0.0
        opener = openers.get(request.lane)
        if parameters.blocked_time == "freed" and opener is not None and dns[opener] is not None:
            # The handshake that this one queued behind no longer happens.
            begun, established = requests[opener].handshake
            overlap = min(established, request.started + request.blocked) - max(begun, request.started)
            saved = changes[opener].dns + changes[opener].connect
            blocked = max(0.0, min(overlap, saved))
        predecessor = by_time[i]
        if parameters.predecessor == "initiator" and request.initiator is not None:
            caused_by = place.get(request.initiator)
            if caused_by is not None and caused_by < i:
                predecessor = caused_by
        shift = 0.0
        if predecessor is not None:
            before, its = requests[predecessor], changes[predecessor]
            shift = its.shift + min(its.total - its.shift, request.started - before.started)
        changes.append(Change(shift, dns[i] or 0.0, connect, blocked))
        if request.dns + request.connect > 0 and request.lane is not None:
            openers[request.lane] = i
    return changes


def load_time(requests: Sequence[Request], changes: Sequence[Change], measured: float) -> float:
    """The load event under ``changes``; ``measured`` where no request had ended by then."""
    ended = [
        (request.ended, request.ended - change.total)
        for request, change in zip(requests, changes, strict=True)
        if request.ended <= measured
    ]
    if not ended:
        return measured
    return measured - (max(was for was, _ in ended) - max(now for _, now in ended))


def _predecessors_by_time(requests: Sequence[Request]) -> list[int | None]:
    """For each request the one whose first byte came last before its start."""
    arrivals = sorted((request.first_byte, i) for i, request in enumerate(requests))
    found: list[int | None] = []
    seen = 0
    for i, request in enumerate(requests):
        while seen < len(arrivals) and arrivals[seen] < (request.started, i):
            seen += 1
        found.append(arrivals[seen - 1][1] if seen else None)
    return found


def _dns_savings(requests: Sequence[Request], coalesces: Coalesces, parameters: Parameters) -> list[float | None]:
    """The lookup time each coalesced request saves; None for a request that is not coalesced."""
    known: set[Hashable] = set()
    savings: list[float | None] = [None] * len(requests)
    for i, request in enumerate(requests):
        server = coalesces(request)
        if server is None:
            continue
        if server in known and request.dns + request.connect > 0:
            savings[i] = request.dns
        known.add(server)
    if parameters.parallel_dns == "minimum":
        for group in _overlapping_lookups(requests, [i for i, saving in enumerate(savings) if saving]):
            shortest = min(requests[i].dns for i in group)
            for i in group:
                savings[i] = shortest
    return savings


def _overlapping_lookups(requests: Sequence[Request], indices: list[int]) -> Iterator[list[int]]:
    """Groups of requests whose lookups overlapped, directly or through others."""
    group: list[int] = []
    until = float("-inf")
    for i in sorted(indices, key=lambda i: requests[i].handshake[0]):
        begun = requests[i].handshake[0]
        if group and begun >= until:
            yield group
            group, until = [], float("-inf")
        group.append(i)
        until = max(until, begun + requests[i].dns)
    if group:
        yield group


def page_load_times(tables: Mapping[str, pl.LazyFrame], parameters: Parameters) -> pl.DataFrame:
    """Rows of ``page_load_times``, one for every row of ``visits``, ordered by ``visit_id``.

    The modelled times are all there or all NULL, so that they compare the same pages; ``left_out_reason`` is then one
    of failed, truncated, partial, proxied, warm_start, preserved_log, cached_hosts (what the recording lacks, as in
    visits.quality), no_load_time, no_requests, no_addresses (no server is known), no_handshakes (the recorder shows no
    DNS or connect phase, so that nothing is known of what could be saved), no_request_before_load.
    """
    visits = tables["visits"].select("visit_id", "status", "quality", "load_ms").sort("visit_id").collect()
    rows = (
        network_requests(tables, parameters.colocation)
        .filter(pl.col("started_ms").is_not_null())
        .with_columns(pl.col(name).fill_null(0.0).clip(lower_bound=0.0) for name in _PHASES)
        .with_columns(
            pl.when(pl.col("connection_id").is_not_null())
            .then(pl.format("{}", "connection_id"))
            .otherwise(pl.format("{}://{}:{}", "scheme", "host", "port"))
            .alias("lane")
        )
        .select("visit_id", "request_id", "started_ms", *_PHASES, "server_ip", "key", "asn", "initiator_id", "lane")
        .sort("visit_id", "started_ms", "request_id")
        .collect(engine="streaming")
    )
    starts = [0, *rows["visit_id"].rle().struct.field("len").cum_sum().to_list()]
    pages = {rows["visit_id"][begin]: (begin, end) for begin, end in pairwise(starts)}
    fields = rows.drop("visit_id")
    modelled = []
    for visit_id, status, quality, load_ms in visits.iter_rows():
        begin, end = pages.get(visit_id, (0, 0))
        requests = [Request(*row) for row in fields.slice(begin, end - begin).rows()]
        reason = _why_not(status, quality or [], load_ms, requests)
        times = (None, None, None) if reason else _times(requests, load_ms, parameters)
        modelled.append((visit_id, load_ms, *times, reason))
    return pl.DataFrame(modelled, schema=PAGE_LOAD_TIMES.polars_schema, orient="row")


def _why_not(status: str | None, quality: list[str], load_ms: float | None, requests: Sequence[Request]) -> str | None:
    reasons = {
        "failed": status == "failed",
        **{limit: limit in quality for limit in _LIMITS},
        "no_load_time": load_ms is None or load_ms <= 0,
        "no_requests": not requests,
        "no_addresses": all(request.server_ip is None for request in requests),
        "no_handshakes": all(request.dns + request.connect == 0 for request in requests),
        "no_request_before_load": load_ms is not None and all(request.ended > load_ms for request in requests),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _times(requests: Sequence[Request], load_ms: float, parameters: Parameters) -> tuple[float, float, float | None]:
    def modelled(coalesces: Coalesces) -> float:
        return load_time(requests, reconstruct(requests, coalesces, parameters), load_ms)

    provider = by_provider(frozenset(parameters.provider_asns)) if parameters.provider_asns else None
    return modelled(by_address), modelled(by_key), None if provider is None else modelled(provider)
