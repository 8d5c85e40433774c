"""What is added to the paper's additions and sets: what browsers save, who can validate a name, what speaks against."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.schema import CERTIFICATE_ADDITIONS, ORIGIN_SETS
from originset.models.browsers.savings import SAVINGS, totals
from originset.models.evidence import SAME_EDGE
from originset.models.origins import why_no_name

# Most names are nothing but labels of letters, digits and inner hyphens, and certainly are host names.
_PLAIN = r"^(?:[a-z0-9](?:[a-z0-9]|-[a-z0-9]){0,30}\.){1,3}[a-z]{2,63}$"


def proposals(
    tables: Mapping[str, pl.LazyFrame], additions: pl.DataFrame, misdirected: pl.DataFrame, saved: pl.DataFrame | None
) -> pl.DataFrame:
    """Rows of ``certificate_additions`` with all its columns.

    ``misdirected``: column host. ``saved``: of :func:`originset.models.browsers.savings.saved_connections`, for parts
    of the study; None where browsers were left out.
    """
    elsewhere = tables["hosts"].filter("multi_cdn").select("host").collect()["host"].implode()
    names = additions.select(pl.col("name").unique())
    unfit = [name for name in names.filter(~pl.col("name").str.contains(_PLAIN))["name"] if why_no_name(name)]
    blocked = (
        pl.when(pl.col("name").is_in(misdirected["host"].implode()))
        .then(pl.lit("misdirected"))
        .when(pl.col("name").is_in(unfit))
        .then(pl.lit("not_a_name"))
        .when(pl.col("name").is_in(elsewhere))
        .then(pl.lit("multi_cdn"))
    )
    validatable = (
        pl.when("same_owner")
        .then(pl.lit("site"))
        .when(pl.col("level") >= SAME_EDGE)
        .then(pl.lit("provider"))
        .otherwise(pl.lit("nobody_known"))
    )
    by = ["site", "name"]
    return (
        additions.drop(*SAVINGS, strict=False)
        .join(_totals(saved, {"host": "name"}, by), on=by, how="left", maintain_order="left")
        .with_columns(validatable.alias("validatable_by"), blocked.alias("blocked_reason"))
        .select(pl.col(name).cast(kind) for name, kind in CERTIFICATE_ADDITIONS.polars_schema.items())
    )


def announcements(sets: pl.DataFrame, saved: pl.DataFrame | None) -> pl.DataFrame:
    """Rows of ``origin_sets`` with all its columns, texts as categories; ``saved`` as for :func:`proposals`."""
    by, name = ["site", "server", "host"], "connections_saved_firefox"
    known = _totals(saved, {}, by).cast(dict.fromkeys(by, pl.Categorical))
    covered = pl.col("covered_by_certificate")
    given = saved is not None
    worth = (
        # Its own connection is what the others save theirs for.
        pl.when((pl.col("host") == pl.col("server")) & given)
        .then(0)
        # What the certificate does not cover, a client leaves out of the set (RFC 8336 section 2.4).
        .when(~covered & given)
        .then(0)
        .when(covered)
        .then(name)
    )
    return (
        sets.drop(name, strict=False)
        .cast(dict.fromkeys(by, pl.Categorical))
        .join(known.select(*by, name), on=by, how="left", maintain_order="left")
        .with_columns(worth.alias(name))
        .cast({column: kind for column, kind in ORIGIN_SETS.polars_schema.items() if column not in by})
        .select(ORIGIN_SETS.polars_schema.names())
    )


def _totals(saved: pl.DataFrame | None, names: dict[str, str], by: list[str]) -> pl.DataFrame:
    if saved is None:
        return pl.DataFrame(schema=dict.fromkeys(by, pl.String) | dict.fromkeys(SAVINGS, pl.Int64))
    return totals(saved.rename(names), by)
