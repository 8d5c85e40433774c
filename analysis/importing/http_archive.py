"""Exports of HTTP Archive's tables ``crawl.requests`` and ``crawl.pages`` to visits: JSON lines or Parquet.

The rows of one page lie anywhere in an export, as it is sorted by other things than pages, and in any of its files. So
all files are read once and their rows put into temporary files, by page, as many as it takes for each to fit into
memory; then each of these is read, its rows grouped, and every group is a HAR of one page. The columns are those of
HTTP Archive's data pipeline; the payloads are entries and pages of WebPageTest's HARs.
"""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from rich.progress import Progress

from originset.analysis.har.decoding.bounds import require_values
from originset.analysis.har.decoding.har_decoder import decode_payload
from originset.analysis.har.decoding.numbers import Place
from originset.analysis.har.decoding.structs import Entry, Log, Page
from originset.analysis.har.entry_columns import VisitFacts
from originset.analysis.har.recorders import WEBPAGETEST, named_browser
from originset.analysis.importing.har_files import MAX_GROWTH, MIN_SUSPECT, HarFile, open_unpacked
from originset.analysis.importing.import_batch import Importer, ImportSettings, ImportSummary
from originset.data.errors import InputError
from originset.data.sanitising.url_redaction import redact_url
from originset.data.studies.identity import import_visit_id
from originset.data.studies.study import Study

# How much of an export is grouped at once. Rows shrink to a tenth of their text when headers and bodies are left out.
_PART_BYTES = 512 << 20
_MAX_PARTS = 256
_MAX_LINE = 256 << 20
_BATCH_ROWS = 200
_REFUSAL_BYTES = 1000  # of memory, for a row that is refused
_COLUMNS = ("date", "client", "page", "is_root_page", "root_page", "rank", "url", "index", "payload")


class ExportRow(msgspec.Struct, kw_only=True, gc=False):
    """The fields of a row; JSON exports have numbers as text, and the payload as text or as JSON."""

    date: str | None = None
    client: str | None = None
    page: str | None = None
    is_root_page: bool | None = None
    root_page: str | None = None
    rank: Place | None = None
    url: str | None = None
    index: Place | None = None
    payload: msgspec.Raw = msgspec.Raw(b"null")


class _SpilledRow(msgspec.Struct, kw_only=True, array_like=True, gc=False):
    """A row in a temporary file: an entry or a page."""

    key: tuple[str, str, str]
    digest: bytes
    is_root_page: bool | None = None
    root_page: str | None = None
    rank: int | None = None
    index: int = 0
    entry: Entry | None = None
    page: Page | None = None


_rows = msgspec.json.Decoder(ExportRow, strict=False)
_encoder = msgspec.msgpack.Encoder()
_kept = msgspec.msgpack.Decoder(_SpilledRow)


def import_exports(
    study: Study, files: list[HarFile], known: dict[str, str], settings: ImportSettings, progress: Progress
) -> ImportSummary:
    """Import all files of an export together; each page of them is a visit.

    A row that cannot be read is refused by itself, as ``FILE#ROW``. Pages without requests are counted, not imported.
    """
    importer = Importer(study, known, settings)
    size = sum(file.path.stat().st_size for file in files)
    parts = min(_MAX_PARTS, 1 + size // _PART_BYTES)
    task = progress.add_task("rows of HTTP Archive", total=size, files=0, all_files=len(files))
    with ExitStack() as stack:
        spilled = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(parts)]
        for number, file in enumerate(files, 1):
            _spill(file, spilled, importer.summary)
            progress.update(task, advance=file.path.stat().st_size, files=number)
        for part in spilled:
            part.seek(0)
            _import_part(part, importer)
    importer.write()
    return importer.summary


def _spill(file: HarFile, parts: Sequence[BinaryIO], summary: ImportSummary) -> None:
    number = spilled = 0
    packed = file.path.stat().st_size
    try:
        for number, row in enumerate(_read_rows(file), 1):
            _require_growth(file, packed, spilled)
            try:
                spilled_row = _kept_row(row, f"{file.source}#{number}")
            except InputError as error:
                summary.refused.append(error)
                spilled += _REFUSAL_BYTES
                continue
            encoded = _encoder.encode(spilled_row)
            spilled += len(encoded)
            part = parts[zlib.crc32("\0".join(spilled_row.key).encode()) % len(parts)]
            part.write(len(encoded).to_bytes(4, "big") + encoded)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError, pa.ArrowException) as error:
        detail = f"cut off or damaged after row {number}; the rows before it are kept ({error})"
        summary.refused.append(InputError(file.source, "damaged", detail))
    except InputError as error:
        summary.refused.append(error)


def _require_growth(file: HarFile, packed: int, spilled: int) -> None:
    if spilled > max(MIN_SUSPECT, packed * MAX_GROWTH):
        raise InputError(file.source, "bomb", f"{packed} bytes that unpack to more than {MAX_GROWTH} times their size")


def _read_rows(file: HarFile) -> Iterator[dict[str, object] | bytes]:
    with file.path.open("rb") as opened:
        if opened.read(4) == b"PAR1":
            yield from _parquet_rows(file)
            return
        stream = open_unpacked(opened)
        number = 0
        while line := stream.readline(_MAX_LINE):
            number += 1
            if len(line) == _MAX_LINE:
                raise InputError(file.source, "too-large", f"row {number} is longer than {_MAX_LINE >> 20} MiB")
            if line.strip():
                yield line


def _parquet_rows(file: HarFile) -> Iterator[dict[str, object]]:
    with pq.ParquetFile(file.path) as parquet:
        columns = [name for name in _COLUMNS if name in parquet.schema_arrow.names]
        leaves = [parquet.schema.column(number) for number in range(len(parquet.schema))]
    if not {"page", "payload"} <= set(columns):
        raise InputError(file.source, "not-har", "Parquet without the columns page and payload")
    # A text that many rows share is in the file once, and may be long: it stays so until its row is looked at.
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.path.split(".")[0] in columns]
    with pq.ParquetFile(file.path, read_dictionary=texts) as parquet:
        for batch in parquet.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
            for number in range(batch.num_rows):
                yield {name: values[number].as_py() for name, values in zip(columns, batch.columns, strict=True)}


def _row_of(values: dict[str, object]) -> ExportRow:
    """A row of Parquet, whose payload can be text, bytes or a struct."""
    payload, date = values.pop("payload"), values.pop("date", None)
    row = msgspec.convert(values, ExportRow, strict=False)
    row.date = None if date is None else str(date)
    if isinstance(payload, str):
        payload = payload.encode()
    row.payload = msgspec.Raw(payload if isinstance(payload, bytes) else msgspec.json.encode(payload))
    return row


def _kept_row(given: dict[str, object] | bytes, source: str) -> _SpilledRow:
    try:
        row = _rows.decode(given) if isinstance(given, bytes) else _row_of(given)
        payload = bytes(row.payload)
        if payload[:1] == b'"':
            payload = msgspec.json.decode(payload, type=str).encode()
        require_values(payload, source)
        entry_or_page = decode_payload(payload)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise InputError(source, "not-json", f"a row that cannot be read ({error})") from None
    if row.page is None or entry_or_page is None:
        raise InputError(source, "not-har", "a row without a page or a payload")
    return _SpilledRow(
        key=(row.date or "", row.client or "", row.page),
        digest=hashlib.sha256(payload).digest(),
        is_root_page=row.is_root_page,
        root_page=row.root_page,
        rank=row.rank,
        index=row.index or 0,
        entry=entry_or_page if isinstance(entry_or_page, Entry) else None,
        page=entry_or_page if isinstance(entry_or_page, Page) else None,
    )


def _import_part(part: BinaryIO, importer: Importer) -> None:
    pages: dict[tuple[str, str, str], list[_SpilledRow]] = {}
    while size := part.read(4):
        spilled_row = _kept.decode(part.read(int.from_bytes(size, "big")))
        pages.setdefault(spilled_row.key, []).append(spilled_row)
    for key in sorted(pages):
        for root, rows in _visits(pages.pop(key)):
            requests = sorted((row for row in rows if row.entry is not None), key=lambda row: (row.index, row.digest))
            if not requests:
                importer.summary.pages_without_requests += 1
                continue
            page = next((row for row in rows if row.page is not None), None)
            log = Log(entries=[row.entry for row in requests if row.entry is not None], pages=None)
            importer.take_log(log, _visit(key, root, rows, page))


def _visits(rows: list[_SpilledRow]) -> Iterator[tuple[str | None, list[_SpilledRow]]]:
    """The rows of a URL by visit: a root page that other pages link to is visited for each of them.

    With them the root that it was reached from, where it is another page and there are several.
    """
    roots = sorted({row.root_page for row in rows if row.root_page is not None})
    if len(roots) < 2:
        yield None, rows
        return
    for number, root in enumerate(roots):
        of_root = [row for row in rows if row.root_page == root or (row.root_page is None and number == 0)]
        yield (None if any(row.is_root_page for row in of_root) else root), of_root


def _visit(
    key: tuple[str, str, str], root: str | None, rows: list[_SpilledRow], of_page: _SpilledRow | None
) -> VisitFacts:
    date, client, address = key
    source = f"httparchive/{date or 'undated'}/{client or 'client'}/{redact_url(address)}"
    if root is not None:
        source += f" from {redact_url(root)}"
    page = of_page.page if of_page is not None and of_page.page is not None else Page()
    page.address = address
    browser, version = named_browser(page.browser, page.browser_version)
    page_rows = of_page or rows[0]
    return VisitFacts(
        visit_id=import_visit_id(source, 0),
        source=source,
        # The same rows are the same page, in any order and from any files.
        sha256=hashlib.sha256(b"".join(sorted(row.digest for row in rows))).hexdigest(),
        recorder=WEBPAGETEST,
        browser=browser,
        browser_version=version,
        page=page,
        rank=page_rows.rank,
        client=client or None,
        page_kind=None if page_rows.is_root_page is None else "landing" if page_rows.is_root_page else "internal",
    )
