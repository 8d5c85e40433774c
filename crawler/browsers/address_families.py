"""Which address families this machine reaches."""

from __future__ import annotations

import socket

# Anybody's on the internet: nothing is sent to them.
_FAR = ((socket.AF_INET, "8.8.8.8"), (socket.AF_INET6, "2001:4860:4860::8888"))


def reachable_families() -> str | None:
    """The address families in which this machine has a way to the internet: 4, 6 or both; None if neither.

    It asks the routing table what Chromium asks it before it decides whether to look up IPv6 addresses.
    """
    reached = []
    for family, address in _FAR:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((address, 443))
            except OSError:
                continue
        reached.append("4" if family is socket.AF_INET else "6")
    return "both" if len(reached) == 2 else reached[0] if reached else None
