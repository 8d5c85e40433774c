"""NetLog events of one visit to typed records: connections, lookups, and the connection that each request went out on.

Attribution: a visit has its browser to itself, and what belongs to it carries the network anonymization key of the
visit's top-level sites. Those are read from the log: the first part of the key of every main-frame request for an
address that the visit's main frame asked for. Everything else is the browser's own and is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from originset.data.netlog import certificate_events, quic_sessions, request_events, resolver_jobs
from originset.data.netlog.certificate_events import ChainLog
from originset.data.netlog.events import UNEXPECTED, Constants, Event
from originset.data.netlog.request_events import RequestLog
from originset.data.netlog.resolver_jobs import Lookup, LookupLog
from originset.data.netlog.sockets import SentRequest, Socket, note_pooled_hosts, top_site


@dataclass(slots=True)
class VisitLog:
    """What the NetLog says of one visit; ``unread``: how many events cannot be read, of whatever visit they are."""

    sockets: dict[int, Socket]
    lookups: list[Lookup]
    requests: list[SentRequest]
    top_sites: set[str] = field(default_factory=set)
    unread: int = 0


EVENT_NAMES = (
    request_events.EVENT_NAMES | quic_sessions.EVENT_NAMES | resolver_jobs.EVENT_NAMES | certificate_events.EVENT_NAMES
)


class NetLogReader:
    """Takes a log's events one by one; :meth:`contents` is what they say together."""

    def __init__(self, constants: Constants) -> None:
        self._requests = RequestLog(constants)
        self._lookups = LookupLog(constants)
        self._chains = ChainLog()

    def add(self, event: Event) -> None:
        """Take in one event; others than those in ``EVENT_NAMES`` are passed over."""
        self._requests.add(event)
        self._lookups.add(event)
        self._chains.add(event)

    @property
    def requests(self) -> list[SentRequest]:
        """The requests so far."""
        return self._requests.requests

    def contents(self) -> VisitLog:
        """All that the log holds, whatever visit it belongs to; to be called once, at the end."""
        reader = self._requests
        reader.assign_groups()
        note_pooled_hosts(reader.sockets, reader.requests)
        for number, socket in reader.sockets.items():
            socket.chain = socket.chain or self._chains.sent(number)
            socket.verified = self._chains.verified(socket.chain)
        return VisitLog(reader.sockets, self._lookups.lookups(), reader.requests)


def read_visit(
    events: Iterable[Event], constants: Constants, main_frame_urls: AbstractSet[str], named: AbstractSet[int]
) -> VisitLog:
    """The records of one visit.

    ``main_frame_urls`` are the URLs that the visit's main frame requested (redirects included, without fragment),
    ``named`` the connections that DevTools saw in use: they belong to the visit whatever their key.
    """
    reader = NetLogReader(constants)
    unread = 0
    for event in events:
        try:
            reader.add(event)
        except UNEXPECTED:  # an event that Chromium would not write costs itself
            unread += 1
    log = reader.contents()
    top_sites = {
        request.partition_key for request in log.requests if request.main_frame and request.url in main_frame_urls
    } - {"", "null"}
    return VisitLog(
        {
            number: socket
            for number, socket in log.sockets.items()
            if number in named or top_site(socket.partition_key) in top_sites
        },
        [lookup for lookup in log.lookups if top_site(lookup.partition_key) in top_sites],
        [request for request in log.requests if request.partition_key in top_sites],
        top_sites,
        unread,
    )
