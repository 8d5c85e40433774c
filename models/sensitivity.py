"""How much each open choice of the models matters: everything again with one of them changed at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

import polars as pl

from originset.data.schema import MODEL_SENSITIVITY
from originset.models import parameters as choices
from originset.models.fill import model_tables
from originset.models.parameters import Parameters

_CHOICES: dict[str, tuple[str, ...]] = {
    "colocation": get_args(choices.Colocation),
    "wildcards": get_args(choices.Wildcards),
    "coverage": get_args(choices.Coverage),
    "predecessor": get_args(choices.Predecessor),
    "parallel_dns": get_args(choices.ParallelDns),
    "blocked_time": get_args(choices.BlockedTime),
    "ssl": get_args(choices.Ssl),
}


def model_sensitivity(
    tables: Mapping[str, pl.LazyFrame], modelled: Mapping[str, pl.DataFrame], parameters: Parameters
) -> pl.DataFrame:
    """Rows of ``model_sensitivity``: every value of every choice, the others as in ``parameters``.

    ``modelled``: the tables that ``parameters`` give. The models run once more for every other value.
    """
    return pl.DataFrame(list(_rows(tables, modelled, parameters)), schema=MODEL_SENSITIVITY.polars_schema)


def _rows(
    tables: Mapping[str, pl.LazyFrame], modelled: Mapping[str, pl.DataFrame], parameters: Parameters
) -> Iterator[dict[str, Any]]:
    chosen = results_of(tables, modelled)
    for name, values in _CHOICES.items():
        for value in values:
            as_chosen = value == getattr(parameters, name)
            changed = {name: value}
            others = replace(parameters, **changed)  # type: ignore[arg-type]  # names and values stand above
            results = chosen if as_chosen else results_of(tables, model_tables(tables, others, browsers=False))
            yield {"parameter": name, "value": value, "chosen": as_chosen, **results}


def results_of(tables: Mapping[str, pl.LazyFrame], modelled: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """What a row of ``model_sensitivity`` says of model tables."""
    loaded = tables["visits"].filter(pl.col("status").ne_missing("failed")).select("visit_id").collect()
    counts = modelled["page_counts"].join(loaded, on="visit_id", how="semi")
    rungs = ("measured_tls", "paired_ideal_origin", "paired_ideal_deployable")
    pages = counts.select(pl.col(rungs).cast(pl.Int64)).drop_nulls()
    sites = modelled["site_certificates"]["additions"].drop_nulls().cast(pl.Int64)
    loads = modelled["page_load_times"].select("measured_ms", "origin_ms").drop_nulls()
    return {
        "pages": pages.height,
        "median_measured_tls": pages["measured_tls"].median(),
        "median_ideal_origin": pages["paired_ideal_origin"].median(),
        "connections_saved": (pages["measured_tls"] - pages["paired_ideal_origin"]).sum(),
        "connections_saved_deployable": (pages["measured_tls"] - pages["paired_ideal_deployable"]).sum(),
        "sites_unchanged_pct": None if sites.is_empty() else 100.0 * sites.eq(0).to_numpy().mean(),
        "additions": sites.sum(),
        "timelines": loads.height,
        "median_load_ms": loads["measured_ms"].median(),
        "median_origin_ms": loads["origin_ms"].median(),
        # Sums of floating-point numbers depend on their order.
        "load_saved_ms": (loads["measured_ms"] - loads["origin_ms"]).sort().sum(),
    }
