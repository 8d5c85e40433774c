"""What a server's TLS 1.3 handshake says (RFC 8446): whether an earlier session was taken up, and its certificates.

NetLog says it of TCP connections. Of QUIC it gives the messages themselves, those that were encrypted decrypted.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator

_SERVER_HELLO = 2
_CERTIFICATE = 11
_COMPRESSED_CERTIFICATE = 25
_PRE_SHARED_KEY = 41
_ZLIB = 1
_MOST_UNPACKED = 100 << 10  # BoringSSL's SSL_MAX_CERT_LIST_DEFAULT: Chromium takes no longer list of certificates
# The random of a ServerHello that only asks for another ClientHello.
_RETRY = hashlib.sha256(b"HelloRetryRequest").digest()


def is_resumed(stream: bytes) -> bool | None:
    """Section 4.2.11. ``stream``: the server's first bytes, from offset 0. None if its ServerHello is not whole."""
    try:
        for kind, body in _messages(memoryview(stream)):
            if kind == _SERVER_HELLO and body[2:34] != _RETRY:
                return _PRE_SHARED_KEY in _extensions(body)
    except IndexError:
        return None
    return None


def certificates(stream: bytes) -> list[bytes] | None:
    """Section 4.4.2: the certificates that a server sends, DER, the leaf first.

    ``stream``: what it sends after its ServerHello, from offset 0. None where there is no whole list of them: a resumed
    session has none, and what is packed (RFC 8879) otherwise than with zlib cannot be read.
    """
    try:
        for kind, body in _messages(memoryview(stream)):
            if kind == _CERTIFICATE:
                return _certificate_list(body)
            if kind == _COMPRESSED_CERTIFICATE:
                return _certificate_list(_decompressed_certificate(body))
    except (IndexError, zlib.error):
        return None
    return None


def _certificate_list(body: memoryview) -> list[bytes]:
    place = 1 + body[0]  # the request's context
    rest = _bytes_at(body, place + 3, int.from_bytes(_bytes_at(body, place, 3)))
    found = []
    while rest:
        length = int.from_bytes(_bytes_at(rest, 0, 3))
        found.append(bytes(_bytes_at(rest, 3, length)))
        rest = rest[3 + length :]
        rest = rest[2 + int.from_bytes(_bytes_at(rest, 0, 2)) :]  # its extensions
    return found


def _decompressed_certificate(body: memoryview) -> memoryview:
    if int.from_bytes(_bytes_at(body, 0, 2)) != _ZLIB:
        raise IndexError
    packed = _bytes_at(body, 8, int.from_bytes(_bytes_at(body, 5, 3)))
    return memoryview(zlib.decompressobj().decompress(packed, _MOST_UNPACKED))


def _messages(stream: memoryview) -> Iterator[tuple[int, memoryview]]:
    while stream:
        length = int.from_bytes(_bytes_at(stream, 1, 3))
        yield stream[0], _bytes_at(stream, 4, length)
        stream = stream[4 + length :]


def _extensions(hello: memoryview) -> set[int]:
    place = 2 + 32
    place += 1 + hello[place] + 2 + 1  # session id, cipher suite, compression method
    rest = _bytes_at(hello, place + 2, int.from_bytes(_bytes_at(hello, place, 2)))
    found = set()
    while rest:
        found.add(int.from_bytes(_bytes_at(rest, 0, 2)))
        rest = rest[4 + int.from_bytes(_bytes_at(rest, 2, 2)) :]
    return found


def _bytes_at(data: memoryview, start: int, length: int) -> memoryview:
    """``length`` bytes, not copied, so that many short parts take no longer than few long ones.

    Raises:
        IndexError: there are fewer.
    """
    taken = data[start : start + length]
    if len(taken) != length:
        raise IndexError
    return taken
