"""An experiment in the testbed: predicted, run in a real browser, measured by its servers' logs, evaluated."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import polars as pl

from originset.cli.experiment_log import draw_into, over_time, periods_of
from originset.cli.files import write_text
from originset.cli.output import note, progress
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.experiment_phase import Phase, run_phase
from originset.data.errors import UsageError
from originset.data.scenario.toml_text import toml_text
from originset.models.experiments.experiment_design import (
    AFTER,
    AGAINST_BEFORE,
    AGAINST_CONTROL,
    BEFORE,
    DURING,
    GROUPS,
    PHASES,
    SHARED,
    Mode,
    Site,
    drawn,
    predictions,
    scenario,
)
from originset.queries.csv_text import csv_text
from originset.queries.evaluation import CONTROL, EXPERIMENT
from originset.queries.figures import authors, experiment_figures
from originset.queries.operator_log import Periods, Window

#: Chromium takes no notice of ORIGIN frames over HTTP/2.
BROWSERS: dict[Mode, Literal["chromium", "firefox"]] = {"ip": "chromium", "origin": "firefox"}

_CHANGES: dict[Mode, str] = {"ip": "one address for all hosts", "origin": "ORIGIN frames sent"}
_TYPES = {"control": CONTROL, "experiment": EXPERIMENT}
_FIGURE_9B = experiment_figures.FIGURES[-1]

# How far the control may move, in percent, and the servers' logs be from the pages' counts, in percentage points.
_STILL_PCT = 5.0
_AGREES_POINTS = 5.0

_MOST_PERIODS = 8
_MOST_SITES = 5000

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


def run_experiment(sites: int, mode: Mode, seed: int, out: Path) -> pl.DataFrame:
    """Run it; what was predicted and observed, as CHECKS. ``holds`` is NULL where nothing is judged by it.

    Writes into ``out``: predictions.csv and the scenarios before a browser starts; then loads.csv, log.jsonl (a line
    for each request, as ``experiment --from-log`` reads it), checks.csv, figures and numbers.csv. Pages that did not
    load in each phase are left out of all, and said so. Called inside a namespace of the testbed.

    Raises:
        UsageError: ``out`` cannot be written, or too few pages loaded.
        BrowserError: the browser was lost.
    """
    if sites > _MOST_SITES:
        raise UsageError(f"{sites} sites are more than the testbed has names for", f"choose up to {_MOST_SITES}")
    chosen = drawn(sites, seed)
    predicted = predictions(sites, mode, seed).filter(browser=BROWSERS[mode])
    texts = {phase: toml_text(scenario(chosen, mode, changed=phase == DURING)) for phase in PHASES}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{out} cannot be made ({error.strerror})", "name another folder with --out") from error
    write_text(out / "predictions.csv", csv_text(predicted))
    for phase, text in texts.items():
        write_text(out / f"scenario-{phase}.toml", text)
    phases: dict[str, Phase] = {}
    with progress() as display:
        task = display.add_task("pages", total=len(PHASES) * len(chosen))
        for phase, text in texts.items():
            parsed = scenario_file.parse(text, f"scenario-{phase}.toml")
            phases[phase] = run_phase(parsed, SHARED, BROWSERS[mode], out / "testbed", lambda: display.advance(task))
    loads = _loads(chosen, phases)
    write_text(out / "loads.csv", csv_text(loads))
    write_text(out / "log.jsonl", _log(chosen, phases))
    kept = _kept(loads)
    passive = _passive(out / "log.jsonl", phases[DURING], sites)
    during = kept.filter(phase=DURING).with_columns(pl.col("group").replace_strict(_TYPES))
    counts = during.select(Type="group", **{"CDNJS-Not-Coalesced": "new_connections"})
    name, title, theirs = (
        ("figure-7a", "Coalescing by address", authors.figure_7a)
        if mode == "ip"
        else ("figure-7b", "Coalescing by ORIGIN frame", authors.figure_7b)
    )
    draw_into(
        out,
        [
            (experiment_figures.figure_7(name, title, theirs), counts),
            (over_time(passive, _CHANGES[mode]), passive.rows),
            (_FIGURE_9B, during.select(Mode="group", Time="load_ms")),
        ],
    )
    checks = _checks(predicted, kept, passive)
    write_text(out / "checks.csv", csv_text(checks))
    return checks


def _loads(sites: list[Site], phases: dict[str, Phase]) -> pl.DataFrame:
    """phase, site, group, kind, status, new_connections, load_ms: a row for each page load."""
    of = {site.name: site for site in sites}
    rows = [
        (phase, one.site, of[one.site].group, of[one.site].kind, one.status, one.new_connections, one.load_ms)
        for phase, found in phases.items()
        for one in found.loads
    ]
    names = ["phase", "site", "group", "kind", "status", "new_connections"]
    schema = {**dict.fromkeys(names[:-1], pl.String), names[-1]: pl.Int64, "load_ms": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _log(sites: list[Site], phases: dict[str, Phase]) -> str:
    group = {site.name: site.group for site in sites}
    rows = [
        {
            "time": one.time,
            "group": group[one.site],
            "connection": f"{phase}-{one.connection}",
            "host": one.host,
        }
        for phase, found in phases.items()
        for one in found.lines
        if one.site in group
    ]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _kept(loads: pl.DataFrame) -> pl.DataFrame:
    """The pages that loaded in every phase."""
    kept = loads.filter((pl.col("status") == "ok").all().over("site"))
    if lost := loads["site"].n_unique() - kept["site"].n_unique():
        note(f"{lost} sites are left out: their pages did not load in every phase")
    if kept["group"].n_unique() < len(GROUPS):
        raise UsageError("no page of a group loaded in every phase", "look at loads.csv")
    return kept


def _passive(log: Path, during: Phase, sites: int) -> Periods:
    """The phase with the change in as many periods as leave none without a connection of the control."""
    start, end = (datetime.fromtimestamp(time, UTC) for time in (during.began, during.ended))
    for periods in range(max(1, min(_MOST_PERIODS, sites // 2)), 1, -1):
        with contextlib.suppress(UsageError):
            return _in_periods(log, start, end, periods)
    return _in_periods(log, start, end, 1)


def _in_periods(log: Path, start: datetime, end: datetime, periods: int) -> Periods:
    every = (end - start) // periods
    window = Window(start, start + periods * every)
    return periods_of(log, window, host=SHARED, every_s=every.total_seconds())


def _checks(predicted: pl.DataFrame, loads: pl.DataFrame, passive: Periods) -> pl.DataFrame:
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
    inside = passive.rows.filter(pl.col("Time").is_between(*passive.window))
    logged = _change(float(inside[EXPERIMENT].sum()), float(inside[CONTROL].sum()))
    within = (active, active - _AGREES_POINTS, active + _AGREES_POINTS)
    rows.append(_judged("servers' log, experiment against control, during", "%", within, logged))
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
