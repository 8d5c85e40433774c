"""Rows of ``hosts``: the registrable domain and the edge of each host name."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from originset.data.reference.registrable_domains import registrable_domain
from originset.data.schema.study_tables import TABLES


def host_rows(hosts: pl.Series, edges: pl.DataFrame, suffix_list: Path | None = None) -> pl.DataFrame:
    """Rows of ``hosts`` for distinct host names; ``edges`` has the columns ``host`` (once each), edge, multi_cdn."""
    distinct = hosts.drop_nulls().unique().sort()
    domains = [registrable_domain(host, suffix_list) for host in distinct]
    rows = pl.DataFrame({"host": distinct, "registrable_domain": pl.Series(domains, dtype=pl.String)})
    joined = rows.join(edges, on="host", how="left", maintain_order="left")
    return joined.match_to_schema(TABLES["hosts"].polars_schema)
