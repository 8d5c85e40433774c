"""What makes two requests' servers one to the ORIGIN model: the AS of their addresses, or another key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from originset.models.categories import Categories
from originset.models.parameters import Colocation
from originset.models.uses import first_on_page, rows_at

# Of what a host has, not its address.
_OF_HOSTS = ("edge", "tenant")


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a study's addresses and hosts, each in the row that is its category's number.

    ``addresses``: ``asn`` and ``key``. ``hosts``: ``key``, or None where keys are of addresses.
    """

    addresses: pl.DataFrame
    hosts: pl.DataFrame | None

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """``rows`` (``page``, ``host``, ``server_ip``: categories) in the same order, with more columns.

        These are ``asn``, ``key``, ``keyless``, ``new_address`` and ``new_key`` (the first of its page with its address
        or key). Rows with one ``key`` are at one server. It is NULL where the address is not known; an address of which
        what makes servers one is not known (``keyless``) is its own key.
        """
        addressed = pl.col("server_ip").is_not_null()
        found = rows.with_columns(of_categories(rows["server_ip"], self.addresses))
        if self.hosts is not None:
            found = found.with_columns(of_categories(rows["host"], self.hosts))
        found = found.with_columns(
            (addressed & pl.col("key").is_null()).alias("keyless"),
            pl.when(addressed).then(pl.coalesce("key", "server_ip")).alias("key"),
        )
        located, page = found["server_ip"].is_not_null().to_numpy(), found["page"].to_numpy()
        return found.with_columns(
            pl.Series("new_address", first_on_page(page, found["server_ip"]) & located),
            pl.Series("new_key", first_on_page(page, found["key"]) & located),
        )


def keys(tables: Mapping[str, pl.LazyFrame], colocation: Colocation, categories: Categories | None = None) -> Keys:
    """The keys by ``colocation`` (:class:`originset.models.parameters.Parameters`).

    ``categories``: that of every address will be known there.
    """
    categories = Categories() if categories is None else categories
    # No address is all digits or begins with an equals sign, so none can be taken for another key.
    key = {"asn": pl.col("asn").cast(pl.String), "ip": pl.col("ip"), "org": "=" + pl.col("organisation")}
    asn_and_key = ("asn", key.get(colocation, pl.lit(None, pl.String)).cast(pl.Categorical).alias("key"))
    known = (
        tables["addresses"].filter(pl.col("ip").is_not_null()).select("ip", *asn_and_key).collect(engine="streaming")
    )
    of = categories.texts(categories.numbers(known["ip"]))
    addresses = by_number(known.drop("ip").with_columns(of.alias("of")).lazy())
    if colocation not in _OF_HOSTS:
        return Keys(addresses, None)
    edge = pl.concat_str(pl.lit("="), "edge")
    owned = pl.concat_str(edge, pl.lit("="), "registrable_domain")
    # A host with several CDNs is on this edge at times, and nobody knows when.
    of_host = pl.when(pl.col("multi_cdn").ne_missing(other=True)).then(edge if colocation == "edge" else owned)
    hosts = tables["hosts"].select(pl.col("host").cast(pl.Categorical).alias("of"), of_host.alias("key"))
    return Keys(addresses, by_number(hosts.cast({"key": pl.Categorical})))


def by_number(known: pl.LazyFrame) -> pl.DataFrame:
    """``known`` (``of``, a category, once each; facts) with each row at its category's number."""
    rows = known.filter(pl.col("of").is_not_null()).collect(engine="streaming")
    number = rows["of"].to_physical().to_numpy()
    row = np.full(int(number.max(initial=0)) + 1, -1)
    row[number] = np.arange(number.size)
    return rows_at(rows.drop("of"), row)


def of_categories(texts: pl.Series, facts: pl.DataFrame) -> pl.DataFrame:
    """Of each text (a category) its row of ``facts``, which :func:`by_number` made; NULLs where there is none."""
    return facts.select(pl.all().gather(texts.to_physical(), null_on_oob=True))
