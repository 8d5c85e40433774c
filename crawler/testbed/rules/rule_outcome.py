"""From the servers' logs of loads to the outcomes of a rule. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from originset.crawler.testbed.rules.observations import Browser, Cell, Cookies, LoadOutcome, ObservedConnection
from originset.crawler.testbed.scenario import HINTS, Resource
from originset.crawler.testbed.server_logs import LoggedDnsQuery, LoggedRequest, TlsHandshake
from originset.data.http_status import MISDIRECTED_REQUEST


@dataclass(slots=True)
class LoadRecords:
    """What the servers saw while a page was loaded once."""

    handshakes: list[TlsHandshake] = field(default_factory=list)
    requests: list[LoggedRequest] = field(default_factory=list)
    queries: list[LoggedDnsQuery] = field(default_factory=list)


def expected_requests(page: Resource) -> tuple[str, ...]:
    """What a page asks for over the network, as ``HOST/PATH``, in the order in which it is written down."""
    asked = (one for one in page.walk() if one.kind not in HINTS and one.host)
    return tuple(dict.fromkeys(f"{one.host}{one.path}" for one in asked))


def cell_of_loads(rule: str, page: Resource, browser: Browser, cookies: Cookies, loads: Sequence[LoadRecords]) -> Cell:
    """All loads of a rule, equal ones together, the most frequent first."""
    order = expected_requests(page)
    found: dict[tuple[tuple[ObservedConnection, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for number, load in enumerate(loads):
        connections = shared_connections(load.handshakes, load.requests, order)
        answered = {one for connection in connections for one in connection.requests}
        found[connections, tuple(one for one in order if one not in answered)].append(number)
    outcomes = [LoadOutcome(connections, tuple(which), missing) for (connections, missing), which in found.items()]
    return Cell(
        rule=rule,
        browser=browser,
        cookies=cookies,
        outcomes=tuple(sorted(outcomes, key=lambda outcome: (-len(outcome.loads), outcome.loads))),
        opened=tuple(len(load.handshakes) for load in loads),
        lookups=query_counts(load.queries for load in loads),
    )


def shared_connections(
    handshakes: Iterable[TlsHandshake], requests: Iterable[LoggedRequest], order: Sequence[str]
) -> tuple[ObservedConnection, ...]:
    """Which requests shared a connection, in the order of the page; ``order`` as :func:`expected_requests` gives it."""
    shaken = {one.connection: one for one in handshakes}
    carried: dict[int, dict[str, int]] = defaultdict(dict)
    protocols: dict[int, str] = {}
    for request in requests:
        if request.connection in shaken:
            carried[request.connection][f"{request.host}{request.path}"] = request.status
            protocols[request.connection] = request.protocol
    places = {name: place for place, name in enumerate(order)}
    connections = [
        ObservedConnection(
            opened_for=shaken[number].server_name or "",
            address=shaken[number].server,
            protocol=protocols[number],
            requests=tuple(sorted(statuses)),
            misdirected=tuple(sorted(name for name, status in statuses.items() if status == MISDIRECTED_REQUEST)),
            origins=None if (origins := shaken[number].origins) is None else len(origins),
        )
        for number, statuses in carried.items()
    ]
    return tuple(
        sorted(
            connections,
            key=lambda one: (min(places.get(name, -1) for name in one.requests), one.requests, one.opened_for),
        )
    )


def query_counts(loads: Iterable[Iterable[LoggedDnsQuery]]) -> dict[str, dict[str, tuple[int, ...]]]:
    """By host and record type, how many queries each load sent."""
    counts = [Counter((query.name, query.rtype) for query in queries) for queries in loads]
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for host, rtype in sorted({key for count in counts for key in count}):
        found.setdefault(host, {})[rtype] = tuple(count[host, rtype] for count in counts)
    return found
