"""The HTTP/2 ORIGIN frame of RFC 8336: what a server writes after its SETTINGS, and how a client reads it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from urllib.parse import urlsplit

from originset.data.host_names import ascii_name

TYPE = 0x0C  # RFC 8336 section 2.1

# A frame must fit the peer's SETTINGS_MAX_FRAME_SIZE, which nothing before its first SETTINGS can be above (RFC 9113
# section 4.2). Longer sets are sent as several frames: the client adds each to the set (RFC 8336 section 2.3).
MAX_PAYLOAD = 16_384
MAX_ORIGIN = 65_535  # the length field's 16 bits

_DEFAULT_PORTS = {"https": 443, "http": 80}


def serialize_origin(origin: str) -> str:
    """An origin's ASCII serialization (RFC 6454 section 6.2): lower case, A-labels, no default port.

    Takes ``scheme://host[:port]`` or a bare host name, which means https. Raises ``ValueError`` for anything else, such
    as a path, credentials or a wildcard, which no origin has.
    """
    parts = urlsplit(origin if "://" in origin else f"https://{origin}")
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        raise ValueError(f"{origin!r} is neither https nor http")
    if parts.path or parts.query or parts.fragment or parts.username is not None or origin.endswith(("?", "#")):
        raise ValueError(f"{origin!r} is more than scheme, host and port")
    host = _ascii_host(parts.hostname or "", origin)
    port = parts.port  # raises ValueError itself
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError(f"{origin!r} has no usable port")
    return f"{scheme}://{host}" if port in (None, _DEFAULT_PORTS[scheme]) else f"{scheme}://{host}:{port}"


def _ascii_host(host: str, origin: str) -> str:
    if ":" in host:  # urlsplit took the brackets off and refused what is no address
        return f"[{host}]"
    ascii_host = ascii_name(host) or ""
    labels = ascii_host.split(".")
    if len(ascii_host) > 253 or not all(
        0 < len(label) < 64 and label.replace("-", "a").replace("_", "a").isalnum() for label in labels
    ):
        raise ValueError(f"{origin!r} has no host name")
    return ascii_host


def encode(origins: Iterable[str]) -> bytes:
    """One whole ORIGIN frame, header included, in the order given; without origins a frame without entries.

    Raises ``ValueError`` for what is no origin, and where the payload would exceed ``MAX_PAYLOAD``.
    """
    return frame(encode_payload(origins))


def frame(payload: bytes) -> bytes:
    """The whole HTTP/2 frame around a payload."""
    return struct.pack("!I", len(payload))[1:] + bytes([TYPE, 0]) + struct.pack("!I", 0) + payload


def encode_payload(origins: Iterable[str]) -> bytes:
    """An ORIGIN frame's payload, which HTTP/3's (RFC 9412) has too; raises as :func:`encode`."""
    return pack(map(_entry, origins))


def pack(entries: Iterable[bytes]) -> bytes:
    """A payload of entries as they are, origins or not. Raises ``ValueError`` where it exceeds ``MAX_PAYLOAD``."""
    payload = b"".join(struct.pack("!H", len(entry)) + entry for entry in entries)
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"the origins need {len(payload)} bytes; a frame holds {MAX_PAYLOAD}")
    return payload


def _entry(origin: str) -> bytes:
    return serialize_origin(origin).encode("ascii")


def unpack(payload: bytes) -> list[bytes]:
    """The entries of a payload as sent, origins or not; one whose length points beyond the payload ends the reading."""
    entries = []
    place = 0
    while place + 2 <= len(payload):
        (length,) = struct.unpack_from("!H", payload, place)
        entry = payload[place + 2 : place + 2 + length]
        if len(entry) < length:
            break
        entries.append(entry)
        place += 2 + length
    return entries


def decode(payload: bytes) -> list[str]:
    """The origins in an ORIGIN frame's payload, in its order.

    Entries that are not the ASCII serialization of an origin are skipped, as RFC 8336 section 2.3 says.
    """
    origins = []
    for entry in unpack(payload):
        try:
            text = entry.decode("ascii")
            if "://" in text and text.lower() == serialize_origin(text):
                origins.append(text.lower())
        except ValueError:
            continue
    return origins
