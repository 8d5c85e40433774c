"""Foreign HARs to tables: sanitised rows in shards, each source with its path and SHA-256."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from rich.progress import Progress

from originset.analysis.importing.cut_off_imports import imported_files, remove_replaced
from originset.analysis.importing.file_names import named_by_folder
from originset.analysis.importing.har_files import STDIN, HarFile, find_files
from originset.analysis.importing.http_archive import import_exports
from originset.analysis.importing.import_batch import TABLES_WRITTEN, ImportSettings, ImportSummary, import_files
from originset.analysis.importing.netlog_join import join_netlogs
from originset.analysis.processes import ProcessEnded, run_in_own_process, run_in_processes
from originset.analysis.rejects import reject_rows
from originset.data.errors import InputError
from originset.data.sanitising.printable import path_text
from originset.data.studies.shards import (
    IMPORT,
    is_usable,
    read_shard,
    remove_shard,
    shard_path,
    shard_paths,
    write_shard,
)
from originset.data.studies.study import Study

_REJECTS = "imports"
# The size of a process's share: first as much as a shard, then less and less, so that all end at about the same time.
_SHARE_BYTES = 256 << 20
_LEAST_SHARE_BYTES = 32 << 20
_SHARES_EACH = 3
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
    a row too, until a whole file of its path takes its place. ``jobs``: processes at once.

    Raises:
        UsageError: a path does not exist, or a folder has no file that may be meant.
        StudyError: the study cannot be written.
    """
    files = find_files(paths)
    if settings.name_by_folder:
        files = named_by_folder(files)
    _remove_left_over(study)
    remove_replaced(study)
    known_sources, damaged = _imported_sources(study)
    summary = ImportSummary()
    files = _one_per_source(files, summary)
    sizes = {file: _size(file) for file in files}
    task = progress.add_task("import", total=sum(sizes.values()), files=0, all_files=len(files))

    done = 0

    def advance(read: list[HarFile]) -> None:
        nonlocal done
        done += len(read)
        progress.update(task, advance=sum(sizes[file] for file in read), files=done)

    shares = list(_shares(files, sizes, jobs))
    if jobs <= 1 or len(shares) <= 1:
        summary.add(import_files(study, files, dict(known_sources), settings, lambda file: advance([file])))
    else:
        of_file = _known_by_file(known_sources, files)
        calls = [(study, share, _known_of_share(of_file, share), settings) for share in shares]
        given_up: list[list[HarFile]] = []
        for part, number in run_in_processes(jobs, import_files, calls):
            if isinstance(part, ProcessEnded):
                given_up.append(shares[number])
            else:
                summary.add(part)
                advance(shares[number])
        for share in given_up:
            summary.add(_import_in_halves(study, share, known_sources, settings))
            advance(share)
    if summary.exports:
        known_sources |= summary.sources
        summary.add(import_exports(study, summary.exports, known_sources, settings, progress))
    summary.same_content = _same_content(summary.sources, known_sources)
    remove_replaced(study)
    summary.joined = join_netlogs(study)
    _write_rejects(study, summary)
    summary.lost = _settle(study, damaged, known_sources | summary.sources)
    return summary


def _import_in_halves(
    study: Study, files: list[HarFile], known: dict[str, str], settings: ImportSettings
) -> ImportSummary:
    """Import files whose process crashed: all but those that crash a process by themselves.

    ``known`` is what was in the study before any of these files was read.
    """
    for path in shard_paths(study, "visits"):
        new = {source: sha256 for source, sha256 in _sources(path).items() if known.get(source) != sha256}
        if path.stem.startswith(IMPORT) and any(_known_by_file(new, files)):
            remove_shard(study, "visits", path.stem)  # that process wrote it
    _remove_left_over(study)
    if len(files) == 1:
        detail = "the process that read it ended, perhaps as memory ran out"
        return ImportSummary(files=1, refused=[InputError(files[0].source, "process-ended", detail)])
    summary = ImportSummary()
    of_file = _known_by_file(known, files)
    for half in (files[: len(files) // 2], files[len(files) // 2 :]):
        part = run_in_own_process(import_files, (study, half, _known_of_share(of_file, half), settings))
        summary.add(_import_in_halves(study, half, known, settings) if isinstance(part, ProcessEnded) else part)
    return summary


def _shares(files: list[HarFile], sizes: dict[HarFile, int], jobs: int) -> Iterator[list[HarFile]]:
    left = sum(sizes.values())
    share: list[HarFile] = []
    size = 0
    for file in files:
        most = min(max(left // (jobs * _SHARES_EACH), _LEAST_SHARE_BYTES), _SHARE_BYTES)
        if share and (size + sizes[file] > most or len(share) >= _SHARE_FILES or file.source == STDIN):
            yield share
            left -= size
            share, size = [], 0
        share.append(file)
        size += sizes[file]
    if share:
        yield share


def _imported_sources(study: Study) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What the study holds, SHA-256 by source; beside it the same of each shard of which a table is damaged.

    What such a shard held is read again if it is among the files. What a damaged shard of ``visits`` held is not known.
    """
    known_sources: dict[str, str] = {}
    damaged: dict[str, dict[str, str]] = {}
    for path in shard_paths(study, "visits"):
        if not path.stem.startswith(IMPORT):
            continue
        sources = _sources(path)
        if _is_damaged(study, path.stem):
            damaged[path.stem] = sources
        else:
            known_sources |= sources
    return known_sources, damaged


def _sources(visits: Path) -> dict[str, str]:
    """SHA-256 by source of a shard, of any version; nothing where it is damaged."""
    return dict(imported_files(visits).select("source", "source_sha256").iter_rows())


def _is_damaged(study: Study, shard: str) -> bool:
    there = [table for table in TABLES_WRITTEN if shard_path(study, table, shard).exists()]
    return not all(is_usable(study, table, shard) for table in there)


def _settle(study: Study, damaged: dict[str, dict[str, str]], known: dict[str, str]) -> list[str]:
    """Remove damaged shards whose files are in the study again; returns the sources to be imported again."""
    lost: list[str] = []
    for shard, sources in damaged.items():
        if not _is_damaged(study, shard):
            continue  # the same files together have the same shard
        visits = shard_path(study, "visits", shard)
        missing = [source for source in sources if source not in known] if sources else [f"those of {visits}"]
        lost += missing
        if not missing:
            # visits first: if the process ends here, the other shards are known to be left over.
            for table in reversed(TABLES_WRITTEN):
                remove_shard(study, table, shard)
    return lost


def _known_of_share(of_file: dict[str, dict[str, str]], share: list[HarFile]) -> dict[str, str]:
    return {name: sha for file in share for name, sha in of_file.get(file.source, {}).items()}


def _known_by_file(known: dict[str, str], files: list[HarFile]) -> dict[str, dict[str, str]]:
    """The known sources of each file, an archive's members included, so that a process gets only those of its files."""
    sources = {file.source for file in files}
    by_file: dict[str, dict[str, str]] = {}
    for source, sha256 in known.items():
        file = STDIN if source.startswith(f"stdin{STDIN}") else source
        while file and file not in sources:
            file = file.rpartition("/")[0]
        by_file.setdefault(file, {})[source] = sha256
    return by_file


def _one_per_source(files: list[HarFile], summary: ImportSummary) -> list[HarFile]:
    """Files with different sources: two files with the same source would be one in the study."""
    first: dict[str, HarFile] = {}
    for file in files:
        if first.setdefault(file.source, file) is not file:
            summary.files += 1
            detail = (
                f"{path_text(file.path)} has the name of another file of this import; name the folders that hold them"
            )
            summary.refused.append(InputError(file.source, "path-taken", detail))
    return list(first.values())


def _size(file: HarFile) -> int:
    try:
        return 0 if file.source == STDIN else file.path.stat().st_size
    except OSError:
        return 0


def _same_content(imported: dict[str, str], known: dict[str, str]) -> int:
    """How many of the imported files have the same content as another source in the study."""
    before = {sha256 for source, sha256 in known.items() if source not in imported}
    new = list(imported.values())
    return len(new) - len(set(new) - before)


def _remove_left_over(study: Study) -> None:
    visit_shards = {path.name for path in shard_paths(study, "visits")}
    for table in TABLES_WRITTEN:
        for path in shard_paths(study, table):
            if path.stem.startswith(IMPORT) and path.name not in visit_shards:
                remove_shard(study, table, path.stem)


def _write_rejects(study: Study, summary: ImportSummary) -> None:
    """One shard for all imports: a refused source has its latest reason, and is removed once it is imported."""
    rows = reject_rows([*summary.refused, *summary.cut_off]).unique("source", keep="first", maintain_order=True)
    path = shard_path(study, "rejects", _REJECTS)
    if is_usable(study, "rejects", _REJECTS):
        earlier = read_shard(study, "rejects", path)
        is_imported = pl.col("source").is_in(list(summary.sources))
        rows = pl.concat([rows, earlier.filter(~is_imported)]).unique("source", keep="first", maintain_order=True)
    elif rows.is_empty() and not path.exists():
        return
    write_shard(study, "rejects", _REJECTS, rows)
