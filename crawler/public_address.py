"""Which addresses a stranger may name for us to contact: those of the public internet alone."""

from __future__ import annotations

import ipaddress

# Global unicast (RFC 4291 section 2.4), and IPv4 through a translator (RFC 6052).
_UNICAST = ipaddress.IPv6Network("2000::/3")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an address is of the public internet, itself or by the IPv4 address in it (mapped, RFC 6052).

    Not public: private, shared, loopback, link-local, multicast, reserved and documentation addresses; nor those of
    Teredo and 6to4, whatever they stand for.

    Raises:
        ValueError: it is no address.
    """
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not found.is_multicast and not found.is_reserved
    inner = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF) if found in _TRANSLATED else found.ipv4_mapped
    if inner is not None:
        return is_public(str(inner))
    # Some Pythons take 6to4 for global, others do not.
    return found in _UNICAST and found.is_global and found.sixtofour is None
