"""Which addresses and names are of the public internet, by IANA's registries as ``special_purpose.toml`` has them.

Python's own tables (``ipaddress.is_global``) differ from one of its versions to the next, so they are not used.
Nothing but the standard library is imported: the process that watches a browser's connections reads this too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Literal

AddressKind = Literal["public", "private", "bogon"]

# Where an address of IPv6 is one of IPv4: mapped (RFC 4291 section 2.5.5.2), translated (RFC 6052 section 2.1).
_IPV4_WITHIN = ("::ffff:0.0.0.0", "64:ff9b::")


def is_public(address: str) -> bool:
    """Whether an address is of the public internet, itself or by the IPv4 address in it (mapped, RFC 6052).

    Not public: private, shared, loopback, link-local, multicast, reserved and documentation addresses; nor those of
    Teredo and 6to4, whatever they stand for.

    Raises:
        ValueError: it is no address.
    """
    return is_public_address(ip_address(address))


@lru_cache(maxsize=10_000)
def is_public_address(address: IPv4Address | IPv6Address) -> bool:
    """:func:`is_public` of a parsed address."""
    return next(kind for block, kind in _blocks(address.version) if address in block) == "public"


@cache
def address_blocks() -> Mapping[str, AddressKind]:
    """Blocks such as ``10.0.0.0/8`` with their kinds. They nest, and ``0.0.0.0/0`` and ``::/0`` hold all the others.

    Those of IPv4 are there once more as blocks of IPv6, mapped and translated.
    """
    blocks: dict[str, AddressKind] = {
        block: kind for kind, blocks_of_kind in _tables()["addresses"].items() for block in blocks_of_kind
    }
    for block, kind in list(blocks.items()):
        if ":" not in block:
            inner = IPv4Network(block)
            for prefix in _IPV4_WITHIN:
                outer = IPv6Address(int(IPv6Address(prefix)) + int(inner.network_address))
                blocks[f"{outer}/{96 + inner.prefixlen}"] = kind
    return blocks


def special_use_zone(host: str) -> str | None:
    """The zone that makes ``host`` a name of no public server: ``corp`` for ``a.corp``; None for a public name.

    A name without a dot is a zone of its own, because each network resolves it differently.
    """
    name = host.lower().removesuffix(".")
    zones = _tables()["names"]
    labels = name.split(".")
    special_zone = next((zone for n in range(len(labels)) if (zone := ".".join(labels[n:])) in zones), None)
    return name if special_zone is None and len(labels) == 1 else special_zone


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def _blocks(version: int) -> tuple[tuple[IPv4Network | IPv6Network, AddressKind], ...]:
    """The blocks of one family, longest first."""
    blocks = [(ip_network(block), kind) for block, kind in address_blocks().items()]
    own = [(block, kind) for block, kind in blocks if block.version == version]
    return tuple(sorted(own, key=lambda one: -one[0].prefixlen))
