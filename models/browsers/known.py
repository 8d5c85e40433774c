"""What a study knows of hosts, addresses and certificates: read once, looked up by number for parts of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from originset.models.coverage import covering_certificates
from originset.models.network import is_address

Ints = np.ndarray[Any, np.dtype[np.int64]]

V6 = -1

_PREFIX = r"^([0-9]+\.[0-9]+\.[0-9]+)\."
# Of a fact: not asked for so far; and there is nothing that it would be of.
_UNASKED, _NOTHING = -3, -2


class Known:
    """The tables whose rows do not belong to visits.

    Hosts, addresses and certificate ids are categories of its own (``hosts``, ``addresses`` and ``certificates`` are
    their types), so that their numbers are small. ``visits`` and ``texts`` are types for what is told of a study, which
    then takes a fraction of the memory.
    """

    def __init__(self, tables: Mapping[str, pl.LazyFrame]) -> None:
        self._tables = tables
        self.hosts, self.addresses, self.certificates, self.visits, self.texts = (
            pl.Categorical(pl.Categories.random()) for _ in range(5)
        )
        self._literals, self._networks = _Facts(_is_literal), _Facts(_Networks().of)

    def sites(self, hosts: pl.Series) -> pl.Series:
        """The registrable domain of each; itself where none is known."""
        return pl.select(pl.coalesce(self._of_hosts.of(hosts, "registrable_domain"), hosts)).to_series().alias("site")

    def literal(self, hosts: pl.Series) -> pl.Series:
        """Whether each is an address."""
        return pl.Series(self._literals.of(hosts) == 1)

    def edges(self, hosts: pl.Series) -> pl.Series:
        """The edge that each is on."""
        return self._of_hosts.of(hosts, "edge")

    def asns(self, addresses: pl.Series) -> pl.Series:
        """The AS that each is in."""
        return self._of_addresses.of(addresses, "asn")

    def networks(self, addresses: pl.Series) -> pl.Series:
        """A number for the first three bytes of each IPv4 address, V6 for all of IPv6; NULL for none."""
        numbers = self._networks.of(addresses)
        return pl.Series("network", numbers).set(pl.Series(numbers == _NOTHING), None)

    def named(self, certificates: pl.Series) -> pl.Series:
        """Whether the names of each are known."""
        return self._of_certificates.of(certificates, "named").fill_null(value=False)

    def chain_bytes(self, certificates: pl.Series) -> pl.Series:
        """What a server with each sends; NULL where the size of a certificate of the chain is not known."""
        return self._of_certificates.of(certificates, "chain_bytes")

    def covering(self, hosts: pl.Series) -> pl.DataFrame:
        """Every certificate that covers each of the ``hosts`` (distinct): ``host``, ``certificate_id``."""
        starts, certificates = self._covering
        numbers = _numbers(hosts)
        seen = numbers < starts.size - 1
        at = numbers[seen]
        counts = starts[at + 1] - starts[at]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found = pl.DataFrame(
            {
                "host": hosts.gather(np.repeat(np.flatnonzero(seen), counts)),
                "certificate_id": certificates.gather(np.repeat(starts[at], counts) + within),
            }
        )
        others = hosts.filter(pl.Series(~(seen & self._is_listed(numbers))))
        if others.is_empty():
            return found
        return pl.concat([found, self._covering_of(others.cast(pl.String).to_frame("host").lazy())])

    @cached_property
    def _of_hosts(self) -> _Index:
        rows = self._tables["hosts"].select(pl.col("host", "registrable_domain").cast(self.hosts), "edge").collect()
        return _Index.by("host", rows.with_columns(pl.col("edge").cast(pl.Categorical)))

    @cached_property
    def _of_addresses(self) -> _Index:
        return _Index.by("ip", self._tables["addresses"].select(pl.col("ip").cast(self.addresses), "asn").collect())

    @cached_property
    def _of_certificates(self) -> _Index:
        rows = self._tables["certificates"].select("certificate_id", "chain", "der_bytes", "san_count")
        known = rows.unique("certificate_id")
        size = pl.col("der_bytes")
        chains = (
            known.select("certificate_id", "chain")
            .explode("chain")
            .join(known.select(pl.col("certificate_id").alias("chain"), "der_bytes"), on="chain", how="left")
            .group_by("certificate_id")
            .agg(pl.when(size.is_not_null().all()).then(size.sum()).alias("chain_bytes"))
        )
        named = rows.group_by("certificate_id").agg(pl.col("san_count").is_not_null().any().alias("named"))
        found = named.join(chains, on="certificate_id", how="left").collect()
        return _Index.by("certificate_id", found.with_columns(pl.col("certificate_id").cast(self.certificates)))

    @cached_property
    def _covering(self) -> tuple[Ints, pl.Series]:
        """By a host's number where its certificates begin, and these."""
        found = self._covering_of(self._tables["hosts"].select("host"))
        numbers = _numbers(found["host"])
        order = np.argsort(numbers, kind="stable")
        ends = np.bincount(numbers, minlength=self._of_hosts.place.size).cumsum()
        return np.concatenate([[0], ends]), found["certificate_id"].gather(order)

    def _covering_of(self, hosts: pl.LazyFrame) -> pl.DataFrame:
        return covering_certificates(self._tables, hosts, self.certificates).cast({"host": self.hosts})

    def _is_listed(self, numbers: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether ``hosts`` has a row for each."""
        return self._of_hosts.has(numbers)


@dataclass(frozen=True, slots=True)
class _Index:
    """Rows by the number of their key; ``place`` is -1 for numbers that no row has.

    The keys are among the rows: categories have their numbers for as long as some series has the categories.
    """

    place: Ints
    rows: pl.DataFrame

    @classmethod
    def by(cls, key: str, rows: pl.DataFrame) -> _Index:
        numbers = _numbers(rows[key])
        place = np.full(int(numbers.max(initial=-1)) + 1, -1)
        place[numbers] = np.arange(numbers.size)
        return cls(place, rows)

    def has(self, numbers: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return self._places(numbers) >= 0

    def of(self, keys: pl.Series, column: str) -> pl.Series:
        """The column for each of the keys; NULL where there is no row."""
        places = self._places(_numbers(keys))
        return self.rows[column].gather(pl.select(pl.when(pl.lit(pl.Series(places)) >= 0).then(places)).to_series())

    def _places(self, numbers: Ints) -> Ints:
        places = np.full(numbers.size, -1)
        here = (numbers >= 0) & (numbers < self.place.size)
        places[here] = self.place[numbers[here]]
        return places


class _Facts:
    """A whole number for each category, from what it is; found out once."""

    def __init__(self, of: Callable[[pl.Series], pl.Series]) -> None:
        self._of = of
        # The first is for NULL.
        self._known = np.full(1, _NOTHING)

    def of(self, keys: pl.Series) -> Ints:
        places = _numbers(keys) + 1
        lacking = int(places.max(initial=0)) + 1 - self._known.size
        if lacking > 0:
            # By halves more, so that it does not grow with each part of a study.
            more = max(lacking, self._known.size // 2)
            self._known = np.concatenate([self._known, np.full(more, _UNASKED)])
        found = self._known[places]
        unasked = np.flatnonzero(found == _UNASKED)
        if not unasked.size:
            return found
        distinct = keys.gather(unasked).unique()
        self._known[_numbers(distinct) + 1] = self._of(distinct.cast(pl.String)).to_numpy()
        return self._known[places]


def _is_literal(hosts: pl.Series) -> pl.Series:
    return pl.select(is_address(pl.lit(hosts)).cast(pl.Int64)).to_series()


class _Networks:
    def __init__(self) -> None:
        self._prefixes = pl.Categorical(pl.Categories.random())
        # Categories have their numbers for as long as some series has the categories.
        self._kept: list[pl.Series] = []

    def of(self, addresses: pl.Series) -> pl.Series:
        prefixes = addresses.str.extract(_PREFIX).cast(self._prefixes)
        self._kept.append(prefixes.clear())
        number = pl.lit(prefixes.to_physical()).cast(pl.Int64)
        in_v6 = pl.lit(addresses).str.contains(":", literal=True)
        return pl.select(pl.when(in_v6).then(V6).otherwise(number).fill_null(_NOTHING)).to_series()


def _numbers(keys: pl.Series) -> Ints:
    """Of categories; -1 for NULL."""
    numbers = keys.to_physical()
    if not numbers.null_count():
        return numbers.to_numpy().astype(np.int64)
    return numbers.cast(pl.Int64).fill_null(-1).to_numpy()
