"""``originset experiment run``: the paper's live experiment in the testbed, with a prediction for each observation."""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click
import polars as pl

from originset.cli.common.command_namespace import enter_namespace
from originset.cli.common.command_tree import Command
from originset.cli.common.files import make_folder, write_text
from originset.cli.common.output import format_option, note, progress, write_rows
from originset.cli.experiment.experiment_options import out_folder_option
from originset.cli.experiment.log import draw_into
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.experiment_phase import Phase, run_phase
from originset.data.errors import UsageError
from originset.data.scenario.toml_text import toml_text
from originset.models.experiments.experiment_checks import experiment_checks
from originset.models.experiments.experiment_design import (
    DURING,
    GROUPS,
    PHASES,
    SHARED,
    Mode,
    Site,
    predictions,
    random_sites,
    scenario,
)
from originset.queries.csv_text import csv_text
from originset.queries.evaluation import CONTROL, EXPERIMENT
from originset.queries.experiment_periods import over_time, periods_of
from originset.queries.figures import authors, experiment_figures
from originset.queries.operator_log import Periods, Window

#: Chromium takes no notice of ORIGIN frames over HTTP/2.
BROWSERS: dict[Mode, Literal["chromium", "firefox"]] = {"ip": "chromium", "origin": "firefox"}

_CHANGES: dict[Mode, str] = {"ip": "one address for all hosts", "origin": "ORIGIN frames sent"}
_TYPES = {"control": CONTROL, "experiment": EXPERIMENT}
_FIGURE_9B = experiment_figures.FIGURES[-1]

_MOST_PERIODS = 8
_MOST_SITES = 5000  # the testbed has no names for more


@click.command(cls=Command)
@click.option(
    "--sites",
    type=click.IntRange(2, _MOST_SITES),
    required=True,
    metavar="N",
    help="Number of sites in each group.",
)
@click.option(
    "--mode",
    type=click.Choice(("ip", "origin")),
    default="origin",
    show_default=True,
    help="The change. ip: one IP address for all hosts, in Chromium. origin: ORIGIN frames, in Firefox.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=8336,
    show_default=True,
    help="The seed of the random choice of pages.",
)
@out_folder_option
@format_option
def command(*, sites: int, mode: Mode, seed: int, out: Path, output_format: str) -> None:
    """Repeat the paper's live experiment in the testbed.

    All sites use one shared host. Certificates of the experiment group name it; those of the control group have an
    unused name of the same length. 36 % of pages request something from the shared host without credentials. What the
    browser's rules predict is written first; then every page is loaded before the change, during it, and after it was
    taken back.

    A row is a prediction and what was observed. Exit codes: 0 all predictions that are judged hold, 1 one does not.

    Example: originset experiment run --sites 10 --mode origin --out rehearsal
    """
    enter_namespace()
    checks = run_experiment(sites, mode, seed, out)
    write_rows(checks, output_format)
    note(f"figures, loads.csv, log.jsonl and numbers.csv are in {out}")
    if checks.filter(~pl.col("holds")).height:
        note("not all is as predicted")
        sys.exit(1)


def run_experiment(sites: int, mode: Mode, seed: int, out: Path) -> pl.DataFrame:
    """Run the experiment; returns predictions and observations as CHECKS. ``holds`` is NULL if a row is not a check.

    Writes into ``out``: predictions.csv and the scenarios before a browser starts; then loads.csv, log.jsonl (a line
    for each request, as ``experiment log`` reads it), checks.csv, figures and numbers.csv. Pages that did not
    load in each phase are left out of all, and said so. Called inside a namespace of the testbed.

    Raises:
        UsageError: ``out`` cannot be written, or too few pages loaded.
        BrowserError: the browser was lost.
    """
    chosen = random_sites(sites, seed)
    predicted = predictions(sites, mode, seed).filter(browser=BROWSERS[mode])
    texts = {phase: toml_text(scenario(chosen, mode, changed=phase == DURING)) for phase in PHASES}
    make_folder(out)
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
    kept = _complete_pages(loads)
    passive = _passive_periods(out / "log.jsonl", phases[DURING], sites)
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
    in_force = passive.rows.filter(pl.col("Time").is_between(*passive.window))
    logged = {"control": int(in_force[CONTROL].sum()), "experiment": int(in_force[EXPERIMENT].sum())}
    checks = experiment_checks(predicted, kept, logged)
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


def _complete_pages(loads: pl.DataFrame) -> pl.DataFrame:
    """The pages that loaded in every phase."""
    kept = loads.filter((pl.col("status") == "ok").all().over("site"))
    if lost := loads["site"].n_unique() - kept["site"].n_unique():
        note(f"{lost} sites are left out: their pages did not load in every phase")
    if kept["group"].n_unique() < len(GROUPS):
        raise UsageError("no page of a group loaded in every phase", "look at loads.csv")
    return kept


def _passive_periods(log: Path, during: Phase, sites: int) -> Periods:
    """The phase with the change, divided into as many periods as possible that all have a connection of the control."""
    start, end = (datetime.fromtimestamp(time, UTC) for time in (during.began, during.ended))
    for periods in range(max(1, min(_MOST_PERIODS, sites // 2)), 1, -1):
        with contextlib.suppress(UsageError):
            return _in_periods(log, start, end, periods)
    return _in_periods(log, start, end, 1)


def _in_periods(log: Path, start: datetime, end: datetime, periods: int) -> Periods:
    every = (end - start) // periods
    window = Window(start, start + periods * every)
    return periods_of(log, window, host=SHARED, every_s=every.total_seconds())
