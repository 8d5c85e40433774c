"""What an experiment's browsers and servers were seen to do, judged by what was predicted of it."""

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

# How far the control may move, in percent, and the servers' logs be from the pages' counts, in percentage points.
_STILL_PCT = 5.0
_AGREES_POINTS = 5.0

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
    """Predictions beside observations, as CHECKS; ``holds`` is NULL where nothing is judged by it.

    ``predicted``: one browser's rows of :func:`originset.models.experiments.experiment_design.predictions`. ``loads``:
    phase, group, new_connections, load_ms of each page load. ``logged``: new connections of each group in the servers'
    logs while the change was in force.
    """
    found = loads.group_by("phase", "group").agg(
        pl.col("new_connections").mean(), pl.col("load_ms").median(), pl.col("new_connections").sum().alias("total")
    )
    of = {(row["phase"], row["group"]): row for row in found.iter_rows(named=True)}
    mean = {key: row["new_connections"] for key, row in of.items()}
    said = {row["what"]: (row["predicted"], row["low"], row["high"]) for row in predicted.iter_rows(named=True)}
    rows: list[_Check] = []
    for group in GROUPS:
        for phase in PHASES:
            what = f"{group}, {phase}"
            rows.append((what, "new connections per page", *said[what], mean[phase, group], None))
    active = _change(mean[DURING, "experiment"], mean[DURING, "control"])
    for what, observed in (
        (AGAINST_CONTROL, active),
        (AGAINST_BEFORE, _change(mean[DURING, "experiment"], mean[BEFORE, "experiment"])),
    ):
        rows.append(_judged(what, "%", said[what], observed))
    still = _change(mean[DURING, "control"], mean[BEFORE, "control"])
    rows.append(_judged("control, during against before", "%", (0.0, -_STILL_PCT, _STILL_PCT), still))
    by_log = _change(logged["experiment"], logged["control"])
    within = (active, active - _AGREES_POINTS, active + _AGREES_POINTS)
    rows.append(_judged("servers' log, experiment against control, during", "%", within, by_log))
    first, last = (of[phase, "experiment"]["total"] for phase in (BEFORE, AFTER))
    rows.append(_judged("rolled back: experiment, after", "new connections", (first, first, first), last))
    rows += [
        (f"{group}, {phase}, median", "ms to load", None, None, None, of[phase, group]["load_ms"], None)
        for group in GROUPS
        for phase in PHASES
    ]
    return pl.DataFrame(rows, schema=CHECKS, orient="row")


def _judged(what: str, unit: str, said: tuple[float, float, float], observed: float) -> _Check:
    predicted, low, high = said
    return what, unit, predicted, low, high, observed, low - 1e-9 <= observed <= high + 1e-9


def _change(over: float, under: float) -> float:
    return 100 * (over / under - 1)
