"""What a connection's client is told by ORIGIN frames (RFC 8336, RFC 9412), and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from originset.crawler.probe import origin_frame
from originset.crawler.testbed.scenario import Host


@dataclass(frozen=True)
class Promise:
    """Frames' payloads in order, sent right after our SETTINGS or ``delay_s`` after the handshake; () for no frame."""

    payloads: tuple[bytes, ...] = ()
    delay_s: float = 0.0
    entries: tuple[str, ...] | None = None

    @classmethod
    def of(cls, host: Host | None) -> Self:
        """The promise of a host to connections that were opened for it."""
        if host is None:
            return cls()
        payloads = (origin_frame.pack(entry.encode("ascii") for entry in frame) for frame in host.origin_frames)
        return cls(tuple(payloads), host.origin_delay_ms / 1000, host.promised)
