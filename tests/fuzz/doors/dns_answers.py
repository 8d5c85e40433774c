"""DNS answers: whatever a resolver sends for a question, in a datagram and over TCP, made the lookups of a host."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from unittest import mock

import dns.asyncbackend
import dns.exception
import dns.flags
import dns.message
import dns.rrset

from doors import Bound
from originset.crawler.probe import resolver
from originset.crawler.probe.resolver import RTYPES

FOLDERS = ("crawler/probe",)
LONGEST = 1 << 11
MEMORY = Bound(1 << 20, 2_000)
LINES = Bound(2_000, 5)

_HOST = "www.site.test"
_QUESTION = b"\x03www\x04site\x04test\x00"
_HEADER = 12  # RFC 1035 section 4.1.1
_ALIASES = {"www.site.test.": "a.cdn.test.", "a.cdn.test.": "b.cdn.test."}
_STATUSES = {"TIMEOUT", "UNREACHABLE", "MALFORMED", "NODATA"}


def read(data: bytes, *, whole: bool) -> None:
    """An input is the length of a datagram (16 bits), the datagram, then all that a server sends over TCP.

    The server knows the question, as whoever is on the path does: the answer's id and type are the question's. One
    type of record is asked for, which the input's length says; all of them for an input that is read ``whole``.
    """
    length = int.from_bytes(data[:2])
    network = _Network(data[2 : 2 + length], data[2 + length :])
    rtypes = RTYPES if whole else (RTYPES[len(data) % len(RTYPES)],)
    sockets = mock.patch.object(dns.asyncbackend, "get_default_backend", network.itself)
    with sockets, mock.patch.object(resolver, "RTYPES", rtypes):
        lookups = _loop().run_until_complete(resolver.query_names(resolver.Resolver("192.0.2.53"), [_HOST]))
    assert tuple(lookup.rtype for lookup in lookups) == rtypes
    for lookup in lookups:
        assert lookup.status
        assert lookup.status not in _STATUSES or not lookup.answers
        assert lookup.asked_ms is None or 1 <= lookup.attempts <= 3
        assert len(set(lookup.cname_chain)) == len(lookup.cname_chain)
        assert all(isinstance(answer, str) for answer in lookup.answers)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


class _Network(dns.asyncbackend.Backend):
    """dnspython's sockets in memory: each question has the same answer."""

    def __init__(self, datagram: bytes, stream: bytes) -> None:
        self._datagram, self._stream = datagram, stream

    def itself(self) -> _Network:
        """In place of dnspython's function that tells the backend."""
        return self

    def name(self) -> str:
        return "memory"

    async def make_socket(self, _family: int, kind: int, *_rest: Any) -> Any:
        return _Datagrams(self._datagram) if kind == socket.SOCK_DGRAM else _Stream(self._stream)


class _Datagrams(dns.asyncbackend.DatagramSocket):
    def __init__(self, answer: bytes) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_DGRAM)
        self._answer = answer

    async def sendto(self, what: bytes, destination: Any, _timeout: float | None) -> int:
        self._from, self._answer = destination, _answer_to(what, self._answer)
        return len(what)

    async def recvfrom(self, _size: int, _timeout: float | None) -> tuple[bytes, Any]:
        if not self._answer:
            raise dns.exception.Timeout
        answer, self._answer = self._answer, b""
        return answer, self._from

    async def close(self) -> None:
        """Nothing is open."""


class _Stream(dns.asyncbackend.StreamSocket):
    def __init__(self, answer: bytes) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self._answer = answer

    async def sendall(self, what: bytes, _timeout: float | None) -> None:
        self._answer = self._answer[:2] + _answer_to(what[2:], self._answer[2:])

    async def recv(self, size: int, _timeout: float | None) -> bytes:
        taken, self._answer = self._answer[:size], self._answer[size:]
        return taken

    async def close(self) -> None:
        """Nothing is open."""


def _answer_to(question: bytes, answer: bytes) -> bytes:
    end = _HEADER + len(_QUESTION)
    if answer[_HEADER:end] == _QUESTION:
        answer = answer[:end] + question[end : end + 2] + answer[end + 2 :]
    return question[: min(2, len(answer))] + answer[2:]


def _sent(datagram: bytes, stream: bytes = b"") -> bytes:
    return len(datagram).to_bytes(2) + datagram + stream


def seeds() -> Iterator[bytes]:
    """Addresses behind aliases, in another order, an HTTPS record, no such name, no data; a long answer over TCP."""
    aliases = [dns.rrset.from_text(name, 60, "IN", "CNAME", target) for name, target in _ALIASES.items()]
    address = dns.rrset.from_text("b.cdn.test.", 30, "IN", "A", "192.0.2.1", "192.0.2.2")
    sixth = dns.rrset.from_text("b.cdn.test.", 30, "IN", "AAAA", "2001:db8::1")
    service = dns.rrset.from_text("www.site.test.", 5, "IN", "HTTPS", '1 . alpn="h3,h2" ipv4hint=192.0.2.1 port=8443')
    loop = dns.rrset.from_text("a.cdn.test.", 5, "IN", "CNAME", "www.site.test.")
    message = dns.message.make_response(dns.message.make_query(_HOST, "A"))
    for answer in ([*aliases, address], [address, *aliases[::-1]], [sixth], [service], [aliases[0], loop], []):
        message.answer = answer
        yield _sent(message.to_wire())
    long = dns.message.make_response(dns.message.make_query(_HOST, "A"))
    long.answer = [*aliases, address, sixth, service]
    message.flags |= dns.flags.TC
    yield _sent(message.to_wire(), len(long.to_wire()).to_bytes(2) + long.to_wire())
    yield _sent(message.to_wire(), len(long.to_wire()).to_bytes(2) + long.to_wire()[:-1])
    message.set_rcode(3)
    message.flags &= ~dns.flags.TC
    yield _sent(message.to_wire())
    yield _sent(b"")


def bombs(size: int) -> Mapping[str, bytes]:
    """Records of one kind, and names that point at one another (RFC 1035 section 4.1.4), as large as TCP permits."""
    header = bytes.fromhex("000081800001")
    question = _QUESTION + b"\x00\x01\x00\x01"
    size = min(size, 65_000)

    def message(record: bytes) -> bytes:
        count = size // len(record)
        return header + count.to_bytes(2) + b"\x00\x00\x00\x00" + question + record * count

    chain = b"".join(
        bytes([1, 97 + n % 26, 3, 97 + n // 26 % 26, 97 + n // 676 % 26, 97, 0]) + bytes.fromhex("0005000100000005")
        + b"\x00\x07" + bytes([1, 97 + (n + 1) % 26, 3, 97 + (n + 1) // 26 % 26, 97 + (n + 1) // 676 % 26, 97, 0])
        for n in range(size // 24)
    )  # fmt: skip
    pointers = b"".join((0xC00C + 2 * n).to_bytes(2) for n in range(min(size // 2, 8_000)))
    found = {
        "addresses": message(bytes.fromhex("c00c00010001000000050004c0000201")),
        "aliases": message(bytes.fromhex("c00c00050001000000050002c00c")),
        "chain": header + (size // 24).to_bytes(2) + b"\x00\x00\x00\x00" + question + chain,
        "pointers": header + b"\xff\xff\x00\x00\x00\x00" + pointers,
        "texts": message(bytes.fromhex("c00c001000010000000500ff") + b"\xfe" + b"a" * 254),
    }
    truncated = header[:2] + b"\x83\x80" + header[4:] + b"\x00\x00" * 3 + question
    streams = {f"stream-of-{name}": _sent(truncated, len(one).to_bytes(2) + one) for name, one in found.items()}
    return streams | {name: _sent(one) for name, one in found.items()}
