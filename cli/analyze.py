"""``originset analyze``: captures into tables, names and addresses resolved, the database and its models built."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import polars as pl

from originset.analysis.captures.capture_import import read_captures
from originset.analysis.resolution.name_resolution import resolve
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import FILE
from originset.cli.common.output import note, progress
from originset.cli.common.reference_data import warn_of_age
from originset.cli.modelling.model_batches import batch_options, batches_run, side_by_side
from originset.cli.modelling.rebuild import rebuild
from originset.data.captures.capture_place import captures_folder, confirm_place, fetch_captures, place_of
from originset.data.reference.snapshot import Reference, current
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.models.runner.runner import RunBatches

_SHOWN = 20


@click.command(cls=Command)
@click.option(
    "--ip-to-as",
    "table",
    type=FILE,
    help="Use this IP-to-AS table: pyasn's .dat, CAIDA's pfx2as, or an MRT table dump; plain, gzip or bzip2.",
)
@click.option(
    "--views/--tables",
    "views",
    default=None,
    help="Copy the largest tables into study.duckdb, or have it read them from tables/.  [default: as the last time]",
)
@click.option(
    "--captures",
    metavar="PLACE",
    help="Confirm that the captures are kept there, as study.json says. Needed once for a study from elsewhere.",
)
@batch_options
@study_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    table: Path | None,
    *,
    views: bool | None,
    captures: str | None,
    **where: Any,  # noqa: ANN401 - batches_run names them
) -> None:
    """Read new captures and build the study's database.

    Resolves names and IP addresses and runs all models. Run it after crawl or import, as often as you like: what has
    been read before is not read again. Names and IP addresses are resolved anew each time, with the reference data that
    originset study reference show lists.

    With --views, study.duckdb is much smaller and reads tables/; every query gives the same. The study can still be
    moved, but programs other than originset must open such a file from within the study's folder.

    Exit codes: 0 done, 1 captures were refused, now or before; all others are in the study.

    Example: originset --study S analyze
    """
    study: Study = ctx.obj
    study.manifest()  # an empty folder is a mistake here, not a new study
    if captures is not None:
        confirm_place(study, captures)
    reference = current() if table is None else current().with_table(table)
    warn_of_age(reference)
    with batches_run(**where) as run_batches:
        counts = analyze(study, reference, run_batches, views=views, jobs=where["jobs"])
    note(", ".join(f"{number} {what.replace('_', ' ')}" for what, number in counts.items()))
    note(f"database: {study.database_path}")
    ctx.exit(1 if _report_refused(study) else 0)


def _report_refused(study: Study) -> int:
    refused = scan(study, "rejects").filter(pl.col("source").str.starts_with("captures/")).sort("source").collect()
    place = place_of(study)
    for source, detail in refused.head(_SHOWN).select("source", "detail").iter_rows():
        name = source.removeprefix("captures/")
        again = shlex.join(["rm", str(captures_folder(study) / name)])
        if place is not None and not place.place.startswith("/"):  # what is here is a copy
            again = f"remove {place.place}/{name}, {again}"
        note(f"refused: {source}: {detail}; to have the page visited again: {again}, and the same crawl again")
    if refused.height > _SHOWN:
        note(f"and {refused.height - _SHOWN} more; all are in the table rejects")
    return refused.height


def analyze(
    study: Study,
    reference: Reference,
    run_batches: RunBatches | None = None,
    *,
    views: bool | None = None,
    jobs: int = 1,
) -> dict[str, int]:
    """Bring tables, database and models up to date with what was crawled and imported; says how much there was.

    ``views``: whether the database reads the largest tables from their shards; None for as it was. ``jobs``: processes
    that read captures, and run batches of the models unless ``run_batches`` does.
    """
    with study.changing("analyze", {}) as counts:
        if views is not None:
            study.update_manifest(views=views)
        if fetched := fetch_captures(study):
            counts["captures_fetched"] = fetched
        with progress() as display:
            counts.update(read_captures(study, display, reference.suffix_list, jobs))
        counts.update(resolve(study, reference))
        counts.update(rebuild(study, Parameters(), run_batches or side_by_side(jobs)))
    return dict(counts)
