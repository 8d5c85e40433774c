"""Which addresses a stranger may name for us to contact: those of the public internet alone."""

from __future__ import annotations

import ipaddress

# Global unicast (RFC 4291 section 2.4), and IPv4 through a translator (RFC 6052).
_UNICAST = ipaddress.IPv6Network("2000::/3")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an address is of the public internet, itself and by the IPv4 address that it stands for.

    Not public: private, shared, loopback, link-local, multicast, reserved and documentation addresses, and those IPv6
    addresses that lead to such an IPv4 address (mapped, 6to4, RFC 6052); Teredo's are not, whatever they stand for.

    Raises:
        ValueError: it is no address.
    """
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not found.is_multicast and not found.is_reserved
    inner = found.ipv4_mapped or found.sixtofour
    if found in _TRANSLATED:
        inner = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
    if inner is not None and not is_public(str(inner)):
        return False
    return found.ipv4_mapped is not None or found in _TRANSLATED or (found in _UNICAST and found.is_global)
