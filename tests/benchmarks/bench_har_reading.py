"""What reading HARs costs: bytes to finished tables, against haralyzer building the same rows and bare decoding.

CPU seconds of the whole process (all of its threads), best of several rounds, on the real recordings. Run it by itself:
``make bench``, or ``python tests/benchmarks/bench_har_reading.py``.
"""

import gc
import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from haralyzer import HarParser

from originset.analysis.har.tables import HarBatch
from originset.data.schema import TABLES

HARS = Path(__file__).resolve().parents[3] / "shared" / "data" / "hars" / "real"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def texts() -> list[bytes]:
    contents = [path.read_bytes() for path in sorted(HARS.iterdir())]
    unpacked = [gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content for content in contents]
    return [text.removeprefix(b"\xef\xbb\xbf") for text in unpacked]


def ours(hars: list[bytes]) -> int:
    batch = HarBatch()
    for number, text in enumerate(hars):
        batch.add(text, str(number), "")
    tables = batch.tables()
    assert tables["requests"].width == len(TABLES["requests"].columns)
    return tables["requests"].height


def with_orjson(hars: list[bytes]) -> int:
    return sum(len(orjson.loads(text)["log"]["entries"]) for text in hars)


def with_haralyzer(hars: list[bytes]) -> int:
    """Rows of what haralyzer gives of an entry; what it does not know, or stumbles on, is None."""
    rows = []
    for text in hars:
        log = json.loads(text)
        log["log"].setdefault("pages", [])
        parser = HarParser(log)
        for page in parser.pages:
            rows += [_row(page.page_id, entry) for entry in page.entries]
    return len(rows)


def _row(page: str, entry: Any) -> tuple[object, ...]:
    timings = entry.timings

    def tried(read: Callable[[], object]) -> object:
        try:
            return read()
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    return (
        page,
        tried(lambda: entry.url),
        tried(lambda: entry.request.method),
        tried(lambda: entry.request.httpVersion),
        tried(lambda: entry.response.httpVersion),
        tried(lambda: entry.response.status),
        tried(lambda: entry.response.mimeType),
        tried(lambda: entry.response.headersSize),
        tried(lambda: entry.response.bodySize),
        tried(lambda: entry.response.redirectURL),
        tried(lambda: entry.serverAddress),
        tried(lambda: entry.startTime),
        *(timings.get(name) for name in ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")),
    )


def measure(name: str, work: Callable[[list[bytes]], int], hars: list[bytes], rounds: int, collect: bool) -> float:
    best = float("inf")
    entries = 0
    for _ in range(rounds):
        gc.collect()
        if not collect:
            gc.disable()
        begun = time.process_time()
        entries = work(hars)
        best = min(best, time.process_time() - begun)
        gc.enable()
    size = sum(map(len, hars)) / 1e6
    mode = "on" if collect else "off"
    say(f"{name:<34} gc {mode:<3} {best:7.3f} cpu-s {size / best:7.0f} MB/s {best / entries * 1e6:7.1f} us/entry")
    return best


def main() -> None:
    if not HARS.is_dir():
        say(f"{HARS} is absent: nothing to measure on")
        return
    hars = texts()
    say(f"{len(hars)} files, {sum(map(len, hars)) / 1e6:.1f} MB, Python {sys.version.split()[0]}")
    tables = measure("bytes to all tables", ours, hars, 7, collect=True)
    bare = measure("orjson.loads alone", with_orjson, hars, 7, collect=False)
    rows = measure("haralyzer rows (fewer columns)", with_haralyzer, hars, 2, collect=True)
    say(f"against haralyzer {rows / tables:.1f} x, against orjson.loads {bare / tables:.2f} x")


if __name__ == "__main__":
    main()
