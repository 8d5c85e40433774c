"""Which host names a certificate covers, by RFC 9525: whole tables at once, with joins instead of a loop."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from originset.models.network import is_address

# Pairs looked up together: each has two names that could be in its certificate.
_TOGETHER = 250_000

# Names of certificates looked at together.
_NAMES = 1_000_000


def covered(tables: Mapping[str, pl.LazyFrame], pairs: pl.DataFrame, *, wildcards: bool = True) -> pl.Series:
    """Of each row of ``pairs`` (``certificate_id``, ``host``) whether the certificate covers the host.

    NULL where the certificate or its names are not known. RFC 9525 section 6.3: a name covers the host that equals it,
    or, if its left-most label is ``*``, a host with any one label in that place. No partial wildcards, no common name
    (section 6.1.2), no wildcard for an address. Without ``wildcards`` a certificate's wildcard names cover nothing.
    """
    with_names = tables["certificates"].filter(pl.col("san_count").is_not_null())
    names = tables["certificate_names"].select("certificate_id", "name")
    if not wildcards:
        names = names.filter(~pl.col("name").str.starts_with("*"))
    answers = [_covered(with_names, names, some) for some in pairs.iter_slices(_TOGETHER)]
    return pl.concat(answers) if answers else pl.Series("covered", [], pl.Boolean)


def _covered(with_names: pl.LazyFrame, names: pl.LazyFrame, pairs: pl.DataFrame) -> pl.Series:
    rows = pairs.lazy().select("certificate_id", "host").with_row_index("row")
    known = rows.join(with_names, on="certificate_id", how="semi")
    matching = _matching(names, _wanted(rows), ["certificate_id", "name"], "row")
    answer = np.full(pairs.height, -1)
    answer[known.select("row").collect()["row"].to_numpy()] = 0
    of_known = matching["row"].to_numpy()
    answer[of_known] = np.where(answer[of_known] < 0, -1, 1)
    return pl.Series("covered", answer).replace(-1, None).cast(pl.Boolean)


def covering_certificates(
    tables: Mapping[str, pl.LazyFrame], hosts: pl.LazyFrame, certificates: pl.Categorical, by: str = "host"
) -> pl.DataFrame:
    """Every certificate of the study (``certificate_id``, as ``certificates``) that covers a ``host`` of ``hosts``.

    Each with each host once, the host as its ``by``: a column of ``hosts`` that tells them apart.
    """
    names = tables["certificate_names"].select("certificate_id", "name")
    certificate = pl.col("certificate_id").cast(certificates)
    return _matching(names, _wanted(hosts.unique(by)), ["name"], by, certificate).unique()


def _matching(names: pl.LazyFrame, wanted: pl.LazyFrame, on: list[str], *columns: str | pl.Expr) -> pl.DataFrame:
    """``columns`` of each of ``names`` with each row of ``wanted`` that has the same ``on``."""
    kept = {*on, *(column for column in columns if isinstance(column, str))}
    known = wanted.select(sorted(kept)).collect().lazy()
    # Names of all certificates are too many to have in memory, and the streaming engine reads ahead without a bound.
    return pl.concat(
        names.slice(first, _NAMES).join(known, on=on).select(columns).collect()
        for first in range(0, names.select(pl.len()).collect().item() or 1, _NAMES)
    )


def _wanted(hosts: pl.LazyFrame) -> pl.LazyFrame:
    """Rows with a ``host`` with each ``name`` of a certificate that covers it."""
    # An absolute name, with its final dot, names the same host; a host with a star in it is nobody's name.
    exact = hosts.filter(~pl.col("host").str.contains("*", literal=True)).with_columns(
        pl.col("host").str.strip_suffix(".").alias("name")
    )
    parent = pl.col("name").str.splitn(".", 2).struct.field("field_1")
    by_wildcard = exact.filter(~is_address(pl.col("name")), ~pl.col("name").str.starts_with(".")).with_columns(
        ("*." + parent).alias("name")
    )
    return pl.concat([exact, by_wildcard.filter(pl.col("name").is_not_null())])
