"""A second opinion on what was imported: each file read again with haralyzer, and where the two differ.

What haralyzer cannot do is its failure, not a difference: it raises on fields that HAR 1.2 asks for and recorders leave
out. Entries that name no page of their file are in none of haralyzer's pages, which are compared as they are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from haralyzer import HarEntry, HarParser
from rich.progress import Progress

from originset.analysis.har.requests import mime_type
from originset.analysis.importing.har_files import HarFile, HarText, find_files, read_texts
from originset.analysis.netlog.netlog_file import is_netlog
from originset.data.host_names import canonical_ip
from originset.data.sanitising.url_redaction import redact_url
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

_FILES_AT_ONCE = 50
# Recorders round to the ms, and floats are added up in another order.
_TOLERANCE_MS = 1.5


@dataclass
class Verification:
    """The differences between the two readers. Each line names file, page, entry and field."""

    files: int = 0
    pages: int = 0
    entries: int = 0
    differences: list[str] = field(default_factory=list)
    failed_on: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def failed(self, source: str, what: str, error: Exception) -> None:
        """Note that haralyzer raised."""
        message = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        self.failed_on.setdefault((what, message), Counter())[source] += 1

    @property
    def failures(self) -> list[str]:
        """Each kind of failure with its number and places, the most frequent first."""
        kinds = sorted(self.failed_on.items(), key=lambda kind: -kind[1].total())
        return [
            f"{what}: {message} ({files.total()} times in {len(files)} files, first {next(iter(files))})"
            for (what, message), files in kinds
        ]


def verify_import(study: Study, paths: Sequence[Path], progress: Progress) -> Verification:
    """Compare the rows of files in a study with what haralyzer reads in them; other files are left out.

    Raises:
        UsageError: a path does not exist.
    """
    result = Verification()
    files = [file for file in find_files(paths) if file.source != "-"]
    task = progress.add_task(
        "haralyzer", total=sum(file.path.stat().st_size for file in files), files=0, all_files=len(files)
    )
    for number, chunk in enumerate(_chunks(files)):
        texts = [har for file in chunk for har in read_texts(file) if isinstance(har, HarText)]
        texts = [har for har in texts if not is_netlog(har.text[:1024])]  # haralyzer cannot read them
        imported_requests = _imported_requests(study, [text.source for text in texts])
        for text in texts:
            if text.source in imported_requests:
                _compare_file(text, imported_requests[text.source], result)
        size = sum(file.path.stat().st_size for file in chunk)
        progress.update(task, advance=size, files=min(len(files), (number + 1) * _FILES_AT_ONCE))
    return result


def _chunks(files: list[HarFile]) -> Iterator[list[HarFile]]:
    for start in range(0, len(files), _FILES_AT_ONCE):
        yield files[start : start + _FILES_AT_ONCE]


def _imported_requests(study: Study, sources: list[str]) -> dict[str, list[pl.DataFrame]]:
    """The requests of each file, page by page in the file's order; truncated files are left out."""
    visits = (
        scan(study, "visits").filter(pl.col("source").is_in(sources)).select("visit_id", "source", "quality").collect()
    )
    whole_visits = visits.filter(~pl.col("quality").list.contains("truncated"))
    requests = scan(study, "requests").filter(pl.col("visit_id").is_in(whole_visits["visit_id"].to_list())).collect()
    by_visit = {key[0]: rows.sort("request_id") for key, rows in requests.group_by("visit_id")}
    requests_by_source: dict[str, list[pl.DataFrame]] = {}
    for visit_id, source in whole_visits.select("visit_id", "source").iter_rows():
        requests_by_source.setdefault(source, []).append(by_visit.get(visit_id, requests.clear()))
    return requests_by_source


def _compare_file(text: HarText, pages: list[pl.DataFrame], result: Verification) -> None:
    try:
        parser = HarParser(json.loads(text.text.decode("utf-8-sig")))
        theirs = [[page.page_id, page.entries] for page in parser.pages]
    except Exception as error:  # noqa: BLE001 - whatever another program raises on a stranger's file
        result.failed(text.source, "file", error)
        return
    result.files += 1
    declared = [entries for page_id, entries in theirs if page_id != "unknown"]
    if len(declared) <= 1:  # all entries are this page's, whether they say so or not
        declared = [[entry for _, entries in theirs for entry in entries]]
    if len(declared) != len(pages):
        result.differences.append(f"{text.source}: {len(pages)} pages, haralyzer {len(declared)}")
        return
    for number, (ours, entries) in enumerate(zip(pages, declared, strict=True), 1):
        result.pages += 1
        result.entries += ours.height
        _compare_page(text.source, number, ours, entries, result)


def _compare_page(source: str, page: int, ours: pl.DataFrame, entries: list[HarEntry], result: Verification) -> None:
    where = f"{source}: page {page}"
    if ours.height != len(entries):
        result.differences.append(f"{where}: {ours.height} entries, haralyzer {len(entries)}")
    by_url: dict[str, list[dict[str, Any]]] = {}
    for row in ours.iter_rows(named=True):
        by_url.setdefault(redact_url(row["url"] or ""), []).append(row)
    for number, entry in enumerate(entries):
        what = f"{where} entry {number}"
        try:
            rows = by_url.get(redact_url(entry.url))
        except Exception as error:  # noqa: BLE001 - as above
            result.failed(source, "entry", error)
            continue
        if not rows:
            result.differences.append(f"{what}: {redact_url(entry.url)} is not in the study")
            continue
        theirs = _values_read(source, entry, result)
        # Of several requests for one URL, which a study has in the order of their start, the most similar one.
        row = min(rows, key=lambda row: sum(not _same_value(row[name], value) for name, value in theirs.items()))
        rows.remove(row)
        for name, value in theirs.items():
            if not _same_value(row[name], value):
                result.differences.append(f"{what} {name}: {row[name]}, haralyzer {value}")


def _values_read(source: str, entry: HarEntry, result: Verification) -> dict[str, Any]:
    """What haralyzer reads of an entry, by column; columns that it fails on or does not know are left out."""
    read = {}
    for name, reader in _FIELDS.items():
        try:
            read[name] = reader(entry)
        except Exception as error:  # noqa: BLE001 - whatever another program raises on a stranger's file
            result.failed(source, name, error)
    return {name: value for name, value in read.items() if value is not None}


def _status(entry: HarEntry) -> int | None:
    status = entry.response.status
    return status if isinstance(status, int) and 100 <= status <= 999 else None


def _bytes(entry: HarEntry) -> int | None:
    """The transferred size: the sum of haralyzer's two sizes; None if one is missing."""
    if entry.response.raw_entry.get("_transferSize") is not None or entry.raw_entry.get("_transferSize") is not None:
        return None
    headers, body = entry.response.headersSize, entry.response.bodySize
    return headers + body if headers >= 0 and body >= 0 else None


def _wait_ms(entry: HarEntry) -> float | None:
    wait = entry.timings["wait"]
    return wait if wait >= 0 else None


_FIELDS: dict[str, Callable[[HarEntry], Any]] = {
    "status": _status,
    "method": lambda entry: entry.request.method.upper() or None,
    "mime_type": lambda entry: mime_type(entry.response.mimeType),
    "server_ip": lambda entry: canonical_ip(entry.serverAddress) if entry.serverAddress else None,
    "wait_ms": _wait_ms,
    "bytes": _bytes,
}


def _same_value(ours: object, theirs: object) -> bool:
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return abs(ours - theirs) <= (_TOLERANCE_MS if isinstance(theirs, float) or isinstance(ours, float) else 0)
    return ours == theirs
