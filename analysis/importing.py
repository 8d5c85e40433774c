"""Foreign HARs to tables: sanitised rows in shards, each source with its path and SHA-256."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from rich.progress import Progress

from originset.analysis.har_files import STDIN, HarFile, find_files
from originset.analysis.http_archive import import_exports
from originset.analysis.import_batch import PREFIX, TABLES_WRITTEN, ImportSettings, ImportSummary, import_files
from originset.analysis.rejects import reject_rows
from originset.data.errors import InputError, UsageError
from originset.data.shards import scan, shard_path, shard_paths, write_shard
from originset.data.study import Study

_REJECTS = "imports"
# What one process is given at a time: enough to make good shards of, little enough to share out evenly.
_SHARE_BYTES = 64 << 20
_SHARE_FILES = 500
_DEFAULTS = ImportSettings()


def import_hars(
    study: Study,
    paths: Sequence[Path],
    progress: Progress,
    settings: ImportSettings = _DEFAULTS,
    jobs: int = 1,
) -> ImportSummary:
    """Import files, folders, patterns and stdin into a study that the caller holds (:meth:`Study.changing`).

    What is in the study under the same path and content is not read again. A file that cannot be used is refused with
    a row in ``rejects``, and the others are imported; one that was cut off is imported as far as it goes, and has such
    a row too. ``jobs``: processes at once.

    Raises:
        UsageError: a path does not exist.
        StudyError: the study cannot be written.
    """
    files = find_files(paths)
    _remove_left_over(study)
    known = _known(study)
    summary = ImportSummary()
    files = _one_per_source(files, summary)
    sizes = {file: _size(file) for file in files}
    task = progress.add_task("import", total=sum(sizes.values()), files=0, all_files=len(files))

    done = 0

    def advance(read: list[HarFile]) -> None:
        nonlocal done
        done += len(read)
        progress.update(task, advance=sum(sizes[file] for file in read), files=done)

    shares = list(_shares(files, sizes))
    if jobs <= 1 or len(shares) <= 1:
        summary.add(import_files(study, files, dict(known), settings, lambda file: advance([file])))
    else:
        for part, read in _shared_out(study, shares, known, settings, jobs):
            summary.add(part)
            advance(read)
    if summary.exports:
        known |= summary.sources
        summary.add(import_exports(study, summary.exports, known, settings, progress))
    summary.same_content = _same_content(summary.sources, known)
    _write_rejects(study, summary)
    return summary


def _shared_out(
    study: Study, shares: list[list[HarFile]], known: dict[str, str], settings: ImportSettings, jobs: int
) -> Iterator[tuple[ImportSummary, list[HarFile]]]:
    """What became of each share, in the order in which they are done."""
    of_file = _known_by_file(known, [file for share in shares for file in share])
    with _single_threaded(), ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        running = {}
        for share in shares:
            known_of_share = {name: sha for file in share for name, sha in of_file.get(file.source, {}).items()}
            running[pool.submit(import_files, study, share, known_of_share, settings)] = share
        try:
            for future in as_completed(running):
                yield future.result(), running[future]
        except BrokenProcessPool:
            problem = "a process of the import was ended from outside, perhaps as memory ran out"
            raise UsageError(problem, "import again, with fewer --jobs: what is whole is kept") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _shares(files: list[HarFile], sizes: dict[HarFile, int]) -> Iterator[list[HarFile]]:
    share: list[HarFile] = []
    size = 0
    for file in files:
        if share and (size + sizes[file] > _SHARE_BYTES or len(share) >= _SHARE_FILES or file.source == STDIN):
            yield share
            share, size = [], 0
        share.append(file)
        size += sizes[file]
    if share:
        yield share


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Processes started herein use one thread each for their columns: the cores are shared out already."""
    before = os.environ.get("POLARS_MAX_THREADS")
    os.environ["POLARS_MAX_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["POLARS_MAX_THREADS"]
        else:
            os.environ["POLARS_MAX_THREADS"] = before


def _known(study: Study) -> dict[str, str]:
    imported = scan(study, "visits").filter(pl.col("source_sha256").is_not_null())
    return dict(imported.select("source", "source_sha256").unique().collect().iter_rows())


def _known_by_file(known: dict[str, str], files: list[HarFile]) -> dict[str, dict[str, str]]:
    """What is known of each file, an archive's members included: no process needs to be told of all others."""
    sources = {file.source for file in files}
    found: dict[str, dict[str, str]] = {}
    for source, sha256 in known.items():
        file = STDIN if source.startswith(f"stdin{STDIN}") else source
        while file and file not in sources:
            file = file.rpartition("/")[0]
        found.setdefault(file, {})[source] = sha256
    return found


def _one_per_source(files: list[HarFile], summary: ImportSummary) -> list[HarFile]:
    """Files whose sources differ: two of one name from two folders would be one in the study."""
    first: dict[str, HarFile] = {}
    for file in files:
        if first.setdefault(file.source, file) is not file:
            summary.files += 1
            detail = f"{file.path} has the name of another file of this import; name the folders that hold them"
            summary.refused.append(InputError(file.source, "path-taken", detail))
    return list(first.values())


def _size(file: HarFile) -> int:
    try:
        return 0 if file.source == STDIN else file.path.stat().st_size
    except OSError:
        return 0


def _same_content(imported: dict[str, str], known: dict[str, str]) -> int:
    """How many of the imported files hold what another source in the study holds."""
    before = {sha256 for source, sha256 in known.items() if source not in imported}
    new = list(imported.values())
    return len(new) - len(set(new) - before)


def _remove_left_over(study: Study) -> None:
    whole = {path.name for path in shard_paths(study, "visits")}
    for table in TABLES_WRITTEN:
        for path in shard_paths(study, table):
            if path.name.startswith(PREFIX) and path.name not in whole:
                path.unlink()


def _write_rejects(study: Study, summary: ImportSummary) -> None:
    """One shard for all imports: a source refused again has its latest reason, one imported since has none."""
    rows = reject_rows([*summary.refused, *summary.cut_off]).unique("source", keep="first", maintain_order=True)
    path = shard_path(study, "rejects", _REJECTS)
    if path.exists():
        earlier = pl.read_parquet(path)
        settled = pl.col("source").is_in(list(summary.sources))
        rows = pl.concat([rows, earlier.filter(~settled)]).unique("source", keep="first", maintain_order=True)
    elif rows.is_empty():
        return
    write_shard(study, "rejects", _REJECTS, rows)
