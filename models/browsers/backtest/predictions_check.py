"""What the rules of the browser that was recorded predict without what shared a connection, against what it did."""

from __future__ import annotations

import polars as pl

from originset.data.reference.browser_rules import BrowserRules, rule_sets
from originset.data.schema.study_tables import PREDICTIONS_CHECK
from originset.models.browsers.backtest.error_causes import missing_causes, surplus_causes
from originset.models.browsers.backtest.fact_predictions import FactPrediction
from originset.models.browsers.backtest.recorded_facts import checked_requests
from originset.models.browsers.batch import Part

_ORIGIN = ["visit_id", "host", "port", "protocol"]
_ROW = ["visit_id", "protocol"]

_COLUMNS = pl.Schema({**PREDICTIONS_CHECK.polars_schema, "visit_id": pl.UInt32()})

#: What a protocol is called that the recording does not say.
UNKNOWN_PROTOCOL = "unknown"


def predictions_check(part: Part, groups: pl.DataFrame, found: pl.DataFrame, redundant: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``predictions_check``, in any order; visits are numbers.

    ``groups`` and ``found``: all groups of :func:`originset.models.browsers.backtest.recorded_facts.without_sharing`,
    and their pairs. ``redundant``: visit_id, connection_id and cause of redundant connections.

    Recorded connections belong to the host and protocol of the first request that they carried. A page whose
    connections are not known has no row, nor has one of a browser whose rules are not known.
    """
    recorded = recorded_connections(part)
    made_by = _visits_by_rules(part)
    checked = (
        _checked_visits(part, FactPrediction.by(rules, groups, found), own, redundant, recorded)
        for rules, own in made_by.items()
    )
    return pl.concat([_COLUMNS.to_frame(), *(rows.cast(_COLUMNS) for rows in checked)])


def recorded_connections(part: Part) -> pl.DataFrame:
    """The TLS connections that carried :func:`checked_requests`: visit_id, connection_id, host, port and protocol."""
    carried = checked_requests(part).filter("secure").select("visit_id", "connection_id", "host", "port", "protocol")
    return carried.unique(["visit_id", "connection_id"], keep="first", maintain_order=True)


def _checked_visits(
    part: Part, prediction: FactPrediction, own: pl.DataFrame, redundant: pl.DataFrame, recorded: pl.DataFrame
) -> pl.DataFrame:
    """Rows of the visits of ``own``, whose browsers have the prediction's rules."""
    used = recorded.join(own, on="visit_id", how="semi")
    by_host = _by_host(prediction.opens.join(own, on="visit_id", how="semi"), used)
    rows = (
        by_host.group_by(_ROW)
        .agg(pl.col("low", "likely", "high", "recorded").sum())
        .with_columns(
            pl.when(pl.col("recorded") > pl.col("high"))
            .then(pl.col("recorded") - pl.col("high"))
            .when(pl.col("recorded") < pl.col("low"))
            .then(pl.col("recorded") - pl.col("low"))
            .otherwise(0)
            .alias("error")
        )
    )
    more = surplus_causes(by_host.filter(pl.col("surplus") > 0), used, redundant)
    fewer = missing_causes(part, by_host.filter(pl.col("missing") > 0), used, prediction)
    return (
        rows.join(_most_frequent_cause(more, "more"), on=_ROW, how="left", nulls_equal=True)
        .join(_most_frequent_cause(fewer, "fewer"), on=_ROW, how="left", nulls_equal=True)
        .join(own, on="visit_id")
        .select(
            "visit_id",
            pl.col("protocol").cast(pl.String).fill_null(UNKNOWN_PROTOCOL).alias("protocol"),
            pl.lit(prediction.rules.browser).alias("browser"),
            "rules_version",
            pl.col("low").alias("tls_low"),
            pl.col("likely").alias("tls_likely"),
            pl.col("high").alias("tls_high"),
            "recorded",
            "error",
            pl.when(pl.col("error") > 0).then("more").when(pl.col("error") < 0).then("fewer").alias("error_cause"),
        )
    )


def _visits_by_rules(part: Part) -> dict[BrowserRules, pl.DataFrame]:
    """The visits whose browsers follow the same rules: visit_id, and ``rules_version``, the version observed."""
    visits = part.visits.select("rules", "rules_version", visit_id=pl.int_range(pl.len(), dtype=pl.UInt32))
    known = visits.drop_nulls("rules").partition_by("rules", as_dict=True, include_key=False)
    return {rule_sets()[number]: own for (number,), own in known.items()}


def _by_host(opens: pl.DataFrame, used: pl.DataFrame) -> pl.DataFrame:
    """Of each host, port and protocol of a page: low, likely, high, recorded; ``surplus`` above, ``missing`` below."""
    predicted = opens.group_by(_ORIGIN).agg(pl.col("low", "likely", "high").sum())
    counted = used.group_by(_ORIGIN).agg(pl.len().cast(pl.Int64).alias("recorded"))
    return (
        predicted.join(counted, on=_ORIGIN, how="full", coalesce=True, nulls_equal=True)
        .with_columns(pl.col("low", "likely", "high", "recorded").fill_null(0))
        .with_columns(
            (pl.col("recorded") - pl.col("high")).clip(lower_bound=0).alias("surplus"),
            (pl.col("low") - pl.col("recorded")).clip(lower_bound=0).alias("missing"),
        )
    )


def _most_frequent_cause(causes: pl.DataFrame, name: str) -> pl.DataFrame:
    """Of each page and protocol the cause that most of ``causes`` (visit_id, protocol, cause) have, as ``name``."""
    counted = causes.group_by(*_ROW, "cause").agg(pl.len().alias("times"))
    return counted.sort("times", "cause", descending=[True, False]).group_by(_ROW, maintain_order=True).agg(
        pl.col("cause").first().alias(name)
    )  # fmt: skip
