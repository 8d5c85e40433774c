"""``originset study artifact``: a study as a bundle to publish, with what it claims and how to check it."""

from __future__ import annotations

import gzip
import hashlib
import json
import platform
import shlex
import tarfile
import tempfile
import time
from contextlib import suppress
from dataclasses import fields
from filecmp import cmp
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import duckdb
import polars as pl
from rich.progress import Progress

import originset
from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.files import require_no_link
from originset.cli.common.output import note, progress
from originset.cli.common.selection import apply_selection, selection_options
from originset.cli.modelling.rebuild import rebuild
from originset.cli.pages.schema_page import page as schema_page
from originset.cli.study.published_selection import require_published_columns
from originset.data.errors import StudyError, UsageError
from originset.data.files.atomic_files import disk_fault, replacing
from originset.data.sanitising.manifest_publication import sanitised_manifest
from originset.data.sanitising.publication import StudySanitiser
from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.database import open_database
from originset.data.studies.shards import read_shard, scan, shard_paths, write_shard
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.queries.artifact_page import Bundle, Step, page
from originset.queries.catalogue import catalogue, run
from originset.queries.figures.all_figures import MEMORY, draw, folder_names
from originset.queries.ladder import ladder
from originset.queries.visit_selection import Selection, select_visits

NAME = "originset-artifact"

_VISITS = "SELECT coalesce(status, 'unknown') AS status, count(*) AS n FROM visits GROUP BY ALL ORDER BY n DESC, status"

# Versions that the last digit of a result, or a pixel, may depend on.
_DEPENDS_ON = ("duckdb", "polars", "numpy", "matplotlib")

# What the same rows give everywhere; pictures of other kinds depend on the machine's libraries.
_SAME_BYTES = (".csv", ".svg")


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path(f"{NAME}.tar.gz"),
    show_default=True,
    help="Write the bundle to this file, which is replaced if it exists.",
)
@selection_options
@study_option
@click.pass_obj
def command(study: Study, out: Path, selection: Selection) -> None:
    """Write a bundle to publish: tables, SQL, figures.

    ARTIFACT.md in the bundle lists its claims, and the commands that check them. The bundle holds no paths and query
    strings of URLs, no names of local files, no addresses of vantages, and no captures; host names are in it. The
    models are run again on what is left, and nothing is written unless they give the study's figures. All visits of the
    study are in the bundle; figures and claims are of the selected visits.

    Example: originset --study S study artifact --out coalescing-2026.tar.gz
    """
    require_no_link(out)
    with open_database(study):
        pass  # says what to run if there is no database yet
    try:
        with tempfile.TemporaryDirectory(prefix=".artifact-", dir=out.absolute().parent) as folder:
            top = Path(folder) / NAME
            top.mkdir()
            with progress() as display:
                size = _fill(study, top, selection, display)
            _pack(top, out)
    except Exception as error:
        fault = disk_fault(error)
        if fault is None and not isinstance(error, OSError):
            raise
        problem = fault[0] if fault is not None else str(error)
        raise UsageError(
            f"{out} cannot be written ({problem})", "name another file with --out, or make room"
        ) from error
    note(f"{size / 1e6:,.1f} MB unpacked; names of hosts and addresses of servers are in it: look before you publish")
    click.echo(out)


def _fill(study: Study, top: Path, selection: Selection, display: Progress) -> int:
    """Everything but the archive, in the folder ``top``; its size in bytes."""
    bare, expected = Study(top / "study"), top / "expected"
    for folder in (bare.root, expected, top / "queries"):
        folder.mkdir()
    with open_database(study, MEMORY) as connection:
        apply_selection(connection, selection)
        require_published_columns(connection, selection)
        selected = _selected(connection)
        numbers, folders = draw(connection, expected, display=display).numbers, folder_names(connection)
        visits = dict(run(connection, _VISITS).rows())
        rungs = ladder(connection)
    _write_sanitised_tables(study, bare, display)
    manifest = sanitised_manifest(study.manifest())
    steps = _rehearse(study, bare, manifest, expected, display, selection=selection, selected=selected)
    _write(bare.manifest_path, _json(manifest))
    for query in catalogue().values():
        _write(top / "queries" / f"{query.name}.sql", query.standalone(query.values({})))
    _write(top / "SCHEMA.md", schema_page())
    size = sum(path.stat().st_size for path in _files(top))
    bundle = Bundle(
        manifest, _versions(), visits, selection, numbers, _reproducible_files(expected), folders, rungs, steps, size
    )
    _write(top / "ARTIFACT.md", page(bundle))
    _write(top / "SHA256SUMS", "".join(f"{_sha256(path)}  {path.relative_to(top)}\n" for path in _files(top)))
    return size


def _write_sanitised_tables(study: Study, bare: Study, display: Progress) -> None:
    """Write the tables that models read, shard by shard, so that no study is too large for memory."""
    sanitiser = StudySanitiser(
        scan(study, "visits").collect(), scan(study, "rejects").collect(), _server_addresses(study)
    )
    kept: dict[str, Any] = {
        "visits": sanitiser.visits,
        "rejects": sanitiser.rejects,
        "requests": sanitiser.requests,
        "vantages": sanitiser.vantages,
        "addresses": sanitiser.addresses,
        "dns_queries": sanitiser.dns_queries,
    }
    names = [name for name, table in TABLES.items() if table.stage in (Stage.ROWS, Stage.RESOLVED)]
    # Visits' addresses are told by those of their requests.
    in_order = sorted(names, key=lambda name: name != "requests")
    for name in display.track(in_order, description="tables to publish"):
        for number, shard in enumerate(shard_paths(study, name), 1):
            rows = read_shard(study, name, shard)
            # Shards are named after files that were imported.
            write_shard(bare, name, f"{number:06d}", kept[name](rows) if name in kept else rows)


def _server_addresses(study: Study) -> pl.Series:
    """The addresses that servers of a study had, and those that names led to."""
    columns = (
        scan(study, "requests").select(pl.col("server_ip").alias("ip")),
        scan(study, "connections").select(pl.col("server_ip").alias("ip")),
        scan(study, "dns_queries").select(pl.col("answers").explode().alias("ip")),
    )
    found = pl.concat([column.drop_nulls().unique() for column in columns])
    return found.unique().collect(engine="streaming").to_series()


def _rehearse(
    study: Study,
    bare: Study,
    manifest: dict[str, Any],
    expected: Path,
    display: Progress,
    *,
    selection: Selection,
    selected: set[str],
) -> list[Step]:
    """Do what a reader of the bundle will do, and see that it gives what is expected.

    Raises:
        StudyError: it gives something else.
        UsageError: the selection leads to other visits than those ``selected``.
    """
    _write(bare.manifest_path, _json(manifest))
    parameters = Parameters.from_manifest(manifest)
    with open_database(study) as connection:
        sensitivity = not run(connection, "SELECT 1 FROM model_sensitivity LIMIT 1").is_empty()
    begun = time.monotonic()
    rebuild(bare, parameters, sensitivity=sensitivity, display=display)
    modelled = time.monotonic()
    with tempfile.TemporaryDirectory(dir=expected.parent) as folder, open_database(bare, MEMORY) as connection:
        with suppress(UsageError):  # no visit of the bundle is selected
            select_visits(connection, selection)
        if _selected(connection) != selected:
            raise UsageError(
                f"{selection.description}: selects other visits in the bundle, which has no paths of URLs",
                "name columns of visits alone",
            )
        draw(connection, Path(folder), display=display)
        drawn = time.monotonic()
        other = [
            name
            for name in sorted(_reproducible_files(expected) | _reproducible_files(Path(folder)))
            if not _same_content(expected / name, Path(folder) / name)
        ]
        if other:
            raise StudyError(
                study.root,
                f"what its tables give is not what its database holds ({', '.join(other)})",
                "run: originset analyze",
            )
    written = bare.database_path.stat().st_size
    bare.database_path.unlink()
    pictures = sum(path.stat().st_size for path in _files(expected))
    return [
        Step("sha256sum --quiet -c SHA256SUMS", "the files are those that were published", 1, 0),
        Step(
            _model_command(parameters, sensitivity=sensitivity),
            "runs the models, builds study.duckdb",
            modelled - begun,
            written,
        ),
        Step(
            selection.asked_of("originset study figures --study study --out figures"),
            "figures, tables, numbers",
            drawn - modelled,
            pictures,
        ),
        Step("diff -r -x '*.pdf' -x '*.png' expected figures", "compares with the study's own", 1, 0),
    ]


def _selected(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {visit for (visit,) in connection.execute("SELECT visit_id FROM selected_visits").fetchall()}


def _model_command(parameters: Parameters, *, sensitivity: bool) -> str:
    """The command that makes the model tables with these parameters."""
    usual = Parameters()
    words = ["originset", "study", "model", "--study", "study"]
    for choice in fields(Parameters):
        value = getattr(parameters, choice.name)
        if choice.name == "provider_asns":
            words += [word for asn in value for word in ("--provider-asn", str(asn))]
        elif value != getattr(usual, choice.name):
            words += [f"--{choice.name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--sensitivity"] if sensitivity else words)


def _versions() -> dict[str, str]:
    python = {"originset": originset.__version__, "Python": platform.python_version()}
    return python | {name: metadata.version(name) for name in _DEPENDS_ON}


def _pack(top: Path, out: Path) -> None:
    """The folder as one file: the same bytes for the same content, without who made it and when."""

    def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.isdir() else 0o644
        return entry

    with (
        replacing(out) as beside,
        beside.open("wb") as file,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for path in _files(top):
            archive.add(path, f"{NAME}/{path.relative_to(top)}", filter=anonymous)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _reproducible_files(folder: Path) -> set[str]:
    """The paths, below a folder of figures and tables, of those that the same rows give everywhere."""
    return {str(path.relative_to(folder)) for path in _files(folder) if path.suffix in _SAME_BYTES}


def _same_content(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and cmp(one, other, shallow=False)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
