"""What more names in a certificate cost: bytes in every full handshake, perhaps a round trip, and an issuance."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

# A first flight of 10 segments (RFC 6928) of 1,460 bytes, what Ethernet's 1,500 leave beside IPv4's and TCP's headers.
TCP_INITIAL_WINDOW_BYTES = 10 * 1460

# Until the client's address is validated, a QUIC server sends three times what it has received (RFC 9000 section 8.1);
# a client's first datagrams have 1,200 bytes at least (section 14.1).
QUIC_LIMIT_BYTES = 3 * 1200

# A dNSName of up to 127 bytes has a tag and one byte of length, a longer one a second (RFC 5280, X.690 8.1.3).
_SHORT = 127

# RFC 8446 section 4.4.2: the message's header, an empty context and the list's length; then, of each certificate, its
# length and that of its extensions.
_MESSAGE_BYTES, _ENTRY_BYTES = 4 + 1 + 3, 3 + 2


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What the names cost that the plan would add and the site can validate.

    ``chain_bytes``: the Certificate message of TLS 1.3 as it is today, without compression (RFC 8879); the rest of the
    server's flight comes on top: some 500 bytes, 1,100 more with a post-quantum key share. None where the size of a
    certificate of the chain is not known. ``crosses_*``: today's message stays within the limit and the new one does
    not, so a full handshake takes a round trip more.
    """

    added_names: int
    added_bytes: int
    leaf_bytes: int | None
    chain_bytes: int | None
    crosses_tcp_initial_window: bool | None
    crosses_quic_limit: bool | None
    issuances: int
    tcp_initial_window_bytes: int = TCP_INITIAL_WINDOW_BYTES
    quic_limit_bytes: int = QUIC_LIMIT_BYTES


def costs(names: Iterable[str], chain: list[int | None] | None) -> Costs:
    """Of ``names`` added to the first certificate of ``chain`` (sizes of DER in bytes, leaf first; None: not known)."""
    added = list(names)
    size = sum(name_bytes(name) for name in added)
    known = [one for one in chain or [] if one is not None]
    total = None
    if chain and len(known) == len(chain):
        total = _MESSAGE_BYTES + sum(one + _ENTRY_BYTES for one in known)
    return Costs(
        added_names=len(added),
        added_bytes=size,
        leaf_bytes=chain[0] if chain else None,
        chain_bytes=total,
        crosses_tcp_initial_window=None if total is None else total <= TCP_INITIAL_WINDOW_BYTES < total + size,
        crosses_quic_limit=None if total is None else total <= QUIC_LIMIT_BYTES < total + size,
        issuances=1 if added else 0,
    )


def name_bytes(name: str) -> int:
    """Bytes of a name in a certificate's list: its text, its tag and its length."""
    size = len(name.encode())
    return size + (2 if size <= _SHORT else 3)
