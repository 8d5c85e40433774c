"""What the paper's ideal does to each site's certificate, and the names that it would add."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from originset.data.schema import CERTIFICATE_ADDITIONS, SITE_CERTIFICATES
from originset.models.certificate_names import how_many, with_names
from originset.models.coverage import covered
from originset.models.evidence import SAME_TENANT, levels
from originset.models.neighbours import packed, starts_of
from originset.models.network import is_address
from originset.models.parameters import Parameters
from originset.models.texts import distinct, ranked
from originset.models.uses import Ints

# The other columns are those of originset.models.proposals.
_FROM_HERE = ("site", "name", "certificate_id", "rank", "level", "same_owner", "connections_saved_paper")


def own_certificates(documents: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """The certificate that most visits of each group saw on the document's connection, and the least id of a tie."""
    known = documents.filter(pl.col("certificate_id").is_not_null())
    least, last = pl.col("certificate_id").min(), pl.col("certificate_id").max()
    # Nearly always they all saw one, which takes no counting.
    seen = known.group_by(by).agg(least, (least < last).alias("several")).collect()
    several = seen.filter("several").lazy()
    counted = known.join(several, on=by, how="semi").group_by(*by, "certificate_id").agg(pl.len())
    order = pl.struct(-pl.col("len").cast(pl.Int64), "certificate_id")
    most = counted.group_by(by).agg(pl.col("certificate_id").sort_by(order).first())
    return pl.concat([seen.lazy().filter(~pl.col("several")).drop("several"), most])


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
    rows, of_name = _by_name(colocated)
    own = own_certificates(documents.filter("secure"), ["site"]).collect()
    names = _named(rows, starts_of(of_name)).join(own, on="site", maintain_order="left")
    asked = names.select("certificate_id", pl.col("name").alias("host"))
    missing = names.filter(~covered(tables, asked, wildcards=parameters.wildcards == "cover"))
    found = missing.hstack(_best(tables, evidence, rows, of_name, missing["number"].to_numpy()))
    sites, site = ranked(found["site"])
    texts, text = ranked(found["name"])
    # By what each saves, then by how often it is asked for.
    order = ["connections_saved_paper", "visits", "requests"]
    found = found.with_columns(pl.Series("site", site), pl.Series("name", text)).sort(
        "site", *order, "name", descending=[False, True, True, True, False], nulls_last=True
    )
    starts = starts_of(found["site"].to_numpy())
    first = np.repeat(starts, np.diff(np.append(starts, found.height)))
    return found.with_columns(
        sites.gather(found["site"]).alias("site"),
        texts.gather(found["name"]).alias("name"),
        pl.Series("rank", np.arange(found.height) - first + 1),
    ).select(
        pl.col(name).cast(kind) if name in _FROM_HERE else pl.lit(None, kind).alias(name)
        for name, kind in CERTIFICATE_ADDITIONS.polars_schema.items()
    )


def _by_name(colocated: pl.LazyFrame) -> tuple[pl.DataFrame, Ints]:
    """Rows of ``colocated`` by site and host (as ``name``), and of each a number that is that of its site and host."""
    rows = colocated.select("site", "server", pl.col("host").alias("name"), "requests", "connections").collect()
    rows = rows.drop_nulls(["site", "server", "name"])
    both = packed(pl.col("site").to_physical(), pl.col("name").to_physical())
    number = rows.select(both).to_series().to_numpy()
    order = np.argsort(number, kind="stable")
    number = number[order]
    return rows[order], np.cumsum(np.diff(number, prepend=number[:1]) > 0)


def _named(rows: pl.DataFrame, starts: Ints) -> pl.DataFrame:
    """Of each site and host, whose first rows are ``starts``, what its visits come to; without addresses."""
    known = rows["connections"].is_not_null().to_numpy()
    saved = np.add.reduceat(rows["connections"].fill_null(0).to_numpy(), starts)
    hosts, host = distinct(rows["name"].gather(starts))
    address = hosts.to_frame("host").select(is_address(pl.col("host"))).to_series().to_numpy()
    return (
        rows.select("site", "name")[starts]
        .with_row_index("number")
        .with_columns(
            pl.Series("connections_saved_paper", saved).set(pl.Series(~np.logical_or.reduceat(known, starts)), None),
            pl.Series("visits", np.diff(np.append(starts, rows.height))),
            pl.Series("requests", np.add.reduceat(rows["requests"].to_numpy(), starts)),
        )
        .filter(~address[host])
    )


def _best(
    tables: Mapping[str, pl.LazyFrame], evidence: pl.LazyFrame, rows: pl.DataFrame, of_name: Ints, numbers: Ints
) -> pl.DataFrame:
    """``level`` and ``same_owner`` of some names by their numbers: the best that ``rows`` with them have."""
    asked = np.zeros(int(of_name.max(initial=-1)) + 1, np.bool_)
    asked[numbers] = True
    some = np.flatnonzero(asked[of_name])
    pairs = rows[some].lazy().select("server", pl.col("name").alias("host"))
    found = levels(tables, evidence, pairs).select("level", pl.col("same_owner").cast(pl.Int8).fill_null(-1)).collect()
    starts = starts_of(of_name[some])
    owner = pl.Series("same_owner", np.maximum.reduceat(found["same_owner"].to_numpy(), starts))
    return pl.DataFrame(
        {
            "level": np.maximum.reduceat(found["level"].to_numpy(), starts),
            "same_owner": owner.replace(-1, None).cast(pl.Boolean),
        }
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
    ids = certificates["certificate_id"].drop_nulls()
    ids = ids.filter(pl.Series(with_names(tables, ids)))
    return pl.DataFrame({"certificate_id": ids, "existing_names": how_many(tables, ids)})
