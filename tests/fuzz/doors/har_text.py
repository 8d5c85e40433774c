"""HAR texts of all recorders, plain and packed, as an import takes them; what is read, against a plain reader."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import mutated_hars
import polars as pl
import zstandard
from naive_hars import require_equal_reading

from doors import Bound
from originset.analysis.har.tables import HarBatch
from originset.analysis.importing.har_files import HarFile, HarText, _hars_of_stream
from originset.data.errors import InputError
from originset.data.schema.study_tables import TABLES

FOLDERS = ("analysis/har",)
LONGEST = 1 << 14
MEMORY = Bound(4 << 20, 2_000)
LINES = Bound(20_000, 100)

HARS = Path(__file__).resolve().parents[2] / "fixtures" / "hars"
_FILE = HarFile(Path("a.har"), "a.har")


def read(data: bytes, *, whole: bool) -> None:
    """Raises InputError where it is no HAR."""
    batch = HarBatch()
    for har in _hars_of_stream(io.BytesIO(data), _FILE, len(data)):
        if isinstance(har, InputError):
            raise har
        if isinstance(har, HarText):
            batch.add(har.text, har.source, "0" * 64)
            if whole:
                require_equal_reading(har.text)
    if whole and batch.entries:
        require_schema(batch.tables())


def require_schema(tables: Mapping[str, pl.DataFrame]) -> None:
    """Raises PolarsError where rows have not the columns of a study's tables, in any order."""
    for table, rows in tables.items():
        rows.match_to_schema(TABLES[table].polars_schema)


def seeds() -> Iterator[bytes]:
    """The first entries of each recording here, of WebPageTest's, and some of them packed."""
    texts = [*mutated_hars.bases(HARS), (HARS / "small.har").read_bytes()]
    yield from texts
    yield from map(_rare_fields, ("other", "WebInspector", "WebKit Web Inspector", "chrome-har"))
    yield gzip.compress(texts[0], mtime=0)
    yield zstandard.compress(texts[0])
    yield texts[0].decode().encode("utf-16")


def _rare_fields(creator: str) -> bytes:
    """Failures, redirects, service workers, dates in milliseconds: what few recordings have."""
    url, certificate = "https://a.test/b/c?d=1#e", {"subjectName": "a.test", "sanList": ["a.test", "*.a.test"]}
    security = (
        {},
        {**certificate, "protocol": "TLS 1.3"},
        {**certificate, "issuer": "CA"},
        {"sanList": ["n.test"] * 9},
    )
    redirects = ("/./f", "//b.test/", "https://b.test/#g", "/g", "http://[", "")
    entries = [
        {
            "pageref": "p",
            "startedDateTime": str(1_700_000_000_000 + n),
            "request": {"url": url},
            "response": {
                "redirectURL": redirect,
                "_fetchedViaServiceWorker": not n,
                "_failureText": "" if n else "reset",
            },
            "_error": "net::" * (n % 2),
            "_securityDetails": security[n % 4],
            "_fetchType": ("Network Load", "", "Disk Cache")[n % 3],
            "_fromCache": "service_worker" if n == 1 else None,
            "cache": {"beforeRequest": {} if n else None},
        }
        for n, redirect in enumerate(redirects)
    ]
    pages = [{"id": "p", "startedDateTime": "1700000000000", "_browser_name": "Chrome", "_browser_version": "126"}]
    return json.dumps({"log": {"creator": {"name": creator}, "pages": pages, "entries": entries}}).encode()


def mutate(source: random.Random, data: bytes) -> bytes:
    """Values of other types in places of the JSON, entries doubled, bytes flipped."""
    return mutated_hars.mutate(source, [data])


def bombs(size: int) -> Mapping[str, bytes]:
    """Nesting, runs of one sign, repeated keys, as many entries as fit."""
    head, tail = b'{"log":{"entries":[', b"]}}"
    entry = b'{"request":{"url":"https://a.test/"}},'
    return {
        "brackets": b"[" * size,
        "braces": b'{"log":' * (size // 7),
        "entries": head + (b"{}," * (size // 3))[:-1] + tail,
        "entries-of-one-host": head + (entry * (size // len(entry)))[:-1] + tail,
        "repeated-keys": b'{"log":{' + b'"a":0,' * (size // 6) + b'"entries":[]}}',
        "long-url": head + b'{"request":{"url":"https://a.test/' + b"%" * size + b'"}}' + tail,
        "long-host": head + b'{"request":{"url":"https://' + b"a." * (size // 2) + b'/"}}' + tail,
        "long-query": head + b'{"request":{"url":"https://a.test/?' + b"a=&" * (size // 3) + b'"}}' + tail,
        "long-number": head + b'{"time":' + b"9" * size + b"}" + tail,
        "long-date": head + b'{"startedDateTime":"' + b"0" * size + b'"}' + tail,
        "backslashes": head + b'{"pageref":"' + b"\\\\" * (size // 2) + b'"}' + tail,
        "surrogates": head + b'{"pageref":"' + b"\\ud800" * (size // 6) + b'"}' + tail,
        "nested-stacks": head + b'{"_initiator":{"stack":' + b'{"parent":' * (size // 10) + b"0" + tail,
        "names": head + b'{"_securityDetails":{"sanList":[' + (b'"a",' * (size // 4))[:-1] + b"]}}" + tail,
        "spaces": b" " * size + head + tail,
        "gzip": gzip.compress(head + b" " * (20 * size) + tail, mtime=0),
        "pages": json.dumps({"log": {"pages": [{}] * (size // 4), "entries": [{}]}}).encode(),
    }
