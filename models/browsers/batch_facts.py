"""What is known of the hosts, addresses and certificates of a batch of pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

#: Of an address, in the place of its IPv4 prefix.
V6 = "IPv6"

_PREFIX = r"^([0-9]+\.[0-9]+\.[0-9]+)\."


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """Facts about the hosts, addresses and certificates that occur in a batch, each looked up by its type's number.

    ``hosts``, ``addresses`` and ``certificates`` are the types of columns that hold such: no others occur.
    ``coverage``: host, certificate_id, of every certificate that covers a host.
    """

    hosts: pl.Enum
    addresses: pl.Enum
    certificates: pl.Enum
    coverage: pl.DataFrame
    _of_hosts: pl.DataFrame
    _of_addresses: pl.DataFrame
    _of_certificates: pl.DataFrame

    @classmethod
    def of(cls, rows: Mapping[str, pl.DataFrame]) -> BatchFacts:
        """Facts from the rows of the models batch_hosts, batch_addresses, batch_certificates and batch_coverage."""
        of_hosts, of_addresses, of_certificates = (
            rows[name].sort(rows[name].columns[0]) for name in ("batch_hosts", "batch_addresses", "batch_certificates")
        )
        # A registrable domain need not be a host itself.
        names = pl.concat([of_hosts["host"], of_hosts["registrable_domain"].drop_nulls()]).unique().sort()
        hosts, addresses, certificates = map(pl.Enum, (names, of_addresses["ip"], of_certificates["certificate_id"]))
        known_hosts = names.to_frame().join(of_hosts, on="host", how="left", maintain_order="left")
        return cls(
            hosts,
            addresses,
            certificates,
            rows["batch_coverage"].select(
                pl.col("host").cast(hosts), pl.col("certificate_id").cast(certificates)
            ),
            known_hosts.select(
                pl.coalesce("registrable_domain", "host").cast(hosts).alias("site"),
                "edge",
                pl.col("is_ip_literal").fill_null(value=False),
            ),
            of_addresses.select("asn", _network()),
            of_certificates.select("names_known", "chain_bytes"),
        )  # fmt: skip

    def sites(self, hosts: pl.Series) -> pl.Series:
        """The registrable domain of each; itself where none is known."""
        return self._of_hosts["site"].gather(hosts.to_physical())

    def is_ip_literal(self, hosts: pl.Series) -> pl.Series:
        """Whether each is an address."""
        return self._of_hosts["is_ip_literal"].gather(hosts.to_physical()).fill_null(value=False)

    def edges(self, hosts: pl.Series) -> pl.Series:
        """The provider's edge that each is on."""
        return self._of_hosts["edge"].gather(hosts.to_physical())

    def asns(self, addresses: pl.Series) -> pl.Series:
        """The AS that each is in."""
        return self._of_addresses["asn"].gather(addresses.to_physical())

    def networks(self, addresses: pl.Series) -> pl.Series:
        """The first three bytes of each IPv4 address, V6 for all of IPv6; NULL for what is no address."""
        return self._of_addresses["network"].gather(addresses.to_physical())

    def names_known(self, certificates: pl.Series) -> pl.Series:
        """Whether the names of each are known."""
        return self._of_certificates["names_known"].gather(certificates.to_physical()).fill_null(value=False)

    def chain_bytes(self, certificates: pl.Series) -> pl.Series:
        """What a server with each sends; NULL where the size of a certificate of the chain is not known."""
        return self._of_certificates["chain_bytes"].gather(certificates.to_physical())


def _network() -> pl.Expr:
    ip = pl.col("ip")
    return (
        pl.when(ip.str.contains(":", literal=True)).then(pl.lit(V6)).otherwise(ip.str.extract(_PREFIX)).alias("network")
    )
