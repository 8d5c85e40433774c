"""What one process does of an import: files read into batches, batches written as shards.

A shard of ``visits`` is written last of its batch, so it says that the batch is whole: shards of other tables without
it are left over from an import that was killed. Rows are never changed once they are whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec
import polars as pl

from originset.analysis.har.decoding.structs import Log
from originset.analysis.har.entry_columns import VisitFacts
from originset.analysis.har.recorders import NETLOG, Recorder
from originset.analysis.har.tables import HarBatch, decode_whole_entries
from originset.analysis.importing.cut_off_imports import cut_off_sources
from originset.analysis.importing.har_files import ExportFile, HarFile, HarText, read_texts
from originset.analysis.importing.kept_files import keep_file
from originset.analysis.netlog.netlog_captures import netlog_captures
from originset.analysis.netlog.netlog_file import is_netlog
from originset.analysis.netlog.netlog_tables import netlog_tables
from originset.data.errors import InputError
from originset.data.studies.shards import IMPORT, write_shard
from originset.data.studies.study import Study

# The largest size of a shard, so that memory does not grow with the number of files.
_ENTRIES = 100_000
_BYTES = 256 << 20

_BEGINNING = 1 << 10  # bytes that tell what a text is
_UNTOLD = ("no_connection_ids", "no_addresses")
TABLES_WRITTEN = ("requests", "connections", "dns_queries", "certificates", "certificate_names", "visits")


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """``keep_secrets``: URLs stay as they are. ``keep_files``: a copy of each file is kept below the study.

    ``name_by_folder``: files of the same name are called by their folders too; else only the first of them is imported.
    """

    keep_secrets: bool = False
    keep_files: bool = False
    name_by_folder: bool = False


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The limits of one file's recording: words of ``visits.quality``."""

    source: str
    recorder: str
    inferred: bool
    quality: tuple[str, ...]


@dataclass
class ImportSummary:
    """What an import did. ``refused`` holds the files that were not imported, ``cut_off`` those imported in part.

    ``joined``: HARs' page loads of which a NetLog was imported too.
    ``lost``: sources that a damaged shard held and that were not among the files.
    """

    files: int = 0
    imported: int = 0
    already: int = 0
    visits: int = 0
    requests: int = 0
    same_content: int = 0
    pages_without_requests: int = 0
    joined: int = 0
    refused: list[InputError] = field(default_factory=list)
    cut_off: list[InputError] = field(default_factory=list)
    limits: list[FileLimits] = field(default_factory=list)
    recorders: dict[str, int] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    exports: list[HarFile] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def add(self, other: ImportSummary) -> None:
        """Add the summary of another process."""
        for name in (
            "files",
            "imported",
            "already",
            "visits",
            "requests",
            "pages_without_requests",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("refused", "cut_off", "limits", "exports"):
            getattr(self, name).extend(getattr(other, name))
        for recorder, count in other.recorders.items():
            self.recorders[recorder] = self.recorders.get(recorder, 0) + count
        self.sources |= other.sources


class Importer:
    """Reads files into the shards of a study. ``known``: what the study holds, SHA-256 by source."""

    def __init__(self, study: Study, known: dict[str, str], settings: ImportSettings) -> None:
        self._study = study
        self._settings = settings
        self._known = known
        self._cut_off: set[str] | None = None
        self.summary = ImportSummary()
        self._new_batch()

    def _new_batch(self) -> None:
        self._batch = HarBatch(keep_secrets=self._settings.keep_secrets)
        self._sources: list[tuple[str, str]] = []
        self._bytes = 0

    def read(self, file: HarFile) -> None:
        """Read all HARs of a file; a file with rows of HTTP Archive's tables is only added to ``summary.exports``."""
        for har in read_texts(file):
            if isinstance(har, ExportFile):
                self.summary.exports.append(har.file)
                continue
            self.summary.files += 1
            if isinstance(har, InputError):
                self.summary.refused.append(har)
            else:
                self._take(har)

    def _take(self, har: HarText) -> None:
        if not self._is_new(har.source, har.sha256, har.text):
            return
        if is_netlog(har.text[:_BEGINNING]):
            self._take_netlog(har)
            return
        try:
            taken = self._batch.add(har.text, har.source, har.sha256)
            if self._settings.keep_files:
                keep_file(self._study, har.text, har.source, har.sha256, keep_secrets=self._settings.keep_secrets)
        except InputError as error:
            self.summary.refused.append(error)
            return
        if taken.lost is not None:
            self.summary.cut_off.append(taken.lost)
        self._note(har.source, har.sha256, taken.recorder, len(har.text))

    def _take_netlog(self, netlog: HarText) -> None:
        """Add the page loads of a NetLog, as a shard of its own."""
        try:
            captures = netlog_captures(netlog.text, netlog.source)
            tables = netlog_tables(captures, netlog.source, netlog.sha256, keep_secrets=self._settings.keep_secrets)
        except InputError as error:
            self.summary.refused.append(error)
            return
        if captures.lost is not None:
            self.summary.cut_off.append(captures.lost)
        self._write_shard([(netlog.source, netlog.sha256)], tables)
        self._note_source(netlog.source, netlog.sha256, NETLOG)

    def take_log(self, log: Log, visit: VisitFacts) -> None:
        """Add one page of HTTP Archive's tables."""
        self.summary.files += 1
        sha256 = visit.sha256 or ""
        if not self._is_new(visit.source, sha256):
            return
        self._batch.add_log(log, [visit])
        if self._settings.keep_files:
            keep_file(self._study, msgspec.json.encode({"log": log}), visit.source, sha256, keep_secrets=False)
        self._note(visit.source, sha256, visit.recorder, 1000 * len(log.entries))

    def _is_new(self, source: str, sha256: str, text: bytes | None = None) -> bool:
        """Whether to import it: its path is not in the study, or only truncated, and this file is whole."""
        known_sha256 = self._known.get(source)
        # Earlier versions hashed what a packed file holds.
        if known_sha256 == sha256 or (known_sha256 and text and known_sha256 == hashlib.sha256(text).hexdigest()):
            self.summary.already += 1
            return False
        if known_sha256 is None or (text is not None and self._was_cut_off(source) and _is_whole(text, source)):
            return True
        detail = "another file of this path is in the study already; rename it or its folder"
        self.summary.refused.append(InputError(source, "path-taken", detail))
        return False

    def _was_cut_off(self, source: str) -> bool:
        """What the study holds of this source was cut off when it was imported, before this import."""
        if self._cut_off is None:
            self._cut_off = cut_off_sources(self._study)
        return source in self._cut_off and source not in self.summary.sources

    def _note(self, source: str, sha256: str, recorder: Recorder, size: int) -> None:
        self._note_source(source, sha256, recorder)
        self._sources.append((source, sha256))
        self._bytes += size
        if self._batch.entries >= _ENTRIES or self._bytes >= _BYTES:
            self.write()

    def _note_source(self, source: str, sha256: str, recorder: Recorder) -> None:
        summary = self.summary
        summary.recorders[recorder.name] = summary.recorders.get(recorder.name, 0) + 1
        summary.imported += 1
        self._known[source] = sha256
        summary.sources[source] = sha256

    def write(self) -> None:
        """Write the rows that were read, if any."""
        if not self._sources:
            return
        self._write_shard(self._sources, self._batch.tables())
        self._new_batch()

    def _write_shard(self, sources: list[tuple[str, str]], tables: dict[str, pl.DataFrame]) -> None:
        name = IMPORT + hashlib.sha256(json.dumps(sources).encode()).hexdigest()[:16]
        for table in TABLES_WRITTEN:
            write_shard(self._study, table, name, tables[table])
        self.summary.visits += tables["visits"].height
        self.summary.requests += tables["requests"].height
        self.summary.limits += _limits(tables)


def import_files(
    study: Study,
    files: Iterable[HarFile],
    known: dict[str, str],
    settings: ImportSettings,
    done: Callable[[HarFile], None] = lambda _: None,
) -> ImportSummary:
    """Import files one after another; ``done`` is called after each."""
    importer = Importer(study, known, settings)
    for file in files:
        importer.read(file)
        done(file)
    importer.write()
    return importer.summary


def _is_whole(text: bytes, source: str) -> bool:
    try:
        return decode_whole_entries(text, source)[1] is None
    except InputError:
        return False


def _limits(tables: dict[str, pl.DataFrame]) -> list[FileLimits]:
    inferred = tables["requests"].filter(pl.col("connection_source") == "inferred").select("visit_id").unique()
    visits = tables["visits"].join(inferred.with_columns(inferred=True), on="visit_id", how="left")
    of_files = visits.group_by("source", maintain_order=True).agg(
        pl.col("recorder").last(),
        pl.col("inferred").fill_null(value=False).any(),
        pl.col("quality").filter(pl.col("error").ne_missing("empty")).alias("pages"),
    )
    limits_of_files = []
    for source, recorder, by_socket, pages in of_files.iter_rows():
        words = [set(page) for page in pages]
        # What the recorder cannot know is missing on all pages; other limits of one page are limits of the file.
        limits = set().union(*words) - {word for word in _UNTOLD if not all(word in page for page in words)}
        limits_of_files.append(FileLimits(source, recorder, by_socket, tuple(sorted(limits))))
    return limits_of_files
