"""Server addresses to origin ASes, whole columns of distinct addresses at once."""

from __future__ import annotations

import ipaddress

import polars as pl

from originset.data.reference.ip_to_as import IpToAs
from originset.data.schema import TABLES

# Where hosts of one's own live. Python's is_private holds more: documentation and benchmarking, which are bogons.
_PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1/128",
        "fc00::/7",
        "fe80::/10",
    )
)


def address_kind(ip: str) -> str:
    """``public``, ``private`` or ``bogon``.

    Private are RFC 1918, 4193 and 6598, loopback and link-local; bogon is what else is not routed: documentation,
    multicast, reserved.

    Raises:
        ValueError: it is no address.
    """
    address = ipaddress.ip_address(ip)
    if any(address.version == network.version and address in network for network in _PRIVATE):
        return "private"
    return "public" if address.is_global and not address.is_multicast else "bogon"


def address_rows(addresses: pl.Series, table: IpToAs) -> pl.DataFrame:
    """Rows of ``addresses`` for distinct addresses in canonical text.

    The table decides for private addresses too: one that somebody made for their own network knows them.
    """
    distinct = addresses.drop_nulls().unique().sort()
    found = [table.lookup(ip) for ip in distinct]
    names = table.names()
    return pl.DataFrame(
        {
            "ip": distinct,
            "asn": found,
            "asns": [None if asn is None else [asn] for asn in found],
            "as_name": [None if asn is None else names.get(asn) for asn in found],
            "kind": [address_kind(ip) for ip in distinct],
        },
        schema=TABLES["addresses"].polars_schema,
    )
