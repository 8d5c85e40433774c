"""Captures to tables: one shard per folder of captures, made again when any capture in it is new or has changed.

It is made again for another public suffix list too, as all names of a study are judged by one. What a shard was made
from is noted beside its ``visits`` shard and last, so that an interrupted run is done again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from rich.progress import Progress

import originset
from originset.analysis.capture_tables import CaptureBatch
from originset.analysis.rejects import reject_rows
from originset.data.capture import SUFFIX, read_capture_bytes
from originset.data.errors import InputError
from originset.data.schema import TABLES
from originset.data.shards import shard_path, shard_paths, write_shard
from originset.data.study import Study

_PREFIX = "captures-"


def read_captures(study: Study, progress: Progress, suffix_list: Path | None = None) -> dict[str, int]:
    """Read the captures that are new, into a study that the caller holds (:meth:`Study.changing`).

    A visit that was crawled again replaces its old rows; a capture that is gone takes its rows with it; a damaged one
    becomes a row of ``rejects``. ``suffix_list``: None for the list of tldextract. Counts: captures read now, captures
    read before, captures refused.
    """
    counts = {"captures_read": 0, "captures_unchanged": 0, "captures_refused": 0}
    folders = sorted(study.captures.glob("[0-9a-f][0-9a-f]"))
    _remove_shards_but(study, {_PREFIX + folder.name for folder in folders})
    task = progress.add_task("analyze captures", total=len(folders))
    for folder in folders:
        paths = sorted(folder.glob(f"[0-9a-f]*{SUFFIX}"))
        stamp = _stamp(paths, suffix_list)
        noted = _stamp_path(study, folder.name)
        if noted.exists() and noted.read_text() == stamp:
            counts["captures_unchanged"] += len(paths)
        else:
            noted.unlink(missing_ok=True)
            refused = _read_folder(study, folder.name, paths, suffix_list)
            counts["captures_read"] += len(paths) - refused
            counts["captures_refused"] += refused
            noted.write_text(stamp)
        progress.advance(task)
    return counts


def _read_folder(study: Study, folder: str, paths: list[Path], suffix_list: Path | None) -> int:
    batch = CaptureBatch(suffix_list)
    refused: list[InputError] = []
    for path in paths:
        source = f"captures/{folder}/{path.name}"
        try:
            batch.add(read_capture_bytes(path), source)
        except InputError as error:
            refused.append(InputError(source, error.reason, error.detail, error.byte_offset))
    shard = _PREFIX + folder
    for table, rows in batch.tables().items():
        write_shard(study, table, shard, rows)
    write_shard(study, "rejects", shard, reject_rows(refused))
    return len(refused)


def _stamp(paths: list[Path], suffix_list: Path | None) -> str:
    """What these files are, without reading them; another version of this program reads them again."""
    digest = None if suffix_list is None else hashlib.sha256(suffix_list.read_bytes()).hexdigest()
    facts: list[object] = [originset.__version__, digest]
    for path in paths:
        status = path.stat()
        facts.append([path.name, status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _stamp_path(study: Study, folder: str) -> Path:
    path = shard_path(study, "visits", _PREFIX + folder)
    return path.with_name(f".{path.stem}.made-from")


def _remove_shards_but(study: Study, kept: set[str]) -> None:
    for table in TABLES:
        for path in shard_paths(study, table):
            if path.stem.startswith(_PREFIX) and path.stem not in kept:
                path.unlink()
                _stamp_path(study, path.stem.removeprefix(_PREFIX)).unlink(missing_ok=True)
