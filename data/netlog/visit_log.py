"""NetLog events of one visit to typed records: connections, lookups, and the connection that each request went out on.

Attribution: a visit has its browser to itself, and what belongs to it carries the network anonymization key of the
visit's top-level sites. Those are read from the log: the first part of the key of every main-frame request for an
address that the visit's main frame asked for. Everything else is the browser's own and is dropped.

Chromium has two ways to a connection, by the feature HappyEyeballsV3: a stream job that has a connect job of the socket
pools, or a job of the stream pool (HTTP_STREAM_POOL_*), whose attempt manager makes connection attempts. Of the latter,
the log does not say which request went out on which connection of HTTP/1.1; DevTools do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from originset.data.netlog import certificate_events, quic_sessions, resolver_jobs
from originset.data.netlog.certificate_events import ChainLog
from originset.data.netlog.events import Constants, Event, dependency, parameters
from originset.data.netlog.quic_sessions import QuicLog
from originset.data.netlog.resolver_jobs import Lookup, LookupLog
from originset.data.netlog.sockets import (
    Group,
    SentRequest,
    Socket,
    endpoint,
    host_of,
    note_pooled_hosts,
    parse_group,
    parse_stream_key,
    top_site,
)

BEGIN, END = 1, 2


@dataclass(slots=True)
class VisitLog:
    """What the NetLog says of one visit."""

    sockets: dict[int, Socket]
    lookups: list[Lookup]
    requests: list[SentRequest]
    top_sites: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _StreamJob:
    """A stream job: the link between a request and what carries it."""

    socket: int | None = None
    session: int | None = None


class _VisitReader:
    """Collects the sockets and requests of a sequence of events."""

    def __init__(self, constants: Constants) -> None:
        self.errors = constants.errors
        self._without_credentials = constants.without_credentials
        self.sockets: dict[int, Socket] = {}
        self.requests: list[SentRequest] = []
        self._current: dict[int, SentRequest] = {}
        self._groups: dict[int, Group] = {}  # of connect jobs and stream jobs
        self._connect_jobs: dict[int, int] = {}  # socket -> connect job
        self._streams: dict[int, _StreamJob] = {}
        self._request_streams: dict[int, int] = {}
        self._session_sockets: dict[int, int] = {}
        self.quic = QuicLog(self.sockets, self._session_sockets)

    # -- sockets -------------------------------------------------------------------------------------------------

    def group_named(self, event: Event) -> None:
        if group := parse_group(parameters(event).get("group_id")):
            self._groups[event.source] = group

    def socket_alive(self, event: Event) -> None:
        if event.source_type != "SOCKET":
            return
        if event.phase == END:
            if socket := self.sockets.get(event.source):
                socket.closed = event.time
            return
        self.sockets[event.source] = Socket(event.source)
        if (job := dependency(parameters(event))) is not None:
            self._connect_jobs[event.source] = job

    def connect_job_bound(self, event: Event) -> None:
        """A stream job gets a connect job, whose sockets belong to its group."""
        job, group = dependency(parameters(event)), self._groups.get(event.source)
        if job is not None and group is not None:
            self._groups.setdefault(job, group)

    def attempt_manager(self, event: Event) -> None:
        """An attempt manager of the stream pool makes all connection attempts of its group."""
        if event.phase == BEGIN and (group := parse_stream_key(parameters(event).get("stream_key"))) is not None:
            self._groups[event.source] = group

    def attempt_bound(self, event: Event) -> None:
        """A connection attempt, and so the socket that it opens, belongs to the group of its attempt manager."""
        if (group := self._groups.get(dependency(parameters(event)) or -1)) is not None:
            self._groups[event.source] = group

    def assign_groups(self) -> None:
        """Give the sockets the keys of their groups: at the end, because a log may name a group after its sockets."""
        for number, job in self._connect_jobs.items():
            if (group := self._groups.get(job)) is not None:
                socket = self.sockets[number]
                socket.host, socket.partition_key = group.host, group.partition_key
                socket.privacy_mode = group.privacy_mode

    def tcp_connect(self, event: Event) -> None:
        if (socket := self.sockets.get(event.source)) is None:
            return
        values = parameters(event)
        if event.phase == BEGIN:
            socket.opened = event.time
            addresses = values.get("address_list") or [None]
            socket.remote = endpoint(addresses[0])
            return
        socket.error = self._error(values)
        if socket.error is None:
            socket.established = event.time
            socket.remote = endpoint(values.get("remote_address")) or socket.remote
            if (local := endpoint(values.get("local_address"))) is not None:
                socket.local_port = local[1]

    def ssl_connect(self, event: Event) -> None:
        socket = self.sockets.get(event.source)
        if socket is None or event.phase != END:
            return
        values = parameters(event)
        socket.error = self._error(values)
        if socket.error is None:
            socket.tls = True
            socket.established = event.time
            socket.tls_version = values.get("version")
            socket.resumed = values.get("is_resumed")
            socket.ech = values.get("encrypted_client_hello")
            # No ALPN answer means HTTP/1.1 (RFC 7301 leaves it to the client).
            socket.protocol = (
                values.get("next_proto") if values.get("next_proto") not in {None, "unknown"} else "http/1.1"
            )

    # -- HTTP/2 --------------------------------------------------------------------------------------------------

    def session_initialized(self, event: Event) -> None:
        if (socket := dependency(parameters(event))) is not None:
            self._session_sockets[event.source] = socket

    def session_headers(self, event: Event) -> None:
        socket = self.sockets.get(self._session_sockets.get(event.source, -1))
        if socket is None:
            return
        socket.used = True
        if (stream := dependency(parameters(event))) is not None:
            self._streams.setdefault(stream, _StreamJob()).session = event.source

    # -- requests ------------------------------------------------------------------------------------------------

    def request_started(self, event: Event) -> None:
        if event.phase != BEGIN:
            return
        values = parameters(event)
        key = str(values.get("network_isolation_key", "")).split(" ")[0]
        request = SentRequest(
            str(values.get("url", "")),
            str(values.get("method", "")),
            event.time,
            key,
            values.get("request_type") == "main frame",
            self._credentials(values.get("load_flags")),
        )
        self._current[event.source] = request
        self.requests.append(request)

    def stream_bound(self, event: Event) -> None:
        if (stream := dependency(parameters(event))) is not None:
            self._request_streams[event.source] = stream

    def stream_socket(self, event: Event) -> None:
        if (socket := dependency(parameters(event))) is not None:
            self._streams.setdefault(event.source, _StreamJob()).socket = socket

    def _credentials(self, load_flags: object) -> str | None:
        if not self._without_credentials or not isinstance(load_flags, int):
            return None
        return "omit" if load_flags & self._without_credentials else "include"

    def stream_session(self, event: Event) -> None:
        if (session := dependency(parameters(event))) is not None:
            self._streams.setdefault(event.source, _StreamJob()).session = session
            if event.source_type == "URL_REQUEST":  # the stream pool gives it a session that is there without a job
                self._request_streams[event.source] = event.source

    def headers_sent(self, event: Event) -> None:
        """The request's headers went out: what its stream job is bound to now is what carries it."""
        request = self._current.get(event.source)
        stream = self._streams.get(self._request_streams.get(event.source, -1))
        if request is None or stream is None:
            return
        number = stream.socket if stream.session is None else self._session_sockets.get(stream.session)
        if (socket := self.sockets.get(number if number is not None else -1)) is not None:
            socket.used = True
            request.socket = socket.id

    def misdirected(self, event: Event) -> None:
        """The answer was 421 (RFC 9110 section 15.5.20). The browser retries elsewhere; only its NetLog says so."""
        request = self._current.get(event.source)
        socket = self.sockets.get(request.socket) if request is not None and request.socket is not None else None
        host = host_of(request.url) if request is not None else None
        if socket is not None and host is not None and host not in socket.misdirected:
            socket.misdirected.append(host)

    def _error(self, values: dict[str, Any]) -> str | None:
        number = values.get("net_error")
        return None if not number else self.errors.get(number, f"net::ERR_{number}")


_HANDLERS: dict[str, Callable[[_VisitReader, Event], None]] = {
    "SOCKET_POOL_CONNECT_JOB_CREATED": _VisitReader.group_named,
    "TCP_CLIENT_SOCKET_POOL_REQUESTED_SOCKET": _VisitReader.group_named,
    "SOCKET_POOL_BOUND_TO_CONNECT_JOB": _VisitReader.connect_job_bound,
    "SOCKET_ALIVE": _VisitReader.socket_alive,
    "TCP_CONNECT": _VisitReader.tcp_connect,
    "SSL_CONNECT": _VisitReader.ssl_connect,
    "HTTP2_SESSION_INITIALIZED": _VisitReader.session_initialized,
    "HTTP2_SESSION_SEND_HEADERS": _VisitReader.session_headers,
    "URL_REQUEST_START_JOB": _VisitReader.request_started,
    "HTTP_STREAM_REQUEST_BOUND_TO_JOB": _VisitReader.stream_bound,
    "SOCKET_POOL_BOUND_TO_SOCKET": _VisitReader.stream_socket,
    "HTTP2_SESSION_POOL_IMPORTED_SESSION_FROM_SOCKET": _VisitReader.stream_session,
    "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION": _VisitReader.stream_session,
    "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION_FROM_IP_POOL": _VisitReader.stream_session,
    "HTTP_STREAM_JOB_HTTP2_SESSION_AVAILABLE": _VisitReader.stream_session,
    "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION": _VisitReader.stream_session,
    "HTTP_STREAM_POOL_ATTEMPT_MANAGER_ALIVE": _VisitReader.attempt_manager,
    "TCP_BASED_ATTEMPT_BOUND_TO_POOL": _VisitReader.attempt_bound,
    "HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND": _VisitReader.stream_bound,
    "HTTP_STREAM_POOL_ATTEMPT_MANAGER_EXISTING_SPDY_SESSION_MATCHED": _VisitReader.stream_session,
    "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": _VisitReader.headers_sent,
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS": _VisitReader.headers_sent,
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": _VisitReader.headers_sent,
    "HTTP_TRANSACTION_RESTART_MISDIRECTED_REQUEST": _VisitReader.misdirected,
}

EVENT_NAMES = (
    frozenset(_HANDLERS) | quic_sessions.EVENT_NAMES | resolver_jobs.EVENT_NAMES | certificate_events.EVENT_NAMES
)


def read_visit(
    events: Iterable[Event], constants: Constants, main_frame_urls: AbstractSet[str], named: AbstractSet[int]
) -> VisitLog:
    """The records of one visit.

    ``main_frame_urls`` are the URLs that the visit's main frame requested (redirects included, without fragment),
    ``named`` the connections that DevTools saw in use: they belong to the visit whatever their key.
    """
    reader = _VisitReader(constants)
    lookup_log = LookupLog(constants)
    chain_log = ChainLog()
    for event in events:
        if (handler := _HANDLERS.get(event.name)) is not None:
            handler(reader, event)
        reader.quic.add(event)
        lookup_log.add(event)
        chain_log.add(event)
    reader.assign_groups()
    note_pooled_hosts(reader.sockets, reader.requests)
    for number, socket in reader.sockets.items():
        socket.chain = socket.chain or chain_log.sent(number)
        socket.verified = chain_log.verified(socket.chain)
    top_sites = {
        request.partition_key for request in reader.requests if request.main_frame and request.url in main_frame_urls
    } - {"", "null"}
    return VisitLog(
        {
            number: socket
            for number, socket in reader.sockets.items()
            if number in named or top_site(socket.partition_key) in top_sites
        },
        [lookup for lookup in lookup_log.lookups() if top_site(lookup.partition_key) in top_sites],
        [request for request in reader.requests if request.partition_key in top_sites],
        top_sites,
    )
