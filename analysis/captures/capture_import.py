"""Captures to tables: one shard per folder of captures, made again when any capture in it is new or has changed.

It is made again for another public suffix list too, as all names of a study are judged by one, and where a shard is
damaged or lacks columns that came later. What a shard was made from is noted beside its ``visits`` shard and last, so
that an interrupted run is done again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import polars as pl
from rich.progress import Progress

import originset
from originset.analysis.captures.capture_tables import CaptureBatch
from originset.analysis.processes import ProcessEnded, run_in_own_process, run_in_processes
from originset.analysis.rejects import reject_rows
from originset.data.captures.capture import FOLDER, NAME, SUFFIX, read_capture_bytes
from originset.data.captures.capture_place import captures_folder
from originset.data.errors import InputError
from originset.data.files.atomic_files import read_whole, replacing
from originset.data.files.nofollow import NotRegularError, list_folder, remove_file
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import CAPTURES, is_whole, shard_path, shard_paths, write_shard
from originset.data.studies.study import Study

# Below this a second process costs more than it brings.
_WORTH_A_PROCESS = 32 << 20
_WRITTEN = ("requests", "connections", "dns_queries", "certificates", "certificate_names", "visits", "rejects")


@dataclass(frozen=True, slots=True)
class _Folder:
    """Captures of one shard. ``links``: how many symbolic links are among them, which are not followed."""

    name: str
    paths: tuple[Path, ...]
    links: int


def read_captures(study: Study, progress: Progress, suffix_list: Path | None = None, jobs: int = 1) -> dict[str, int]:
    """Read the captures that are new, into a study that the caller holds (:meth:`Study.changing`).

    A visit that was crawled again replaces its old rows; a capture that is gone takes its rows with it; a damaged one
    becomes a row of ``rejects``; a symbolic link is left out, since it may lead anywhere. ``suffix_list``: None for the
    list of tldextract. ``jobs``: processes at once. Counts: captures read now, captures read before, captures refused,
    links left out if there are any.
    """
    all_folders = list(_folders(study))
    folders = [folder for folder in all_folders if folder.paths]
    _remove_shards_but(study, {CAPTURES + folder.name for folder in folders})
    counts = {"captures_read": 0, "captures_unchanged": 0, "captures_refused": 0}
    if links := sum(folder.links for folder in all_folders):
        counts["links_left_out"] = links
    task = progress.add_task("analyze captures", total=len(folders))
    changed: list[tuple[_Folder, str]] = []
    for folder in folders:
        stamp = _stamp(list(folder.paths), suffix_list)
        if _is_current(study, folder, stamp):
            counts["captures_unchanged"] += len(folder.paths)
            progress.advance(task)
        else:
            changed.append((folder, stamp))
    calls = [(study, folder, stamp, suffix_list) for folder, stamp in changed]
    size = sum(path.lstat().st_size for folder, _ in changed for path in folder.paths)
    if jobs > 1 and len(calls) > 1 and size > _WORTH_A_PROCESS:
        done = run_in_processes(jobs, _read_folder, calls)
    else:
        done = ((_read_folder(*call), number) for number, call in enumerate(calls))
    for found_refused, number in done:
        folder, stamp = changed[number]
        refused = (
            _read_folder(study, folder, stamp, suffix_list, _ending(folder))
            if isinstance(found_refused, ProcessEnded)
            else found_refused
        )
        counts["captures_read"] += len(folder.paths) - refused
        counts["captures_refused"] += refused
        progress.advance(task)
    return counts


def _ending(folder: _Folder) -> dict[Path, InputError]:
    """The captures that crash the process that reads them."""
    detail = "the process that read it ended, perhaps as memory ran out"
    return {
        path: InputError(_source(path), "process-ended", detail)
        for path in folder.paths
        if isinstance(run_in_own_process(_tables_of, ([path],)), ProcessEnded)
    }


def _folders(study: Study) -> Iterator[_Folder]:
    captures = captures_folder(study)
    top = list_folder(captures)
    for name in sorted(filter(FOLDER.fullmatch, (*top.files, *top.folders, *top.others))):
        if name not in top.folders:
            yield _Folder(name, (), 1)
            continue
        listing = list_folder(captures, name)
        paths = [
            captures / name / one for one in (*listing.files, *listing.folders, *listing.others) if NAME.fullmatch(one)
        ]
        capture_paths = tuple(
            sorted(path for path in paths if not path.is_symlink())
        )  # the reader refuses what is no file
        yield _Folder(name, capture_paths, len(paths) - len(capture_paths))


def _is_current(study: Study, folder: _Folder, stamp: str) -> bool:
    try:
        noted = read_whole(_stamp_path(study, folder.name), len(stamp), below=study.root)
    except (FileNotFoundError, NotRegularError, OverflowError):
        return False
    return noted == stamp.encode() and all(is_whole(study, table, CAPTURES + folder.name) for table in _WRITTEN)


def _read_folder(
    study: Study,
    folder: _Folder,
    stamp: str,
    suffix_list: Path | None,
    ending: Mapping[Path, InputError] = MappingProxyType({}),
) -> int:
    """Write a folder's shards; returns how many of its captures were refused. ``ending``: captures not to be read."""
    noted = _stamp_path(study, folder.name)
    remove_file(study.root, *noted.relative_to(study.root).parts)
    tables, refused = _tables_of([path for path in folder.paths if path not in ending], suffix_list)
    refused += ending.values()
    tables["rejects"] = reject_rows(refused)
    for table in _WRITTEN:
        write_shard(study, table, CAPTURES + folder.name, tables[table])
    with replacing(noted, below=study.root) as temporary:
        temporary.write_text(stamp)
    return len(refused)


def _tables_of(
    paths: Sequence[Path], suffix_list: Path | None = None
) -> tuple[dict[str, pl.DataFrame], list[InputError]]:
    """Rows of captures, and those that were refused.

    If their rows cannot be made together, the captures are read one by one, so that only the damaged ones are refused.
    """
    batch = CaptureBatch(suffix_list)
    refused: list[InputError] = []
    for path in paths:
        source = _source(path)
        try:
            batch.add(read_capture_bytes(path), source, path.name.removesuffix(SUFFIX))
        except InputError as error:
            refused.append(InputError(source, error.reason, error.detail, error.byte_offset))
    try:
        return batch.tables(), refused
    except (ArithmeticError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        failure = error
        if len(paths) == 1:
            problem = InputError(_source(paths[0]), "no-rows", f"no rows can be made of it ({type(error).__name__})")
            return CaptureBatch(suffix_list).tables(), [problem]
    good: list[Path] = []
    refused = []
    for path in paths:
        problems = _tables_of([path], suffix_list)[1]
        refused += problems
        good += [] if problems else [path]
    if len(good) == len(paths):
        raise failure  # it is none of theirs
    return _tables_of(good, suffix_list)[0], refused


def _source(path: Path) -> str:
    return f"captures/{path.parent.name}/{path.name}"


def _stamp(paths: list[Path], suffix_list: Path | None) -> str:
    """A digest of the files' names, sizes and times and of the program's version; if it changes, read again."""
    digest = None if suffix_list is None else hashlib.sha256(suffix_list.read_bytes()).hexdigest()
    facts: list[object] = [originset.__version__, digest]
    for path in paths:
        status = path.lstat()
        facts.append([path.name, status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _stamp_path(study: Study, folder: str) -> Path:
    path = shard_path(study, "visits", CAPTURES + folder)
    return path.with_name(f".{path.stem}.made-from")


def _remove_shards_but(study: Study, kept: set[str]) -> None:
    for table in TABLES:
        for path in shard_paths(study, table):
            if path.stem.startswith(CAPTURES) and path.stem not in kept:
                path.unlink()
                _stamp_path(study, path.stem.removeprefix(CAPTURES)).unlink(missing_ok=True)
