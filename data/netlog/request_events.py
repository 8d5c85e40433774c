"""Sockets and requests in a NetLog, and the connection that each request went out on.

Chromium has two ways to a connection, by the feature HappyEyeballsV3: a stream job that has a connect job of the socket
pools, or a job of the stream pool (HTTP_STREAM_POOL_*), whose attempt manager makes connection attempts. Of the latter,
the log does not say which request went out on which connection of HTTP/1.1; DevTools do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from originset.data.netlog.events import Constants, Event, dependency, flag_value, parameters, text_value
from originset.data.netlog.quic_sessions import QuicLog
from originset.data.netlog.sockets import Group, SentRequest, Socket, endpoint, host_of, parse_group, parse_stream_key

BEGIN, END = 1, 2


@dataclass(slots=True)
class _StreamJob:
    """A stream job: the link between a request and what carries it."""

    socket: int | None = None
    session: int | None = None


_HTTP2_HEADERS_SENT = "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS"


class RequestLog:
    """Collects the sockets and requests of a sequence of events."""

    def __init__(self, constants: Constants) -> None:
        self.errors = constants.errors
        self._without_credentials, self._main_frame = constants.without_credentials, constants.main_frame
        self.sockets: dict[int, Socket] = {}
        self.requests: list[SentRequest] = []
        self._current: dict[int, SentRequest] = {}
        self._groups: dict[int, Group] = {}  # of connect jobs and stream jobs
        self._connect_jobs: dict[int, int] = {}  # socket -> connect job
        self._streams: dict[int, _StreamJob] = {}
        self._request_streams: dict[int, int] = {}
        # By stream job: Chromium 131 names a session that the job waited for only when it sends the headers.
        self._without_session: dict[int, SentRequest] = {}
        self._session_sockets: dict[int, int] = {}
        self._misdirected: set[tuple[int, str]] = set()  # socket, host
        self.quic = QuicLog(self.sockets, self._session_sockets)

    def add(self, event: Event) -> None:
        """Take in one event; others than those in ``EVENT_NAMES`` are passed over."""
        if (handler := _HANDLERS.get(event.name)) is not None:
            handler(self, event)
        self.quic.add(event)

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
            socket.tls_version = text_value(values, "version")
            socket.resumed = flag_value(values, "is_resumed")
            socket.ech = flag_value(values, "encrypted_client_hello")
            # No ALPN answer means HTTP/1.1 (RFC 7301 leaves it to the client).
            protocol = text_value(values, "next_proto")
            socket.protocol = protocol if protocol not in {None, "unknown"} else "http/1.1"

    # -- HTTP/2 --------------------------------------------------------------------------------------------------

    def session_initialized(self, event: Event) -> None:
        if (socket := dependency(parameters(event))) is not None:
            self._session_sockets[event.source] = socket

    def session_headers(self, event: Event) -> None:
        socket = self.sockets.get(self._session_sockets.get(event.source, -1))
        stream = dependency(parameters(event))
        if stream is not None and (request := self._without_session.pop(stream, None)) is not None:
            self._carry(request, socket)
        if socket is None:
            return
        socket.used = True
        if stream is not None:
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
            self._is_main_frame(values),
            self._credentials(values.get("load_flags")),
            source=event.source,
        )
        self._current[event.source] = request
        self.requests.append(request)

    def _is_main_frame(self, values: dict[str, Any]) -> bool:
        if (kind := values.get("request_type")) is not None:
            return bool(kind == "main frame")
        flags = values.get("load_flags")
        return isinstance(flags, int) and bool(flags & self._main_frame)

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
        stream_job = self._request_streams.get(event.source)
        if request is None or stream_job is None:
            return
        stream = self._streams.get(stream_job, _StreamJob())
        if event.name == _HTTP2_HEADERS_SENT and stream.session is None:
            self._without_session[stream_job] = request
            return
        number = stream.socket if stream.session is None else self._session_sockets.get(stream.session)
        if number is not None or stream.session is not None:
            self._carry(request, self.sockets.get(-1 if number is None else number))

    @staticmethod
    def _carry(request: SentRequest, socket: Socket | None) -> None:
        """A socket carries the request; None: one that was open before the log began."""
        request.open_before_log = socket is None
        if socket is not None:
            socket.used = True
            request.socket = socket.id

    def misdirected(self, event: Event) -> None:
        """The answer was 421 (RFC 9110 section 15.5.20). The browser retries elsewhere; only its NetLog says so."""
        request = self._current.get(event.source)
        socket = self.sockets.get(request.socket) if request is not None and request.socket is not None else None
        host = host_of(request.url) if request is not None else None
        if socket is not None and host is not None and (socket.id, host) not in self._misdirected:
            self._misdirected.add((socket.id, host))
            socket.misdirected.append(host)

    def _error(self, values: dict[str, Any]) -> str | None:
        number = values.get("net_error")
        return None if not number else self.errors.get(number, f"net::ERR_{number}")


_HANDLERS: dict[str, Callable[[RequestLog, Event], None]] = {
    "SOCKET_POOL_CONNECT_JOB_CREATED": RequestLog.group_named,
    "TCP_CLIENT_SOCKET_POOL_REQUESTED_SOCKET": RequestLog.group_named,
    "SOCKET_POOL_BOUND_TO_CONNECT_JOB": RequestLog.connect_job_bound,
    "SOCKET_ALIVE": RequestLog.socket_alive,
    "TCP_CONNECT": RequestLog.tcp_connect,
    "SSL_CONNECT": RequestLog.ssl_connect,
    "HTTP2_SESSION_INITIALIZED": RequestLog.session_initialized,
    "HTTP2_SESSION_SEND_HEADERS": RequestLog.session_headers,
    "URL_REQUEST_START_JOB": RequestLog.request_started,
    "HTTP_STREAM_REQUEST_BOUND_TO_JOB": RequestLog.stream_bound,
    "SOCKET_POOL_BOUND_TO_SOCKET": RequestLog.stream_socket,
    "HTTP2_SESSION_POOL_IMPORTED_SESSION_FROM_SOCKET": RequestLog.stream_session,
    "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION": RequestLog.stream_session,
    "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION_FROM_IP_POOL": RequestLog.stream_session,
    "HTTP_STREAM_JOB_HTTP2_SESSION_AVAILABLE": RequestLog.stream_session,
    "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION": RequestLog.stream_session,
    "HTTP_STREAM_POOL_ATTEMPT_MANAGER_ALIVE": RequestLog.attempt_manager,
    "TCP_BASED_ATTEMPT_BOUND_TO_POOL": RequestLog.attempt_bound,
    "HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND": RequestLog.stream_bound,
    "HTTP_STREAM_POOL_ATTEMPT_MANAGER_EXISTING_SPDY_SESSION_MATCHED": RequestLog.stream_session,
    "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": RequestLog.headers_sent,
    _HTTP2_HEADERS_SENT: RequestLog.headers_sent,
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": RequestLog.headers_sent,
    "HTTP_TRANSACTION_RESTART_MISDIRECTED_REQUEST": RequestLog.misdirected,
}

EVENT_NAMES = frozenset(_HANDLERS)
