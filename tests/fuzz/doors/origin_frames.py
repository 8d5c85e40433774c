"""ORIGIN frames: on the wire of HTTP/2 in any pieces, and their payloads against a plain reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from doors import Bound
from originset.crawler.probe import origin_frame
from originset.crawler.probe.tls_client import OriginFrames

FOLDERS = ("crawler/probe",)
LONGEST = 1 << 9
MEMORY = Bound(1 << 20, 200)
LINES = Bound(2_000, 40)

_MOST_PIECES = 32


def read(data: bytes, *, whole: bool) -> None:
    """A payload is read as it is; and as what a server sends, in few pieces of a length that the first byte says."""
    payload = data[1:]
    origins = origin_frame.decode(payload)
    assert origin_frame.unpack(payload) == naive_entries(payload)
    assert origin_frame.decode(origin_frame.encode_payload(origins)) == origins
    frames, at_once = OriginFrames(), OriginFrames()
    at_once.feed(payload)
    size = max(1, data[0] if data else 0, len(payload) // _MOST_PIECES)
    for place in range(0, len(payload), size):
        frames.feed(payload[place : place + size])
    assert (frames.payloads, frames.longest) == (at_once.payloads, at_once.longest)
    if whole:
        assert frames.payloads == naive_payloads(payload)


def naive_entries(payload: bytes) -> list[bytes]:
    """RFC 8336 section 2.1: Origin-Len (16 bits), ASCII-Origin; a length beyond the end ends the reading."""
    if len(payload) < 2 or len(payload) - 2 < (length := int.from_bytes(payload[:2])):
        return []
    rest, entries = payload, []
    while len(rest) >= 2 and len(rest) - 2 >= (length := int.from_bytes(rest[:2])):
        entries.append(rest[2 : 2 + length])
        rest = rest[2 + length :]
    return entries


def naive_payloads(data: bytes) -> list[bytes]:
    """RFC 9113 section 4.1: a frame's length, type, flags and stream; those of type 0x0c on stream 0 without flags."""
    place, found = 0, []
    while place + 9 <= len(data):
        end = place + 9 + int.from_bytes(data[place : place + 3])
        kind, flags, stream = data[place + 3], data[place + 4], int.from_bytes(data[place + 5 : place + 9]) % (1 << 31)
        if end > len(data):
            break
        if kind == 0x0C and stream == 0 and flags % 16 == 0:
            found.append(data[place + 9 : end])
        place = end
    return found


def seeds() -> Iterator[bytes]:
    """Payloads and whole frames, among other frames, cut, and on another stream."""
    payload = origin_frame.encode_payload(["https://a.test", "http://b.test:81", "https://[2001:db8::1]:8443"])
    yield b"\x00" + payload
    yield b"\x07" + origin_frame.pack([b"https://A.test", b"https://a.test:443", b"x", b"https://*.test", b""])
    settings = bytes.fromhex("000006040000000000000100001000")
    frame = origin_frame.frame(payload)
    yield b"\x01" + settings + frame + settings
    yield b"\x10" + frame[:5] + b"\x80\x00\x00\x00" + frame[9:] + origin_frame.frame(b"")
    yield b"\x10" + frame[:4] + b"\x01" + frame[5:]
    yield b"\x05" + frame[:-1]


def bombs(size: int) -> Mapping[str, bytes]:
    """Frames and entries without content, a frame that never ends, origins of one sign."""
    return {
        "empty-entries": b"\xff" + b"\x00\x00" * (size // 2),
        "empty-frames": b"\xff" + bytes.fromhex("00000000000000000c")[::-1] * (size // 9),
        "origin-frames": b"\xff" + origin_frame.frame(b"") * (size // 9),
        "frame-without-end": b"\x01" + b"\xff\xff\xff\x0c\x00\x00\x00\x00\x00" + b"a" * size,
        "skipped-frame": b"\x01" + b"\xff\xff\xff\x00\x00\x00\x00\x00\x00" + b"a" * size,
        "labels": b"\xff" + origin_frame.pack([b"https://" + b"a." * min(size // 2, 8_000)]),
        "brackets": b"\xff" + origin_frame.pack([b"https://[" + b":" * min(size, 16_000) + b"]"]),
    }
