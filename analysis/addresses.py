"""Server addresses to origin ASes and the organisations that run them, whole columns of distinct addresses at once."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from originset.data.reference.ip_to_as import IpToAs
from originset.data.reference.ranges import NOTHING, Prefixes
from originset.data.schema import TABLES

# From IANA's registries of special-purpose addresses, and the unicast space they leave. Private is where hosts of one's
# own live; bogon is what else is not routed in public.
_KINDS = {
    "private": (
        "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",  # RFC 1918
        "100.64.0.0/10",  # RFC 6598, shared by carriers
        "127.0.0.0/8 ::1/128",  # loopback
        "169.254.0.0/16 fe80::/10",  # link-local
        "fc00::/7",  # RFC 4193
    ),
    "bogon": (
        "0.0.0.0/8 224.0.0.0/4 240.0.0.0/4 ::/0",  # this network, multicast, reserved; all but 2000::/3 is reserved
        "192.0.0.0/24 2001::/23",  # protocol assignments
        "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",  # documentation
        "198.18.0.0/15",  # benchmarking
    ),
    "public": ("0.0.0.0/0", "2000::/3", "64:ff9b::/96"),  # the last: IPv4 through NAT64
}


def address_kinds(addresses: pl.Series) -> pl.Series:
    """``public``, ``private`` or ``bogon`` for each address: what the longest special-purpose prefix says.

    Raises:
        ValueError: something is NULL or no address.
    """
    prefixes, kinds = _special()
    found = prefixes.find(addresses)
    assert (found != NOTHING).all(), "0.0.0.0/0 and ::/0 hold every address"  # noqa: S101 - no input can break it
    return pl.Series("kind", kinds[found], dtype=pl.String)


def address_rows(
    addresses: pl.Series, table: IpToAs, as_names: pl.DataFrame, provider_of: dict[int, str]
) -> pl.DataFrame:
    """Rows of ``addresses`` for distinct addresses in canonical text.

    The table decides for private addresses too: one that somebody made for their own network knows them. An AS of a
    known provider (``provider_of``) belongs to the provider, whatever name a registry has for it: many have several.
    """
    distinct = addresses.drop_nulls().unique().sort().alias("ip")
    providers = pl.DataFrame(
        {"asn": list(provider_of), "provider": list(provider_of.values())},
        schema={"asn": pl.Int64, "provider": pl.String},
    )
    rows = (
        pl.concat([distinct.to_frame(), table.origins(distinct), address_kinds(distinct).to_frame()], how="horizontal")
        .join(as_names, on="asn", how="left", maintain_order="left")
        .join(providers, on="asn", how="left", maintain_order="left")
        .with_columns(pl.coalesce("provider", "organisation").alias("organisation"))
    )
    return rows.select(TABLES["addresses"].polars_schema.names())


@cache
def _special() -> tuple[Prefixes, np.ndarray[tuple[int], np.dtype[np.object_]]]:
    named = [(text, kind) for kind, lines in _KINDS.items() for line in lines for text in line.split()]
    networks = pl.Series([text.partition("/")[0] for text, _ in named])
    lengths = [int(text.partition("/")[2]) for text, _ in named]
    return Prefixes(networks, lengths), np.array([kind for _, kind in named], dtype=object)
