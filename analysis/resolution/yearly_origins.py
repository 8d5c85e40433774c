"""Origin ASes of addresses by IP-to-AS tables of the years in which visits saw them."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.reference.ip_to_as import IpToAs
from originset.data.studies.shards import scan
from originset.data.studies.study import Study


class YearlyOrigins:
    """Tables for addresses of some years, and one, ``usual``, for all other years and visits without a date."""

    def __init__(self, usual: IpToAs, of_years: Mapping[int, IpToAs], seen: pl.DataFrame) -> None:
        """``seen``: each ``ip`` with each ``year`` of a visit that has it."""
        self._tables = [usual, *of_years.values()]
        numbers = {year: number for number, year in enumerate(of_years, 1)}
        table = pl.col("year").replace_strict(numbers, default=0, return_dtype=pl.Int64).alias("table")
        self._seen = seen.select("ip", table).unique()

    def origins(self, addresses: pl.Series) -> pl.DataFrame:
        """``asn`` and ``asns`` of distinct addresses; NULL also where the tables of an address's years differ."""
        places = addresses.alias("ip").to_frame().join(self._seen, on="ip", how="left")
        by_table = places.with_columns(pl.col("table").fill_null(0)).partition_by("table", as_dict=True)
        found = [rows.hstack(self._tables[number].origins(rows["ip"])) for (number,), rows in by_table.items()]
        if not found:
            return self._tables[0].origins(addresses)
        same = pl.struct("asn", "asns").n_unique() == 1
        one = pl.concat(found).group_by("ip").agg(pl.when(same).then(pl.col("asn", "asns").first()))
        return addresses.alias("ip").to_frame().join(one, on="ip", how="left", maintain_order="left").drop("ip")


def addresses_by_year(study: Study) -> pl.DataFrame:
    """Each recorded ``ip`` of a study, as text, with each ``year`` of a visit that has it."""
    years = scan(study, "visits").select("visit_id", pl.col("started_at").dt.year().cast(pl.Int64).alias("year"))
    answers = scan(study, "dns_queries").filter(pl.col("rtype").is_in(["A", "AAAA"]))
    recorded = (
        scan(study, "requests").select("visit_id", pl.col("server_ip").alias("ip")),
        scan(study, "connections").select("visit_id", pl.col("server_ip").alias("ip")),
        scan(study, "visits").select("visit_id", pl.col("vantage_ip").alias("ip")),
        answers.select("visit_id", pl.col("answers").alias("ip")).explode("ip"),
    )
    seen = [rows.unique().join(years, on="visit_id").select("ip", "year").unique() for rows in recorded]
    return pl.concat(seen).unique().drop_nulls("ip").collect(engine="streaming")
