"""A provider's plan: the names that a provider would best add to all its sites' certificates."""

from __future__ import annotations

import polars as pl

from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.models.plans.exclusions import Exclusions
from originset.models.plans.origin_plan import SAVED

_ROWS = """
    SELECT * FROM provider_changes WHERE lower(provider) = lower($1)
    ORDER BY connections_saved_paper DESC, asn, rank"""
_NEAR = """
    SELECT provider FROM provider_changes GROUP BY provider
    ORDER BY contains(lower(provider), lower($1)) DESC, jaro_winkler_similarity(lower(provider), lower($1)) DESC,
        provider
    LIMIT 3"""


def provider_plan(study: Study, provider: str, excluded: Exclusions) -> pl.DataFrame:
    """Rows of ``provider_changes``, the most effective name first.

    Raises:
        StudyError: there is no study, or no database yet.
        UsageError: no site of the provider lacks a name.
    """
    with open_database(study) as connection:
        found = pl.DataFrame(connection.sql(_ROWS, params=[provider]).to_arrow_table())
        near = [row[0] for row in connection.execute(_NEAR, [provider]).fetchall()]
    if found.is_empty():
        advice = f"there are: {', '.join(near)}" if near else "no provider's sites lack a name"
        raise UsageError(f"study {study.root} has no names to add for provider {provider!r}", advice)
    return found.filter([name not in excluded for name in found["name"]])


def with_savings(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``provider_changes`` that save a connection in some browser, or of which that is not known."""
    return rows.filter(~pl.all_horizontal(pl.col(SAVED).eq_missing(0)))
