"""The origins that a testbed's server announces on a connection by ORIGIN frames (RFC 8336, RFC 9412), and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from originset.crawler.probe import origin_frame
from originset.crawler.testbed.scenario import Host


@dataclass(frozen=True)
class OriginAnnouncement:
    """Payloads of ORIGIN frames in order, sent after SETTINGS or ``delay_s`` after the handshake; () for no frame."""

    payloads: tuple[bytes, ...] = ()
    delay_s: float = 0.0
    entries: tuple[str, ...] | None = None

    @classmethod
    def of(cls, host: Host | None) -> Self:
        """What a host announces on connections that were opened for it."""
        if host is None:
            return cls()
        payloads = (origin_frame.pack(entry.encode("ascii") for entry in frame) for frame in host.origin_frames)
        return cls(tuple(payloads), host.origin_delay_ms / 1000, host.promised)
