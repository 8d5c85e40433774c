"""Foreign HARs to tables: sanitised rows in shards, each source with its path and SHA-256.

A shard of ``visits`` is written last of its batch, so it says that the batch is whole: shards of other tables without
it are left over from an import that was killed, and are removed. Rows are never changed once they are whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from rich.progress import Progress

from originset.analysis.har.tables import HarBatch
from originset.analysis.har_files import find_files, read_texts
from originset.analysis.rejects import reject_rows
from originset.data.errors import InputError
from originset.data.shards import scan, shard_path, shard_paths, write_shard
from originset.data.study import Study

# What a shard holds at most, so that memory does not grow with the number of files.
_ENTRIES = 100_000
_BYTES = 256 << 20

_PREFIX = "import-"
_REJECTS = "imports"
_TABLES = ("requests", "connections", "certificates", "certificate_names", "visits")


@dataclass
class ImportSummary:
    """What an import did. The ``with_*`` count files of this import in which the recorder tells such a thing."""

    files: int = 0
    imported: int = 0
    already: int = 0
    visits: int = 0
    requests: int = 0
    with_connection_ids: int = 0
    with_addresses: int = 0
    with_certificate_names: int = 0
    same_content: int = 0
    refused: list[InputError] = field(default_factory=list)
    recorders: dict[str, int] = field(default_factory=dict)


def import_hars(study: Study, paths: Sequence[Path], progress: Progress) -> ImportSummary:
    """Import files and folders into a study that the caller holds (:meth:`Study.changing`).

    What is in the study under the same path and content is not read again. A file that cannot be used is refused with
    a row in ``rejects``, and the others are imported.

    Raises:
        UsageError: a path does not exist.
        StudyError: the study cannot be written.
    """
    files = find_files(paths)
    _remove_left_over(study)
    importer = _Importer(study)
    task = progress.add_task("import", total=len(files))
    for file in files:
        for source, text in read_texts(file):
            importer.take(source, text)
        progress.advance(task)
    return importer.finish()


class _Importer:
    def __init__(self, study: Study) -> None:
        self._study = study
        self._summary = ImportSummary()
        known = scan(study, "visits").select("source", "source_sha256").unique().collect()
        self._sha256_of: dict[str, str | None] = dict(known.iter_rows())
        self._contents = set(self._sha256_of.values())
        self._new_batch()

    def _new_batch(self) -> None:
        self._batch = HarBatch()
        self._sources: list[tuple[str, str]] = []
        self._bytes = 0

    def take(self, source: str, text: bytes | InputError) -> None:
        self._summary.files += 1
        if isinstance(text, InputError):
            self._summary.refused.append(text)
            return
        sha256 = hashlib.sha256(text).hexdigest()
        known = self._sha256_of.get(source)
        if known == sha256:
            self._summary.already += 1
            return
        if known is not None:
            detail = "another file of this path is in the study already; rename it or its folder"
            self._summary.refused.append(InputError(source, "path-taken", detail))
            return
        try:
            recorder = self._batch.add(text, source, sha256)
        except InputError as error:
            self._summary.refused.append(error)
            return
        self._summary.recorders[recorder.name] = self._summary.recorders.get(recorder.name, 0) + 1
        self._summary.imported += 1
        self._summary.same_content += sha256 in self._contents
        self._contents.add(sha256)
        self._sha256_of[source] = sha256
        self._sources.append((source, sha256))
        self._bytes += len(text)
        if self._batch.entries >= _ENTRIES or self._bytes >= _BYTES:
            self._write()

    def finish(self) -> ImportSummary:
        self._write()
        _write_rejects(self._study, self._summary.refused, self._sha256_of)
        return self._summary

    def _write(self) -> None:
        if not self._sources:
            return
        name = _PREFIX + hashlib.sha256(json.dumps(self._sources).encode()).hexdigest()[:16]
        tables = self._batch.tables()
        for table in _TABLES:
            write_shard(self._study, table, name, tables[table])
        self._count(tables)
        self._new_batch()

    def _count(self, tables: dict[str, pl.DataFrame]) -> None:
        summary = self._summary
        summary.visits += tables["visits"].height
        summary.requests += tables["requests"].height
        sources = tables["visits"].select("visit_id", "source")

        def told(rows: pl.DataFrame) -> int:
            return rows.select("visit_id").join(sources, on="visit_id")["source"].n_unique()

        named = tables["certificates"].filter(pl.col("san_count").is_not_null()).select("certificate_id")
        requests = tables["requests"]
        summary.with_connection_ids += told(requests.filter(pl.col("connection_id").is_not_null()))
        summary.with_addresses += told(requests.filter(pl.col("server_ip").is_not_null()))
        summary.with_certificate_names += told(tables["connections"].join(named, on="certificate_id"))


def _remove_left_over(study: Study) -> None:
    whole = {path.name for path in shard_paths(study, "visits")}
    for table in _TABLES:
        for path in shard_paths(study, table):
            if path.name.startswith(_PREFIX) and path.name not in whole:
                path.unlink()


def _write_rejects(study: Study, refused: list[InputError], imported: dict[str, str | None]) -> None:
    """One shard for all imports: a source refused again has its latest reason, one imported since has none."""
    rows = reject_rows(refused)
    path = shard_path(study, "rejects", _REJECTS)
    if path.exists():
        rows = pl.concat([rows, pl.read_parquet(path)])
    elif rows.is_empty():
        return
    settled = (pl.col("reason") != "path-taken") & pl.col("source").is_in(list(imported))
    write_shard(study, "rejects", _REJECTS, rows.filter(~settled).unique("source", keep="first", maintain_order=True))
