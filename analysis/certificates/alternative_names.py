"""Subject alternative names straight from a certificate's bytes, for certificates that the library will not read.

The library reads all extensions or none: one odd policy hides the names. This reads nothing but the names.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

_EXTENSIONS, _SEQUENCE, _OBJECT_ID, _OCTETS = 0xA3, 0x30, 0x06, 0x04
_DNS_NAME, _IP_ADDRESS = 0x82, 0x87
_SUBJECT_ALTERNATIVE_NAME = bytes((0x55, 0x1D, 0x11))  # 2.5.29.17


def alternative_names(tbs_certificate: bytes) -> list[str]:
    """The DNS names and IP addresses of the extension, in their order; other kinds are left out. Empty without it.

    ``tbs_certificate``: the signed part (RFC 5280 section 4.1), in DER.

    Raises:
        ValueError: the bytes are not DER of this structure.
    """
    fields = _content_of_tag(tbs_certificate, _SEQUENCE)
    extensions = next((content for tag, content in _values(fields) if tag == _EXTENSIONS), None)
    if extensions is None:
        return []
    for tag, extension in _values(_content_of_tag(extensions, _SEQUENCE)):
        parts = list(_values(extension)) if tag == _SEQUENCE else []
        if parts and parts[0] == (_OBJECT_ID, _SUBJECT_ALTERNATIVE_NAME):
            if parts[-1][0] != _OCTETS:
                raise ValueError("the extension has no value")
            return list(_names(_content_of_tag(parts[-1][1], _SEQUENCE)))
    return []


def _names(names: bytes) -> Iterator[str]:
    for tag, content in _values(names):
        if tag == _DNS_NAME:
            yield content.decode(errors="replace")  # ASCII, by the standard; the library takes UTF-8 too
        elif tag == _IP_ADDRESS:
            # An address of another length is not valid: its text is kept, so that it is counted as not a name.
            yield str(ipaddress.ip_address(content)) if len(content) in (4, 16) else f"address {content.hex()}"


def _content_of_tag(data: bytes, expected: int) -> bytes:
    tag, content = next(_values(data), (None, b""))
    if tag != expected:
        raise ValueError(f"tag {expected:#04x} expected")
    return content


def _values(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each value in ``data``; tags of one byte, lengths of any."""
    at = 0
    while at < len(data):
        if at + 2 > len(data):
            raise ValueError("cut off")
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            size = length & 0x7F
            if not 0 < size <= 4 or at + size > len(data):
                raise ValueError("a length that cannot be")
            length = int.from_bytes(data[at : at + size])
            at += size
        if at + length > len(data):
            raise ValueError("cut off")
        yield tag, data[at : at + length]
        at += length
