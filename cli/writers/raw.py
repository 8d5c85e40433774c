"""The frame as bytes, for servers and proxies of one's own: a whole HTTP/2 frame, or the payload that HTTP/3's has."""

from __future__ import annotations

from originset.cli.writers.origin_set import OriginSet
from originset.crawler.probe.origin_frame import encode, encode_payload


def frame(chosen: OriginSet) -> bytes:
    """The HTTP/2 ORIGIN frame (RFC 8336), header and all: sent once, on stream 0, after SETTINGS."""
    return encode(chosen.origins)


def payload(chosen: OriginSet) -> bytes:
    """The payload alone: that of the HTTP/3 frame of type 0x0c on the server's control stream (RFC 9412) too."""
    return encode_payload(chosen.origins)
