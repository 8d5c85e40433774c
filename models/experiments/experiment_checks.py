"""The checks of an experiment: what its browsers and servers did, compared with the predictions."""

from __future__ import annotations

import polars as pl

from originset.models.experiments.experiment_design import (
    AFTER,
    AGAINST_BEFORE,
    AGAINST_CONTROL,
    BEFORE,
    DURING,
    GROUPS,
    PHASES,
)

# How much the control may change, in percent, and how much the servers' logs may differ from the pages' counts, in
# percentage points.
_CONTROL_TOLERANCE_PCT = 5.0
_LOG_TOLERANCE_POINTS = 5.0

CHECKS = pl.Schema(
    {
        "number": pl.String(),
        "unit": pl.String(),
        "predicted": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "observed": pl.Float64(),
        "holds": pl.Boolean(),
    }
)
_Check = tuple[str, str, float | None, float | None, float | None, float | None, bool | None]


def experiment_checks(predicted: pl.DataFrame, loads: pl.DataFrame, logged: dict[str, int]) -> pl.DataFrame:
    """Predictions and observations, as CHECKS; ``holds`` is NULL if a row is not a check.

    ``predicted``: one browser's rows of :func:`originset.models.experiments.experiment_design.predictions`. ``loads``:
    phase, group, new_connections, load_ms of each page load. ``logged``: new connections of each group in the servers'
    logs while the change was in force.
    """
    by_phase_and_group = loads.group_by("phase", "group").agg(
        pl.col("new_connections").mean(), pl.col("load_ms").median(), pl.col("new_connections").sum().alias("total")
    )
    observations = {(row["phase"], row["group"]): row for row in by_phase_and_group.iter_rows(named=True)}
    mean = {key: row["new_connections"] for key, row in observations.items()}
    predictions = {row["what"]: (row["predicted"], row["low"], row["high"]) for row in predicted.iter_rows(named=True)}
    rows: list[_Check] = []
    for group in GROUPS:
        for phase in PHASES:
            what = f"{group}, {phase}"
            rows.append((what, "new connections per page", *predictions[what], mean[phase, group], None))
    in_force = _change_pct(mean[DURING, "experiment"], mean[DURING, "control"])
    for what, observed in (
        (AGAINST_CONTROL, in_force),
        (AGAINST_BEFORE, _change_pct(mean[DURING, "experiment"], mean[BEFORE, "experiment"])),
    ):
        rows.append(_check(what, "%", predictions[what], observed))
    control = _change_pct(mean[DURING, "control"], mean[BEFORE, "control"])
    unchanged = (0.0, -_CONTROL_TOLERANCE_PCT, _CONTROL_TOLERANCE_PCT)
    rows.append(_check("control, during against before", "%", unchanged, control))
    by_log = _change_pct(logged["experiment"], logged["control"])
    by_pages = (in_force, in_force - _LOG_TOLERANCE_POINTS, in_force + _LOG_TOLERANCE_POINTS)
    rows.append(_check("servers' log, experiment against control, during", "%", by_pages, by_log))
    first, last = (observations[phase, "experiment"]["total"] for phase in (BEFORE, AFTER))
    rows.append(_check("rolled back: experiment, after", "new connections", (first, first, first), last))
    rows += [
        (f"{group}, {phase}, median", "ms to load", None, None, None, observations[phase, group]["load_ms"], None)
        for group in GROUPS
        for phase in PHASES
    ]
    return pl.DataFrame(rows, schema=CHECKS, orient="row")


def _check(what: str, unit: str, prediction: tuple[float, float, float], observed: float) -> _Check:
    predicted, low, high = prediction
    return what, unit, predicted, low, high, observed, low - 1e-9 <= observed <= high + 1e-9


def _change_pct(over: float, under: float) -> float:
    return 100 * (over / under - 1)
