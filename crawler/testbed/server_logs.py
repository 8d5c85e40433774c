"""The logs of the testbed's servers: records of handshakes, requests, messages and DNS queries, one JSON line each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec


class TlsHandshake(msgspec.Struct, frozen=True, kw_only=True):
    """A completed TLS handshake. ``connection`` numbers the server's connections; times are seconds since 1970.

    ``alpn`` "h3" and ``tls_version`` "QUIC" for QUIC. ``origins``: those of the ORIGIN frame that was sent; None: none.
    """

    time: float
    connection: int
    server: str
    client: str
    client_port: int
    server_name: str | None
    alpn: str | None
    resumed: bool
    tls_version: str
    origins: list[str] | None = None


class LoggedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An answered request. ``host``: its ``:authority`` or ``Host``; ``server``: the address that it was sent to.

    ``protocol`` is "websocket" where the connection became one. ``status`` 0: it is never answered. ``cookies``: names.
    """

    time: float
    connection: int
    server: str
    client_port: int
    scheme: str
    protocol: str
    method: str
    host: str
    path: str
    status: int
    cookies: list[str] = []


class WebSocketMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A WebSocket message from the browser, which the server sent back; ``length`` in characters or bytes."""

    time: float
    connection: int
    length: int


class LoggedDnsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """An answered query; ``name`` in lower case without the final dot."""

    time: float
    name: str
    rtype: str
    client: str
    transport: str
    rcode: str


Record = TlsHandshake | LoggedRequest | WebSocketMessage | LoggedDnsQuery
_Record = TypeVar("_Record", TlsHandshake, LoggedRequest, WebSocketMessage, LoggedDnsQuery)
_FILES: dict[type[Record], str] = {
    TlsHandshake: "handshakes.jsonl",
    LoggedRequest: "requests.jsonl",
    WebSocketMessage: "messages.jsonl",
    LoggedDnsQuery: "dns.jsonl",
}


def log_path(folder: Path, kind: type[Record]) -> Path:
    """The file with the records of a kind."""
    return folder / _FILES[kind]


class ServerLog:
    """Writes the logs: one ``write`` a record, so that lines of several writers do not mix."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._files = {kind: os.open(folder / name, flags, 0o644) for kind, name in _FILES.items()}
        self._encoder = msgspec.json.Encoder()

    def write(self, record: Record) -> None:
        os.write(self._files[type(record)], self._encoder.encode(record) + b"\n")


def read_records(folder: Path, kind: type[_Record]) -> list[_Record]:
    """All records of a kind so far, in the order they were written; of one that is being written, nothing yet."""
    decoder = msgspec.json.Decoder(kind)
    written = log_path(folder, kind).read_bytes()
    return decoder.decode_lines(written[: written.rfind(b"\n") + 1])
