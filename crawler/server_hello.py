"""Whether a TLS 1.3 server took up an earlier session, from its ServerHello (RFC 8446 sections 4.1.3 and 4.2.11).

NetLog says it of TCP connections; of QUIC it only gives the handshake's unencrypted bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

_SERVER_HELLO = 2
_PRE_SHARED_KEY = 41
# The random of a ServerHello that only asks for another ClientHello.
_RETRY = hashlib.sha256(b"HelloRetryRequest").digest()


def is_resumed(stream: bytes) -> bool | None:
    """``stream``: the server's handshake bytes from offset 0. None if its ServerHello is not whole."""
    try:
        for kind, body in _messages(stream):
            if kind == _SERVER_HELLO and body[2:34] != _RETRY:
                return _PRE_SHARED_KEY in _extensions(body)
    except IndexError:
        return None
    return None


def _messages(stream: bytes) -> Iterator[tuple[int, bytes]]:
    while stream:
        length = int.from_bytes(_take(stream, 1, 3))
        yield stream[0], _take(stream, 4, length)
        stream = stream[4 + length :]


def _extensions(hello: bytes) -> set[int]:
    place = 2 + 32
    place += 1 + hello[place] + 2 + 1  # session id, cipher suite, compression method
    rest = _take(hello, place + 2, int.from_bytes(_take(hello, place, 2)))
    found = set()
    while rest:
        found.add(int.from_bytes(_take(rest, 0, 2)))
        rest = rest[4 + int.from_bytes(_take(rest, 2, 2)) :]
    return found


def _take(data: bytes, start: int, length: int) -> bytes:
    """``length`` bytes. Raises ``IndexError`` where there are fewer."""
    taken = data[start : start + length]
    if len(taken) != length:
        raise IndexError
    return taken
