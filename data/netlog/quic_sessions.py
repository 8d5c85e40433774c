"""QUIC sessions in a NetLog: each is one connection, with a handshake, ORIGIN frames and hosts that joined it."""

from __future__ import annotations

import binascii
from collections.abc import Callable

from originset.data.netlog.events import Event, dependency, parameters, text_value
from originset.data.netlog.server_hello import certificates, is_resumed
from originset.data.netlog.sockets import Socket, endpoint, host_of

_END = 2


class QuicLog:
    """Adds the QUIC sessions of a sequence of events to ``sockets``, and the socket of each to ``session_sockets``."""

    def __init__(self, sockets: dict[int, Socket], session_sockets: dict[int, int]) -> None:
        self._sockets = sockets
        self._session_sockets = session_sockets
        # session, level -> offset -> handshake bytes of the server
        self._handshakes: dict[tuple[int, str], dict[int, bytes]] = {}
        self._pooled: set[tuple[int, str]] = set()  # session, host

    def add(self, event: Event) -> None:
        """Take in one event; others than those in ``EVENT_NAMES`` are passed over."""
        if (handler := _HANDLERS.get(event.name)) is not None:
            handler(self, event)

    def session(self, event: Event) -> None:
        """A session begins or ends."""
        if event.phase == _END:
            if socket := self._sockets.get(event.source):
                socket.closed = event.time
            return
        values = parameters(event)
        self._session_sockets[event.source] = event.source
        self._sockets[event.source] = Socket(
            event.source,
            host=str(values["host"]).lower() if "host" in values else None,
            partition_key=text_value(values, "network_anonymization_key"),
            privacy_mode=text_value(values, "privacy_mode"),
            protocol="h3",
            opened=event.time,
        )

    def packet_received(self, event: Event) -> None:
        """A packet names the addresses of both ends."""
        socket = self._sockets.get(event.source)
        if socket is None or socket.remote is not None:
            return
        values = parameters(event)
        socket.remote = endpoint(values.get("peer_address"))
        if (local := endpoint(values.get("self_address"))) is not None:
            socket.local_port = local[1]

    def crypto_frame_received(self, event: Event) -> None:
        """The server sends handshake bytes: of the initial level its ServerHello, of the handshake level its chain."""
        values = parameters(event)
        if event.source in self._sockets and "bytes" in values:
            part = binascii.a2b_base64(str(values["bytes"]))
            level = (event.source, str(values.get("encryption_level")))
            self._handshakes.setdefault(level, {})[int(values.get("offset", 0))] = part

    def handshake_completed(self, event: Event) -> None:
        """The TLS handshake is complete."""
        socket = self._sockets.get(event.source)
        if socket is not None and not socket.tls:
            socket.tls = True
            socket.tls_version = "QUIC"
            socket.resumed = is_resumed(self._handshake(socket, "ENCRYPTION_INITIAL"))
            socket.chain = certificates(self._handshake(socket, "ENCRYPTION_HANDSHAKE"))
            socket.established = event.time

    def _handshake(self, socket: Socket, level: str) -> bytes:
        return _contiguous_bytes(self._handshakes.get((socket.id, level), {}))

    def headers_sent(self, event: Event) -> None:
        """A request goes out on a session."""
        if (socket := self._sockets.get(event.source)) is not None:
            socket.used = True

    def session_closed(self, event: Event) -> None:
        """A session that closes before its handshake is complete has failed."""
        socket = self._sockets.get(event.source)
        if socket is not None and not socket.tls:
            socket.error = "net::ERR_QUIC_HANDSHAKE_FAILED"

    def origin_frame_received(self, event: Event) -> None:
        """An ORIGIN frame (RFC 9412) arrives."""
        if (socket := self._sockets.get(event.source)) is not None:
            origins = [str(origin) for origin in parameters(event).get("origins", [])]
            socket.origin_set = socket.origin_set or []
            socket.origin_set += origins
            socket.origin_received = event.time if socket.origin_received is None else socket.origin_received

    def pooled_by_ip(self, event: Event) -> None:
        """A host joins the session of another, because its addresses lead there."""
        values = parameters(event)
        socket, host = self._sockets.get(dependency(values) or -1), host_of(str(values.get("destination", "")))
        if socket is not None and host not in {None, socket.host} and (socket.id, host) not in self._pooled:
            self._pooled.add((socket.id, str(host)))
            socket.pooled_by_ip.append(str(host))


def _contiguous_bytes(parts: dict[int, bytes]) -> bytes:
    """The bytes from offset 0 up to the first gap; parts may come twice."""
    joined = bytearray()
    for offset, part in sorted(parts.items()):
        if offset > len(joined):
            break
        joined += part[len(joined) - offset :]
    return bytes(joined)


_HANDLERS: dict[str, Callable[[QuicLog, Event], None]] = {
    "QUIC_SESSION": QuicLog.session,
    "QUIC_SESSION_PACKET_RECEIVED": QuicLog.packet_received,
    "QUIC_SESSION_CRYPTO_FRAME_RECEIVED": QuicLog.crypto_frame_received,
    "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE": QuicLog.handshake_completed,
    "HTTP3_HEADERS_SENT": QuicLog.headers_sent,
    "QUIC_SESSION_CLOSED": QuicLog.session_closed,
    "QUIC_SESSION_ORIGIN_FRAME_RECEIVED": QuicLog.origin_frame_received,
    "QUIC_SESSION_POOL_MATCHING_IP_SESSION_FOUND": QuicLog.pooled_by_ip,
}

EVENT_NAMES = frozenset(_HANDLERS)
