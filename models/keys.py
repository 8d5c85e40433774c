"""What makes two requests' servers one to the ORIGIN model: the AS of their addresses, or another key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from originset.models.parameters import Colocation

# Of what a host has, not its address.
_OF_HOSTS = ("edge", "tenant")


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a study's addresses and hosts, once each."""

    addresses: pl.DataFrame
    hosts: pl.DataFrame | None

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """``rows`` (``host``, ``server_ip``: categories) in the same order, with ``asn``, ``key`` and ``keyless``.

        Rows with one ``key`` are at one server. It is NULL where the address is not known; an address of which what
        makes servers one is not known (``keyless``) is its own key.
        """
        addressed = pl.col("server_ip").is_not_null()
        found = rows.join(self.addresses, on="server_ip", how="left", maintain_order="left")
        if self.hosts is not None:
            found = found.drop("key").join(self.hosts, on="host", how="left", maintain_order="left")
        return found.with_columns(
            (addressed & pl.col("key").is_null()).alias("keyless"),
            pl.when(addressed).then(pl.coalesce("key", "server_ip")).alias("key"),
        )


def keys(tables: Mapping[str, pl.LazyFrame], colocation: Colocation) -> Keys:
    """The keys by ``colocation`` (:class:`originset.models.parameters.Parameters`)."""
    # No address is all digits or begins with an equals sign, so none can be taken for another key.
    key = {"asn": pl.col("asn").cast(pl.String), "ip": pl.col("ip"), "org": "=" + pl.col("organisation")}
    addresses = tables["addresses"].select(
        pl.col("ip").cast(pl.Categorical).alias("server_ip"),
        "asn",
        key.get(colocation, pl.lit(None, pl.String)).cast(pl.Categorical).alias("key"),
    )
    if colocation not in _OF_HOSTS:
        return Keys(addresses.collect(), None)
    edge = pl.concat_str(pl.lit("="), "edge")
    owned = pl.concat_str(edge, pl.lit("="), "registrable_domain")
    # A host with several CDNs is on this edge at times, and nobody knows when.
    of_host = pl.when(pl.col("multi_cdn").ne_missing(other=True)).then(edge if colocation == "edge" else owned)
    hosts = tables["hosts"].select(pl.col("host").cast(pl.Categorical), of_host.cast(pl.Categorical).alias("key"))
    return Keys(addresses.collect(), hosts.collect())
