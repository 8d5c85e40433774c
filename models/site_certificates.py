"""What the paper's ideal does to each site's certificate, and the names that it would add."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.schema import CERTIFICATE_ADDITIONS, SITE_CERTIFICATES
from originset.models.coverage import covered
from originset.models.evidence import SAME_TENANT, levels
from originset.models.network import is_address
from originset.models.parameters import Parameters

# The other columns are those of originset.models.proposals.
_FROM_HERE = ("site", "name", "certificate_id", "rank", "level", "same_owner", "connections_saved_paper")

# Certificates whose names are counted together.
_TOGETHER = 100_000


def own_certificates(documents: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """The certificate that most visits of each group saw on the document's connection, and the least id of a tie."""
    seen = documents.filter(pl.col("certificate_id").is_not_null()).group_by(*by, "certificate_id").agg(pl.len())
    order = pl.struct(-pl.col("len").cast(pl.Int64), "certificate_id")
    return seen.group_by(by).agg(pl.col("certificate_id").sort_by(order).first())


def certificate_additions(
    tables: Mapping[str, pl.LazyFrame],
    evidence: pl.LazyFrame,
    documents: pl.LazyFrame,
    colocated: pl.LazyFrame,
    parameters: Parameters,
) -> pl.DataFrame:
    """Rows of ``certificate_additions``: the co-located names of each site that its certificate does not cover.

    ``documents`` and ``colocated``: rows of :func:`originset.models.documents.documents` and
    :func:`originset.models.colocated.colocated_hosts`, sites and hosts as categories. Over the union of the site's
    visits. A site whose certificate's names are not known has no rows here and NULL in
    ``site_certificates``. Ranked by connections saved, then by visits and requests. ``level`` and ``same_owner`` are
    those of the document's host that has the best evidence, where a site had several. No rows at all if coverage is
    ignored.
    """
    if parameters.coverage == "ignored":
        return CERTIFICATE_ADDITIONS.polars_schema.to_frame()
    names = (
        colocated.group_by("site", pl.col("host").alias("name"))
        .agg(
            pl.when(pl.col("connections").count() > 0)
            .then(pl.col("connections").sum())
            .alias("connections_saved_paper"),
            pl.len().alias("visits"),
            pl.col("requests").sum(),
        )
        .filter(~is_address(pl.col("name").cast(pl.String)))
        .join(own_certificates(documents.filter("secure"), ["site"]), on="site")
        .collect(engine="streaming")
    )
    asked = names.select("certificate_id", pl.col("name").cast(pl.String).alias("host"))
    known = covered(tables, asked, wildcards=parameters.wildcards == "cover")
    missing = names.filter(~known).lazy()
    pairs = (
        colocated.select("site", "server", pl.col("host").alias("name"))
        .join(missing.select("site", "name"), on=["site", "name"])
        .unique()
        .cast(dict.fromkeys(("site", "server", "name"), pl.String))
        .rename({"name": "host"})
        .collect()
        .lazy()  # used twice
    )
    best = (
        pairs.join(levels(tables, evidence, pairs), on=["server", "host"])
        .group_by("site", pl.col("host").alias("name"))
        .agg(pl.col("level").max(), pl.col("same_owner").max())
    )
    # By what each saves, then by how often it is asked for.
    order = ["connections_saved_paper", "visits", "requests"]
    return (
        missing.cast(dict.fromkeys(("site", "name"), pl.String))
        .join(best, on=["site", "name"])
        .sort("site", *order, "name", descending=[False, True, True, True, False], nulls_last=[False, *[True] * 4])
        .with_columns(pl.int_range(1, pl.len() + 1).over("site").alias("rank"))
        .select(
            pl.col(name).cast(kind) if name in _FROM_HERE else pl.lit(None, kind).alias(name)
            for name, kind in CERTIFICATE_ADDITIONS.polars_schema.items()
        )
        .collect(engine="streaming")
    )


def site_certificates(
    tables: Mapping[str, pl.LazyFrame], documents: pl.LazyFrame, additions: pl.LazyFrame
) -> pl.DataFrame:
    """Rows of ``site_certificates``, one for each site of which a document was seen.

    ``additions`` are by the paper's rule, ``deployable_additions`` those of them for which there is evidence that one
    server answers for both. ``existing_names`` is NULL where the certificate's names are not known, the others also
    where no document's address is, because then nothing can be said to be co-located with it.
    """
    own = own_certificates(documents.filter("secure"), ["site"]).collect()
    existing = _existing_names(tables, own.select(pl.col("certificate_id").unique()))
    deployable = (pl.col("level") >= SAME_TENANT).sum().alias("deployable_additions")
    added = additions.group_by("site").agg(pl.len().alias("n"), deployable)
    return (
        documents.group_by("site")
        .agg(
            pl.len().alias("visits"),
            pl.col("vantage").drop_nulls().n_unique().alias("named_vantages"),
            (pl.col("secure") & pl.col("key").is_not_null()).any().alias("located"),
        )
        .join(own.lazy(), on="site", how="left")
        .join(existing.lazy(), on="certificate_id", how="left")
        .with_columns(pl.col("site").cast(pl.String))
        .join(added, on="site", how="left")
        .with_columns(
            pl.when(pl.col("located") & pl.col("existing_names").is_not_null())
            .then(pl.col("n").fill_null(0).cast(pl.Int64))
            .alias("additions"),
            pl.when(pl.col("located") & pl.col("existing_names").is_not_null())
            .then(pl.col("deployable_additions").fill_null(0).cast(pl.Int64))
            .alias("deployable_additions"),
            pl.when(pl.col("named_vantages") > 0).then("named_vantages").alias("vantages"),
        )
        .with_columns((pl.col("existing_names") + pl.col("additions")).alias("ideal_names"))
        .select(pl.col(name).cast(kind) for name, kind in SITE_CERTIFICATES.polars_schema.items())
        .sort("site")
        .collect(engine="streaming")
    )


def _existing_names(tables: Mapping[str, pl.LazyFrame], certificates: pl.DataFrame) -> pl.DataFrame:
    """``certificate_id`` and ``existing_names``, how many names it has, of those whose names are known."""
    known = (
        tables["certificates"]
        .filter(pl.col("san_count").is_not_null())
        .select("certificate_id")
        .unique()
        .join(certificates.lazy(), on="certificate_id", how="semi")
        .collect(engine="streaming")
    )
    names = tables["certificate_names"].select("certificate_id", "name")
    counts = [
        names.join(some.lazy(), on="certificate_id", how="semi")
        .unique()
        .group_by("certificate_id")
        .agg(pl.len().cast(pl.Int64).alias("existing_names"))
        .collect(engine="streaming")
        for some in known.iter_slices(_TOGETHER)
    ]
    if not counts:
        return known.with_columns(pl.lit(0, pl.Int64).alias("existing_names"))
    return known.join(pl.concat(counts), on="certificate_id", how="left").with_columns(
        pl.col("existing_names").fill_null(0)
    )
