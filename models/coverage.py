"""Which host names a certificate covers, by RFC 9525: whole tables at once, with joins instead of a loop."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.models.network import is_address


def covered(tables: Mapping[str, pl.LazyFrame], pairs: pl.LazyFrame, *, wildcards: bool = True) -> pl.LazyFrame:
    """``pairs`` (``certificate_id``, ``host``) without repetition, with columns ``covered`` and ``common_name_alone``.

    ``covered`` is NULL where the certificate or its names are not known. RFC 9525 section 6.3: a name covers the host
    that equals it, or, if its left-most label is ``*``, a host with any one label in that place. No partial wildcards,
    no common name (section 6.1.2), no wildcard for an address. ``common_name_alone``: no name covers the host, but the
    subject's common name would, which clients of long ago took for one; NULL where ``covered`` is. Without
    ``wildcards`` a certificate's wildcard names cover nothing.
    """
    pairs = pairs.select("certificate_id", "host").unique()
    known = tables["certificates"].filter(pl.col("san_count").is_not_null()).select("certificate_id").unique()
    names = tables["certificate_names"].select("certificate_id", "name").unique()
    if not wildcards:
        names = names.filter(~pl.col("name").str.starts_with("*"))
    matches = _matching(names, pairs).with_columns(pl.lit(value=True).alias("match"))
    common_names = tables["certificates"].select(
        "certificate_id", pl.col("subject_cn").str.to_lowercase().alias("name")
    )
    by_common_name = _matching(common_names.drop_nulls().unique(), pairs).with_columns(pl.lit(value=True).alias("cn"))
    return (
        pairs.join(known.with_columns(pl.lit(value=True).alias("known")), on="certificate_id", how="left")
        .join(matches, on=["certificate_id", "host"], how="left")
        .join(by_common_name, on=["certificate_id", "host"], how="left")
        .select(
            "certificate_id",
            "host",
            pl.when("known").then(pl.col("match").fill_null(value=False)).alias("covered"),
            pl.when("known").then(pl.col("match").is_null() & pl.col("cn").is_not_null()).alias("common_name_alone"),
        )
    )


def covering_certificates(tables: Mapping[str, pl.LazyFrame], hosts: pl.LazyFrame) -> pl.LazyFrame:
    """Every certificate of the study that covers a host of ``hosts``: ``host``, ``certificate_id``, each pair once."""
    return _matching(tables["certificate_names"].select("certificate_id", "name").unique(), hosts)


def _matching(names: pl.LazyFrame, hosts: pl.LazyFrame) -> pl.LazyFrame:
    """Each host with each certificate of ``names`` (``certificate_id``, ``name``) of which a name covers it."""
    # An absolute name, with its final dot, names the same host; a host with a star in it is nobody's name.
    wanted = (
        hosts.select("host")
        .unique()
        .filter(~pl.col("host").str.contains("*", literal=True))
        .with_columns(pl.col("host").str.strip_suffix(".").alias("exact"))
    )
    parent = pl.col("exact").str.splitn(".", 2).struct.field("field_1")
    by_wildcard = wanted.filter(~is_address(pl.col("exact")), ~pl.col("exact").str.starts_with(".")).select(
        "host", ("*." + parent).alias("name")
    )
    return (
        pl.concat([wanted.select("host", pl.col("exact").alias("name")), by_wildcard])
        .join(names, on="name")
        .select("host", "certificate_id")
        .unique()
    )
