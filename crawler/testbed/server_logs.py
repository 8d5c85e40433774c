"""What the testbed's servers saw: the records of their logs, one JSON line each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec


class Handshake(msgspec.Struct, frozen=True, kw_only=True):
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


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request as answered. ``host`` is what it asked for (``:authority``, ``Host``), ``server`` where it came in.

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


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A WebSocket message from the browser, which the server sent back; ``length`` in characters or bytes."""

    time: float
    connection: int
    length: int


class DnsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query as answered; ``name`` in lower case without the final dot."""

    time: float
    name: str
    rtype: str
    client: str
    transport: str
    rcode: str


Record = Handshake | Request | Message | DnsQuery
_Record = TypeVar("_Record", Handshake, Request, Message, DnsQuery)
_FILES: dict[type[Record], str] = {
    Handshake: "handshakes.jsonl",
    Request: "requests.jsonl",
    Message: "messages.jsonl",
    DnsQuery: "dns.jsonl",
}


def path(folder: Path, kind: type[Record]) -> Path:
    """The file that has the records of a kind."""
    return folder / _FILES[kind]


class Log:
    """The servers' side: one ``write`` per record, so that a reader sees whole lines only."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._files = {kind: os.open(folder / name, flags, 0o644) for kind, name in _FILES.items()}
        self._encoder = msgspec.json.Encoder()

    def write(self, record: Record) -> None:
        os.write(self._files[type(record)], self._encoder.encode(record) + b"\n")


def read(folder: Path, kind: type[_Record]) -> list[_Record]:
    """All records of a kind so far, in the order they were written."""
    decoder = msgspec.json.Decoder(kind)
    return decoder.decode_lines(path(folder, kind).read_bytes())
