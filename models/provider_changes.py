"""The names that a provider would best add to all its sites' certificates: the paper's three or four hostnames."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import polars as pl

from originset.data.schema import PROVIDER_CHANGES
from originset.models.browsers.savings import SAVINGS, totals
from originset.models.coverage import covered
from originset.models.network import is_address
from originset.models.parameters import Parameters
from originset.models.site_certificates import own_certificates

NAMES = 10

# Rows of connections of which it is looked up together what they lack.
_TOGETHER = 750_000

# Up to this many candidates every set of names is tried where the bound does not settle what is best: 2**12 sets.
TRIED = 12


def carried(here: pl.DataFrame) -> pl.DataFrame:
    """Connections beside the document's to servers with its key, by the hosts that they carried.

    ``here``: rows of :func:`originset.models.colocated.at_documents`. Columns: site, key and asn (the document's),
    hosts (list, sorted), connections. Only where the recorder gives connection ids; without connections that carried
    something for a bare address, since no name can be added for it.
    """
    return (
        here.lazy()
        .filter(pl.col("connection_id").is_not_null())
        .filter(pl.col("connection_id").ne_missing(pl.col("document_connection")))
        .select("page", "connection_id", "key", "site", pl.col("of_site").alias("asn"), "host")
        .unique(["page", "connection_id", "key", "host"])
        .with_columns(pl.col("host").cast(pl.String))
        .group_by("page", "connection_id", "key")
        .agg(pl.col("site", "asn").first(), pl.col("host").sort().alias("hosts"), is_address(pl.col("host")).any())
        .filter(~pl.col("host"))
        .group_by("site", "key", "asn", "hosts")
        .agg(pl.len().cast(pl.Int64).alias("connections"))
        .collect()
    )


def provider_changes(
    tables: Mapping[str, pl.LazyFrame],
    documents: pl.LazyFrame,
    connections: pl.DataFrame,
    additions: pl.DataFrame,
    parameters: Parameters,
) -> pl.DataFrame:
    """Rows of ``provider_changes``: for each provider (AS, or other key) up to 10 names, the most effective first.

    ``documents``: rows of :func:`originset.models.documents.documents`; ``connections``: of :func:`carried`; sites and
    keys as categories in both. ``additions``: of ``certificate_additions``, for what browsers save.

    A connection goes away when the site's certificate covers every host that it carried; so two names may save more
    together than each alone, and no order of names is best at every length. Names are taken greedily: each connection's
    worth is shared out among the names that it still lacks, and the name with the largest sum is next. The same shares
    bound what any set of as many names can save: no set saves more than the largest shares together
    (``connections_saved_at_most``). Where every connection carried one host, which is nearly always, both are equal and
    the order is proved best; elsewhere all sets are tried for providers with no more than 12 candidate names.
    """
    empty = PROVIDER_CHANGES.polars_schema.to_frame()
    if parameters.coverage == "ignored" or connections.is_empty():
        return empty
    lacking = _lacking(tables, documents, connections, parameters)
    if lacking.is_empty():
        return empty
    ranked = _greedy(lacking).join(_bounds(lacking), on=["provider", "rank"])
    ranked = _settle(ranked, lacking)
    lacked = lacking.select("provider", "site", pl.col("names").alias("name")).explode("name").unique()
    sites = lacked.group_by("provider", "name").agg(pl.len().alias("sites"))
    saving = additions.select(pl.col("site").cast(pl.Categorical), "name", *SAVINGS)
    saved = totals(lacked.join(saving, on=["site", "name"], how="left"), ["provider", "name"])
    names = (
        tables["addresses"].select("asn", "as_name").drop_nulls().group_by("asn").agg(pl.col("as_name").min()).collect()
    )
    whole = lacking.group_by("provider", "key", "asn").agg(pl.col("connections").sum())
    return (
        ranked.join(sites, on=["provider", "name"])
        .join(saved, on=["provider", "name"])
        .join(whole, on="provider")
        .join(names, on="asn", how="left")
        .with_columns(pl.coalesce("as_name", pl.format("AS{}", "asn"), pl.col("key").cast(pl.String)).alias("provider"))
        .sort("provider", "asn", "rank", "name", "key")
        .select(pl.col(name).cast(kind) for name, kind in PROVIDER_CHANGES.polars_schema.items())
    )


def _lacking(
    tables: Mapping[str, pl.LazyFrame], documents: pl.LazyFrame, connections: pl.DataFrame, parameters: Parameters
) -> pl.DataFrame:
    """``site``, ``key``, ``asn``, ``provider`` (number), ``names`` that connections lack (sorted), ``connections``."""
    certificates = own_certificates(documents.filter("secure"), ["site"]).collect()
    wildcards = parameters.wildcards == "cover"
    lacking = pl.concat(
        _lacked(tables, some.join(certificates, on="site"), wildcards=wildcards)
        for some in connections.iter_slices(_TOGETHER)
    )
    lacking = lacking.group_by("site", "key", "names").agg(pl.col("connections").sum())
    one = pl.when(pl.col("asn").drop_nulls().n_unique() == 1).then(pl.col("asn").min())
    known = connections.select("site", "key", "asn").join(certificates, on="site", how="semi")
    providers = known.group_by("key").agg(one.alias("asn")).sort("key").with_row_index("provider")
    return lacking.join(providers, on="key")


def _lacked(tables: Mapping[str, pl.LazyFrame], rows: pl.DataFrame, *, wildcards: bool) -> pl.DataFrame:
    """``site``, ``key``, ``names`` and ``connections`` of those of ``rows`` that lack some."""
    rows = rows.with_row_index("row")
    each = rows.select("row", "certificate_id", pl.col("hosts").alias("host")).explode("host").drop_nulls("host")
    known = covered(tables, each, wildcards=wildcards)
    # Where the certificate's names are not known, nobody knows what it lacks.
    missing = (
        each.with_columns(known)
        .group_by("row")
        .agg(
            pl.col("host").filter(~pl.col("covered")).sort().alias("names"),
            pl.col("covered").is_null().any().alias("unknown"),
        )
        .filter(~pl.col("unknown"), pl.col("names").list.len() > 0)
    )
    return rows.select("row", "site", "key", "connections").join(missing.drop("unknown"), on="row").drop("row")


def _sets(lacking: pl.DataFrame) -> pl.DataFrame:
    """Each distinct set of a provider with the connections that lack just these names, one row a name."""
    return (
        lacking.group_by("provider", "names")
        .agg(pl.col("connections").sum())
        .with_row_index("set")
        .with_columns(pl.col("names").list.len().alias("left"))
        .rename({"names": "name"})
        .explode("name")
    )


def _shares(sets: pl.DataFrame) -> pl.DataFrame:
    share = pl.col("connections") / pl.col("left")
    return sets.group_by("provider", "name").agg(share.sort().sum().round(9).alias("share"))


def _greedy(lacking: pl.DataFrame) -> pl.DataFrame:
    """``provider``, ``rank``, ``name``, ``connections_saved_paper``: more than with the names before it."""
    sets, steps = _sets(lacking), []
    for rank in range(1, NAMES + 1):
        if sets.is_empty():
            break
        worth = pl.struct(-pl.col("share"), "name")
        chosen = _shares(sets).group_by("provider").agg(pl.col("name").sort_by(worth).first())
        hit = sets.join(chosen, on=["provider", "name"], how="semi").select("set", pl.lit(value=True).alias("hit"))
        saved = (
            sets.join(hit, on="set").filter(pl.col("left") == 1).group_by("provider").agg(pl.col("connections").sum())
        )
        steps.append(
            chosen.join(saved, on="provider", how="left").select(
                "provider",
                pl.lit(rank).alias("rank"),
                "name",
                pl.col("connections").fill_null(0).alias("connections_saved_paper"),
            )
        )
        sets = (
            sets.join(chosen, on=["provider", "name"], how="anti")
            .join(hit, on="set", how="left")
            .with_columns((pl.col("left") - pl.col("hit").fill_null(value=False).cast(pl.UInt32)).alias("left"))
            .drop("hit")
        )
    return pl.concat(steps)


def _bounds(lacking: pl.DataFrame) -> pl.DataFrame:
    """What no set of ``rank`` names can save more than, by the shares."""
    largest = _shares(_sets(lacking)).sort("provider", "share", descending=[False, True])
    return largest.select(
        "provider",
        pl.int_range(1, pl.len() + 1).over("provider").cast(pl.Int32).alias("rank"),
        (pl.col("share").cum_sum().over("provider") + 1e-6).floor().cast(pl.Int64).alias("connections_saved_at_most"),
    )


def _settle(ranked: pl.DataFrame, lacking: pl.DataFrame) -> pl.DataFrame:
    """The bounds of small providers that greedy names do not reach, replaced by what the best set saves."""
    reached = pl.col("connections_saved_paper").cum_sum().over("provider", order_by="rank")
    unsettled = ranked.with_columns(reached.alias("reached")).filter(
        pl.col("reached") < pl.col("connections_saved_at_most")
    )
    sets = _sets(lacking).filter(pl.col("provider").is_in(unsettled["provider"].unique().implode()))
    exact = [
        (provider, rank, best)
        for (provider,), rows in sets.group_by("provider", maintain_order=True)
        if rows["name"].n_unique() <= TRIED
        for rank, best in enumerate(best_sets(rows), 1)
    ]
    tried = pl.DataFrame(exact, schema={"provider": pl.UInt32, "rank": pl.Int32, "best": pl.Int64}, orient="row")
    return (
        ranked.join(tried, on=["provider", "rank"], how="left")
        .with_columns(pl.coalesce("best", "connections_saved_at_most").alias("connections_saved_at_most"))
        .drop("best")
    )


def best_sets(sets: pl.DataFrame) -> list[int]:
    """What the best set of 1, 2, ... names saves, by trying all of them; ``sets``: columns set, name, connections."""
    names = sets["name"].unique().sort().to_list()
    masks = sets.group_by("set").agg(
        pl.col("name")
        .replace_strict(names, [1 << i for i in range(len(names))], return_dtype=pl.Int64)
        .sum()
        .alias("mask"),
        pl.col("connections").first(),
    )
    needed, connections = masks["mask"].to_numpy(), masks["connections"].to_numpy()
    return [
        max(
            int(connections[(needed & ~np.int64(sum(1 << i for i in chosen))) == 0].sum())
            for chosen in combinations(range(len(names)), size)
        )
        for size in range(1, min(NAMES, len(names)) + 1)
    ]
