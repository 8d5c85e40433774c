"""Rows of HTTP Archive's tables, whose payloads are entries and pages of WebPageTest's HARs, as JSON lines."""

from __future__ import annotations

import io
import json
import random
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import mutated_hars

from doors import Bound, har_text
from originset.analysis.importing.har_files import HarFile
from originset.analysis.importing.http_archive import _import_part, _spill
from originset.analysis.importing.import_batch import Importer, ImportSettings
from originset.data.studies.study import Study

FOLDERS = ("analysis/har",)
LONGEST = 1 << 14
MEMORY = Bound(8 << 20, 3_000)
LINES = Bound(20_000, 150)

_PAGE = "https://www.example.test/"
# A certificate of the testbed's kind is made when it is needed; what is read here is the text around it.
_PEM = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"


def read(data: bytes, *, whole: bool) -> None:
    """A row that cannot be read costs itself; none costs another."""
    file, importer = _rows_file(), Importer(Study(_folder() / "study"), {}, ImportSettings())
    file.path.write_bytes(data)
    part = io.BytesIO()
    _spill(file, [part], importer.summary)
    part.seek(0)
    _import_part(part, importer)
    assert importer.summary.files >= importer.summary.imported
    if whole and importer._batch.entries:
        har_text.require_schema(importer._batch.tables())


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="originset-fuzz-", dir="/dev/shm"))


def _rows_file() -> HarFile:
    return HarFile(_folder() / "rows.jsonl", "rows.jsonl")


def request_payload(number: int, **fields: Any) -> dict[str, Any]:
    """An entry of WebPageTest's, with the fields that are read."""
    return {
        "pageref": "page_1_0_1", "startedDateTime": f"2024-07-12T12:44:{30 + number}.448119+00:00",
        "request": {"method": "GET", "url": f"https://h{number}.test/{number}?token=S3CRET", "httpVersion": "HTTP/2"},
        "response": {"status": 200, "httpVersion": "HTTP/2", "headersSize": 354, "bodySize": 648,
                     "content": {"mimeType": "text/html"}},
        "timings": {"blocked": 172, "dns": 182, "connect": 539, "ssl": 363, "send": 0, "wait": 186, "receive": 1},
        "_ip_addr": f"192.0.2.{number}", "_request_type": "Document", "_socket": number, "_protocol": "HTTP/2",
        "_load_start": 10, "_connect_start": "12", "_connect_end": 30, "_ssl_end": 40, "_tls_version": "TLS 1.3",
        "_tls_resumed": "False", "_certificates": [_PEM, _PEM],
        "_dns_info": {"transactions_needed": [{"dns_query_type": "A"}, {"dns_query_type": "AAAA"}],
                      "results": {"canonical_names": ["c.test", f"h{number}.test"],
                                  "ip_endpoints": [{"endpoint_address": "192.0.2.1"}]}},
        **fields,
    }  # fmt: skip


PAGE_PAYLOAD = {
    "startedDateTime": "2024-07-12T12:44:29.0", "title": "Run 1, First View", "id": "page_1_0_1",
    "pageTimings": {"onLoad": 218, "onContentLoad": 200}, "_URL": _PAGE, "_browser_name": "Chrome",
    "_browser_version": "126.0.0.0",
}  # fmt: skip


def _row(payload: object, **fields: Any) -> dict[str, Any]:
    return {
        "date": "2024-07-01", "client": "mobile", "page": _PAGE, "is_root_page": True, "root_page": _PAGE,
        "rank": "1000", "index": "1", "payload": payload, **fields,
    }  # fmt: skip


def _lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def seeds() -> Iterator[bytes]:
    """Payloads as text and as JSON; pages of several roots, without requests, without a page's row."""
    first, second = request_payload(1), request_payload(2, _socket=1, _tls_version=None, timings={"connect": -1})
    yield _lines(_row(PAGE_PAYLOAD), _row(first), _row(json.dumps(second), index=2))
    yield _lines(_row(json.dumps(PAGE_PAYLOAD)))
    roots = ("https://a.test/", "https://b.test/")
    yield _lines(*(_row(first, root_page=root, is_root_page=False) for root in roots), _row(PAGE_PAYLOAD))
    bare = _row(request_payload(3, _socket=None, _dns_info=None, _certificates=None))
    yield _lines({"page": bare["page"], "payload": bare["payload"]})


def mutate(source: random.Random, data: bytes) -> bytes:
    """One row changed as HARs are, rows doubled and moved."""
    lines = data.splitlines(keepends=True) or [b""]
    place = source.randrange(len(lines))
    kind = source.random()
    if kind < 0.1:
        lines.insert(place, source.choice(lines))
    elif kind < 0.2:
        source.shuffle(lines)
    else:
        lines[place] = mutated_hars.mutate(source, [lines[place]]).replace(b"\n", b" ") + b"\n"
    return b"".join(lines)


def bombs(size: int) -> Mapping[str, bytes]:
    """Rows, and payloads, of one kind over and over."""
    row = b'{"page":"https://a.test/","payload":'
    entry = b'{"request":{"url":"https://a.test/"}}'
    roots = (
        _lines({"page": _PAGE, "root_page": f"https://{n}.test/", "payload": {"request": {}}}) for n in range(size)
    )
    of_roots = b""
    while len(of_roots) < size:
        of_roots += next(roots)
    return {
        "rows": (row + entry + b"}\n") * (size // 75),
        "roots-of-one-page": of_roots,
        "refused-rows": b"{}\n" * (size // 3),
        "empty-lines": b"\n" * size,
        "nested-payload": row + b"[" * size,
        "nested-text": row + b'"' + b"[" * size + b'"}',
        "long-page": b'{"payload":{},"page":"' + b"%" * size + b'"}',
        "certificates": row + b'{"request":{},"_certificates":[' + (b'"-----BEGIN",' * (size // 13))[:-1] + b"]}}",
        "one-certificate": row + b'{"request":{},"_certificates":["' + b"-----BEGIN CERTIFICATE-----" * (size // 27)
        + b'"]}}',
        "aliases": row + b'{"request":{},"_dns_info":{"results":{"canonical_names":[' + (b'"a",' * (size // 4))[:-1]
        + b"]}}}}",
    }  # fmt: skip
