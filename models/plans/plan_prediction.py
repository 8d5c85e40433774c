"""What each browser needs for a site's pages before and after a plan.json."""

from __future__ import annotations

import polars as pl

from originset.data.errors import UsageError
from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.browsers.tables import TODAY
from originset.models.plans.origin_plan import Plan
from originset.models.plans.planned_connections import ANNOUNCED, PLANNED, planned_connections

PREDICTION = pl.Schema(
    {
        "browser": pl.String(),
        "model": pl.String(),
        **dict.fromkeys(("pages", "tls_low", "tls_high", "dns", "handshake_bytes", "round_trips"), pl.Int64()),
        **dict.fromkeys(("dns_pages", "handshake_pages"), pl.Int64()),
    }
)

_MODELS = (TODAY, ANNOUNCED, PLANNED)
_KNOWN = {"dns": "dns_pages", "handshake_bytes": "handshake_pages", "round_trips": "handshake_pages"}


def plan_prediction(study: Study, plan: Plan) -> pl.DataFrame:
    """Rows of PREDICTION: for each browser and model (today, announced, planned) sums over the site's pages.

    ``dns``, ``handshake_bytes`` and ``round_trips`` are of those ``dns_pages`` and ``handshake_pages`` where they are
    known under all three.

    Raises:
        StudyError: there is no study, or one that is damaged.
        UsageError: it has no visits of the site.
    """
    study.manifest()
    tables = {name: scan(study, name) for name, table in TABLES.items() if table.stage in (Stage.ROWS, Stage.RESOLVED)}
    pages = planned_connections(tables, plan).pages
    if pages.is_empty():
        raise UsageError(f"study {study.root} has no visit of {plan.site}, which the plan is for")
    whole = ["visit_id", "browser"]
    shaken = pl.col("handshake_bytes").is_not_null() & pl.col("round_trips").is_not_null()
    known = pages.with_columns(
        pl.col("dns").is_not_null().all().over(whole).alias("dns_pages"),
        shaken.all().over(whole).alias("handshake_pages"),
    )
    return (
        known.group_by("browser", "model")
        .agg(
            pl.len().alias("pages"),
            pl.col("tls_low", "tls_high").sum(),
            *(pl.col(name).filter(pl.col(where)).sum() for name, where in _KNOWN.items()),
            *(pl.col(where).sum() for where in dict.fromkeys(_KNOWN.values())),
        )
        # Nothing is known of a sum over no page.
        .with_columns(pl.when(pl.col(where) > 0).then(name).alias(name) for name, where in _KNOWN.items())
        .sort("browser", pl.col("model").replace_strict(_MODELS, range(len(_MODELS)), return_dtype=pl.Int8))
    )
