"""The hosts that each site's server could announce in an ORIGIN frame (RFC 8336), with what speaks for and against."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.schema import ORIGIN_SETS
from originset.models.coverage import covered
from originset.models.evidence import levels
from originset.models.site_certificates import own_certificates

_KEY = ("site", "server", "host")

# Rows for which evidence and certificates are looked up together.
_TOGETHER = 1_000_000


def origin_sets(
    tables: Mapping[str, pl.LazyFrame],
    evidence: pl.LazyFrame,
    documents: pl.LazyFrame,
    colocated: pl.LazyFrame,
    misdirected: pl.LazyFrame,
) -> pl.DataFrame:
    """Rows of ``origin_sets``: one for each site, server and host that share the document's key, itself included.

    Ordered by these three, which are categories.

    ``documents`` and ``colocated``: rows of :func:`originset.models.documents.documents` and
    :func:`originset.models.colocated.colocated_hosts`, sites and hosts as categories.
    ``misdirected``: column host, as :func:`originset.models.evidence.misdirected_hosts` gives it. A host asked for on
    several ports has the one of most visits. ``asn`` is that of most of the server's documents.
    """
    located = documents.filter("secure", pl.col("key").is_not_null())
    certificates = own_certificates(located, ["site", "server"])
    servers = located.group_by("site", "server").agg(pl.col("asn").drop_nulls().mode().min())
    site_visits = located.group_by("site").agg(pl.len().alias("site_visits"))
    ports = colocated.group_by("site", "server", "host", "port").agg(pl.len().alias("n"))
    port = ports.group_by("site", "server", "host").agg(
        pl.col("port").sort_by(pl.struct(-pl.col("n").cast(pl.Int64), "port")).first()
    )
    members = (
        colocated.group_by("site", "server", "host")
        .agg(pl.col("requests").sum(), pl.len().alias("visits"))
        .join(port, on=["site", "server", "host"])
        .join(servers, on=["site", "server"])
        .join(site_visits, on="site")
        .join(certificates, on=["site", "server"], how="left")
        .collect(engine="streaming")
        .sort(_KEY)
    )
    misdirected = misdirected.select(pl.col("host").cast(pl.Categorical), pl.lit(value=True).alias("misdirected"))
    slices = list(members.iter_slices(_TOGETHER)) or [members]
    return pl.concat(_rows(tables, evidence, some, misdirected) for some in slices)


def _rows(
    tables: Mapping[str, pl.LazyFrame], evidence: pl.LazyFrame, members: pl.DataFrame, misdirected: pl.LazyFrame
) -> pl.DataFrame:
    """Rows of ``origin_sets`` for some of its hosts, in their order."""
    return (
        levels(tables, evidence, members.lazy())
        .with_columns(covered(tables, members).alias("covered_by_certificate"))
        .join(misdirected, on="host", how="left", maintain_order="left")
        .with_columns(
            pl.col("misdirected").fill_null(value=False),
            (pl.col("visits") / pl.col("site_visits")).alias("seen_share"),
            # Told by originset.models.proposals.
            pl.lit(None, pl.Int64).alias("connections_saved_firefox"),
        )
        .select(name if name in _KEY else pl.col(name).cast(kind) for name, kind in ORIGIN_SETS.polars_schema.items())
        .collect()
    )
