"""``originset analyze``: captures into tables, names and addresses resolved, the database and its models built."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import polars as pl

from originset.analysis.captures.capture_import import read_captures
from originset.analysis.resolution.name_resolution import resolve_names
from originset.cli.files import FILE
from originset.cli.model_batches import batch_options, batches_run, side_by_side
from originset.cli.output import note, progress
from originset.cli.rebuild import rebuild
from originset.cli.reference import warn_of_age
from originset.data.captures.capture_place import captures_folder, confirm_place, fetch_captures, place_of
from originset.data.reference.snapshot import Reference, current_reference
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.models.runner.runner import RunBatches

_SHOWN = 20


@click.command()
@click.option(
    "--ip-to-as",
    "table",
    type=FILE,
    help="An IP-to-AS table of your own: pyasn's .dat, CAIDA's pfx2as, or an MRT table dump; gzip or bzip2 or neither.",
)
@click.option(
    "--views/--tables",
    "views",
    default=None,
    help="Do not copy the largest tables into study.duckdb, but read them from tables/.  [default: as the last time]",
)
@click.option(
    "--captures",
    metavar="PLACE",
    help="The captures are kept there, as study.json says: needed once for a study that came from elsewhere.",
)
@batch_options
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
    """Read new captures, resolve names and addresses, build study.duckdb with all models.

    Run it after crawl or import, as often as you like: what has been read already is not read again. Names and
    addresses are resolved anew each time, with the data that `originset reference show` names.

    With --views study.duckdb takes a fraction of the room and is answered from tables/: every query gives the same.
    The study can still be moved; other programs than originset open such a file from within the study's folder.

    Exits with 1 if captures were refused, now or before; the others are in the study.

    Example: originset --study S analyze
    """
    study: Study = ctx.obj
    study.manifest()  # an empty folder is a mistake here, not a new study
    if captures is not None:
        confirm_place(study, captures)
    reference = current_reference() if table is None else current_reference().with_table(table)
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
        counts.update(resolve_names(study, reference))
        counts.update(rebuild(study, Parameters(), run_batches or side_by_side(jobs)))
    return dict(counts)
