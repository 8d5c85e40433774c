"""Server addresses to origin ASes and the organisations that run them, whole columns of distinct addresses at once."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from originset.analysis.resolution.yearly_origins import YearlyOrigins
from originset.data.reference.ip_to_as import IpToAs
from originset.data.reference.ranges import NO_PREFIX, Prefixes
from originset.data.reference.special_purpose import address_blocks
from originset.data.schema.study_tables import TABLES


def address_kinds(addresses: pl.Series) -> pl.Series:
    """``public``, ``private`` or ``bogon`` for each address, by its longest block in special_purpose.toml.

    Raises:
        ValueError: something is NULL or no address.
    """
    prefixes, kinds = _special()
    positions = prefixes.find(addresses)
    assert (positions != NO_PREFIX).all(), "0.0.0.0/0 and ::/0 hold every address"  # noqa: S101 - no input can break it
    return pl.Series("kind", kinds[positions], dtype=pl.String)


def address_rows(
    addresses: pl.Series, table: IpToAs | YearlyOrigins, as_names: pl.DataFrame, provider_of: dict[int, str]
) -> pl.DataFrame:
    """Rows of ``addresses`` for distinct addresses in canonical text.

    The table is used for private addresses too, because somebody can have made it for their own network. An AS of a
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
    blocks = address_blocks()
    networks = pl.Series([block.partition("/")[0] for block in blocks])
    lengths = [int(block.partition("/")[2]) for block in blocks]
    return Prefixes(networks, lengths), np.array(list(blocks.values()), dtype=object)
