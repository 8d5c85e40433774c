"""``originset analyze``: captures into tables, names and addresses resolved, the database and its models built."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import polars as pl

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import note
from originset.cli.common.reference_data import TableOfYear, reference_with, warn_of_age, warn_of_older_visits
from originset.cli.modelling.analysis import analyze
from originset.cli.modelling.model_batches import batch_options, batches_run
from originset.data.captures.capture_place import captures_folder, confirm_place, place_of
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

_SHOWN = 20


@click.command(cls=Command)
@click.option(
    "--ip-to-as",
    "tables",
    type=TableOfYear(),
    multiple=True,
    help="Use this IP-to-AS table: pyasn's .dat, CAIDA's pfx2as, or an MRT table dump; plain, gzip or bzip2. With "
    "YEAR, for visits of that year alone; then it can be repeated.",
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
    tables: tuple[tuple[int | None, Path], ...],
    *,
    views: bool | None,
    captures: str | None,
    **where: Any,  # noqa: ANN401 - batches_run names them
) -> None:
    """Read new captures and build the study's database.

    Resolves names and IP addresses and runs all models. Run it after crawl or import, as often as you like: what has
    been read before is not read again. Names and IP addresses are resolved anew each time, with the reference data that
    originset study reference show lists. An address that visits of several years have is in no known AS where the
    tables of these years differ.

    With --views, study.duckdb is much smaller and reads tables/; every query gives the same. The study can still be
    moved, but programs other than originset must open such a file from within the study's folder.

    Exit codes: 0 done, 1 captures were refused, now or before; all others are in the study.

    Example: originset --study S analyze
    """
    study: Study = ctx.obj
    study.manifest()  # an empty folder is a mistake here, not a new study
    if captures is not None:
        confirm_place(study, captures)
    reference = reference_with(tables)
    warn_of_age(reference)
    with batches_run(**where) as run_batches:
        counts = analyze(study, reference, run_batches, views=views, jobs=where["jobs"])
    note(", ".join(f"{number} {what.replace('_', ' ')}" for what, number in counts.items()))
    warn_of_older_visits(study, reference)
    note(f"database: {study.database_path}")
    ctx.exit(1 if _report_refused(study) else 0)


def _report_refused(study: Study) -> int:
    refused = scan(study, "rejects").filter(pl.col("source").str.starts_with("captures/")).sort("source").collect()
    place = place_of(study)
    for source, detail in refused.head(_SHOWN).select("source", "detail").iter_rows():
        name = source.removeprefix("captures/")
        remove_command = shlex.join(["rm", str(captures_folder(study) / name)])
        if place is not None and not place.place.startswith("/"):  # what is here is a copy
            remove_command = f"remove {place.place}/{name}, {remove_command}"
        note(f"refused: {source}: {detail}; to have the page visited again: {remove_command}, and the same crawl again")
    if refused.height > _SHOWN:
        note(f"and {refused.height - _SHOWN} more; all are in the table rejects")
    return refused.height
