"""One TLS connection to a server, over which requests for any host can be sent: what a coalescing browser would do."""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import h2.config
import h2.connection
import h2.events
import h2.exceptions

import originset
from originset.crawler import origin_frame
from originset.data.errors import ProbeError

_TIMEOUT_S = 10.0
_MOST_BODY_BYTES = 1 << 20
_CERTIFICATE_REQUEST = 13  # RFC 8446 section 4.3.2, RFC 5246 section 7.4.4
_FRAME_HEADER = 9  # RFC 9113 section 4.1
_USER_AGENT = f"originset/{originset.__version__}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, as far as it tells one server's content from another's. Bodies are hashed, never kept."""

    status: int
    location: str | None
    content_type: str | None
    alt_svc: str | None
    body_sha256: str

    @property
    def essence(self) -> tuple[int, str | None, str | None]:
        """What must be the same wherever it is asked for: status, redirect, media type without parameters."""
        kind = None if self.content_type is None else self.content_type.partition(";")[0].strip().lower()
        return self.status, self.location, kind


@dataclass(slots=True)
class OriginFrames:
    """The ORIGIN frames on stream 0 of a connection, found in the bytes: h2 gives up at one that is too long."""

    payloads: list[bytes] = field(default_factory=list)
    longest: int = 0
    _rest: bytes = b""
    _skip: int = 0

    def feed(self, data: bytes) -> None:
        """Take more of what the server sent."""
        self._rest += data
        while True:
            if self._skip:
                taken = min(self._skip, len(self._rest))
                self._rest, self._skip = self._rest[taken:], self._skip - taken
                if self._skip:
                    return
            if len(self._rest) < _FRAME_HEADER:
                return
            length = int.from_bytes(self._rest[:3])
            kind, flags, stream = self._rest[3], self._rest[4], int.from_bytes(self._rest[5:9]) & 0x7FFFFFFF
            if kind != origin_frame.TYPE:
                self._rest, self._skip = self._rest[_FRAME_HEADER:], length
                continue
            self.longest = max(self.longest, length)
            if len(self._rest) < _FRAME_HEADER + length:
                return
            payload = self._rest[_FRAME_HEADER : _FRAME_HEADER + length]
            self._rest = self._rest[_FRAME_HEADER + length :]
            # RFC 8336 section 2.2: on another stream, or with one of the first four flags, it is to be ignored.
            if stream == 0 and not flags & 0x0F:
                self.payloads.append(payload)


class Connection:
    """A TLS connection to ``address`` for ``server_name``: HTTP/2 where the server speaks it, else HTTP/1.1.

    Raises ``ProbeError`` where there is no connection, no trust, or no answer.
    """

    def __init__(
        self,
        address: str,
        port: int,
        server_name: str,
        trust: str | None = None,
        latest: ssl.TLSVersion | None = None,
    ) -> None:
        self.address, self.port, self.server_name = address, port, server_name
        self.asks_for_client_certificate = False
        self.origin_frames = OriginFrames()
        context = ssl.create_default_context(cafile=trust)
        context.set_alpn_protocols(["h2", "http/1.1"])
        if latest is not None:
            context.maximum_version = latest
        # The one way in which Python's ssl tells of a CertificateRequest; private, but there since 3.8.
        context._msg_callback = self._message  # type: ignore[attr-defined]  # noqa: SLF001 - see above
        try:
            plain = socket.create_connection((address, port), _TIMEOUT_S)
            try:
                self._tls = context.wrap_socket(plain, server_hostname=server_name)
            except BaseException:
                plain.close()
                raise
        except (OSError, ValueError) as error:
            raise self._problem(error) from error
        self.protocol = self._tls.selected_alpn_protocol() or "http/1.1"
        self.tls_version = self._tls.version() or ""
        self.certificate = self._tls.getpeercert(binary_form=True) or b""
        self._h2: h2.connection.H2Connection | None = None
        if self.protocol == "h2":
            self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
            self._h2.initiate_connection()
            self._settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tls.close()

    def get(self, host: str, path: str) -> Answer:
        """Ask for a page of a host over this connection.

        Raises:
            ProbeError: there was no whole answer.
        """
        try:
            return self._get_h1(host, path) if self._h2 is None else self._get_h2(self._h2, host, path)
        except (OSError, h2.exceptions.H2Error, http.client.HTTPException, ValueError) as error:
            raise self._problem(error) from error

    def _settle(self) -> None:
        """Wait for the answer to a ping: a server that sends ORIGIN frames with its SETTINGS sends them before it."""
        connection = self._h2
        if connection is None:
            return
        connection.ping(b"originse")
        try:
            for event in self._events(connection):
                if isinstance(event, h2.events.PingAckReceived):
                    return
        except (OSError, h2.exceptions.H2Error) as error:
            if not self.origin_frames.longest:
                self._tls.close()
                raise self._problem(error) from error
            # An ORIGIN frame that is too long ends the connection, as it does in browsers; it was seen nevertheless.

    def _get_h2(self, connection: h2.connection.H2Connection, host: str, path: str) -> Answer:
        stream = connection.get_next_available_stream_id()
        authority = host if self.port == 443 else f"{host}:{self.port}"
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", authority), (":path", path)]
        connection.send_headers(stream, [*fields, ("user-agent", _USER_AGENT), ("accept", "*/*")], end_stream=True)
        headers: dict[str, str] = {}
        digest, size = hashlib.sha256(), 0
        for event in self._events(connection):
            if getattr(event, "stream_id", stream) != stream:
                continue
            if isinstance(event, h2.events.ResponseReceived):
                headers = {_text(name): _text(value) for name, value in event.headers}
            elif isinstance(event, h2.events.DataReceived):
                digest.update(event.data[: max(0, _MOST_BODY_BYTES - size)])
                size += len(event.data)
                if size >= _MOST_BODY_BYTES:
                    connection.reset_stream(stream)
                    self._tls.sendall(connection.data_to_send())
                    break
                connection.acknowledge_received_data(event.flow_controlled_length, stream)
            elif isinstance(event, h2.events.StreamReset):
                raise ConnectionResetError(f"answered {host} with a reset of the stream")
            elif isinstance(event, h2.events.ConnectionTerminated):
                raise ConnectionResetError(f"closed the connection instead of answering for {host}")
            elif isinstance(event, h2.events.StreamEnded):
                break
        return _answer(int(headers[":status"]), headers, digest.hexdigest())

    def _events(self, connection: h2.connection.H2Connection) -> Iterator[h2.events.Event]:
        while True:
            self._tls.sendall(connection.data_to_send())
            data = self._tls.recv(65_536)
            if not data:
                raise ConnectionResetError("closed the connection before it answered")
            self.origin_frames.feed(data)
            yield from connection.receive_data(data)

    def _get_h1(self, host: str, path: str) -> Answer:
        asked = http.client.HTTPConnection(host, self.port, timeout=_TIMEOUT_S)
        asked.sock = self._tls
        asked.request("GET", path, headers={"User-Agent": _USER_AGENT, "Accept": "*/*"})
        with asked.getresponse() as response:
            body = response.read(_MOST_BODY_BYTES)
            headers = {name.lower(): value for name, value in response.getheaders()}
        return _answer(response.status, headers, hashlib.sha256(body).hexdigest())

    def _message(self, _connection: Any, direction: str, *rest: Any) -> None:  # noqa: ANN401 - undocumented types
        if direction == "read" and int(rest[2]) == _CERTIFICATE_REQUEST:
            self.asks_for_client_certificate = True

    def _problem(self, error: Exception) -> ProbeError:
        return ProbeError(self.server_name, self.address, self.port, str(error) or type(error).__name__)


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def _answer(status: int, headers: Mapping[str, str], digest: str) -> Answer:
    return Answer(status, headers.get("location"), headers.get("content-type"), headers.get("alt-svc"), digest)
