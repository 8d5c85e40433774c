"""What reading HARs costs: bytes to a finished table, against haralyzer building the same rows and bare decoding.

CPU seconds of the whole process (all of its threads), best of several rounds, one process, on the real recordings and
on 200 generated ones, which are modelled on the exports of DevTools in ``tests/fixtures/hars`` and on the headers and
initiators of real pages (``tests/fixtures/generated_hars.py`` has the numbers: 8.7 KB an entry as indented, 5.1 KB
without); polars has one thread. Run it by itself: ``make bench``, or ``python tests/benchmarks/bench_har_reading.py``.
"""

import gc
import gzip
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import simdjson
import zstandard
from haralyzer import HarParser

from originset.analysis.har import urls
from originset.analysis.har.entry_columns import EntryColumns
from originset.analysis.har.requests import request_rows
from originset.analysis.har.tables import HarBatch, finished_requests
from originset.analysis.importing.har_files import HarFile, HarText, read_texts
from originset.data.sanitising import url_redaction
from originset.data.schema.study_tables import TABLES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))

from generated_hars import generated_hars

HARS = Path(__file__).resolve().parents[3] / "shared" / "data" / "hars" / "real"
COLUMNS = TABLES["requests"].polars_schema.names()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def real_hars() -> list[bytes]:
    contents = [path.read_bytes() for path in sorted(HARS.iterdir())]
    unpacked = [gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content for content in contents]
    return [text.removeprefix(b"\xef\xbb\xbf") for text in unpacked]


def forget() -> None:
    """Nothing that one round learnt about hosts, addresses and names may help the next."""
    learning = (url_redaction._is_secret_cached, url_redaction._redact_piece_cached)
    for function in (urls.split_authority, urls.normalise_host, urls.canonical_ip, *learning):
        clear = getattr(function, "cache_clear", None)
        if clear is not None:
            clear()


def entry_columns(hars: Iterable[bytes]) -> EntryColumns:
    forget()
    batch = HarBatch()
    for number, text in enumerate(hars):
        batch.add(text, str(number), "")
    return batch._entry_columns


def requests_table(hars: Iterable[bytes]) -> int:
    rows = finished_requests(request_rows(entry_columns(hars)))
    assert rows.columns == COLUMNS
    return rows.height


def all_tables(hars: list[bytes]) -> int:
    forget()
    batch = HarBatch()
    for number, text in enumerate(hars):
        batch.add(text, str(number), "")
    return batch.tables()["requests"].height


def files_table(files: list[HarFile]) -> int:
    """From files, one after another, as an import reads them."""
    found = (text for file in files for text in read_texts(file))
    return requests_table(text.text for text in found if isinstance(text, HarText))


def with_simdjson(hars: list[bytes]) -> int:
    """The tree alone: no value of it becomes an object of Python."""
    parser = simdjson.Parser()
    return sum(len(parser.parse(text)["log"]["entries"]) for text in hars)


def with_orjson(hars: list[bytes]) -> int:
    return sum(len(orjson.loads(text)["log"]["entries"]) for text in hars)


def with_haralyzer(hars: list[bytes]) -> int:
    """The same rows of what haralyzer gives of an entry; what it does not know, or stumbles on, is None.

    It is given what its own ``from_string`` would: the standard library's decoding.
    """
    rows = 0
    for number, text in enumerate(hars):
        log = json.loads(text)
        log["log"].setdefault("pages", [])
        parser = HarParser(log)
        for page in parser.pages:
            entries = page.entries
            first = entries[0].startTime if entries else None
            made = [_row(f"{number} {page.page_id}", place, first, entry) for place, entry in enumerate(entries)]
            assert all(len(row) == len(COLUMNS) for row in made)
            rows += len(made)
    return rows


def _row(page: str, place: int, first: Any, entry: Any) -> tuple[object, ...]:
    """Every column of ``requests``, in order; addresses are split, but not redacted."""
    raw = entry.raw_entry

    def tried(read: Callable[[], object]) -> object:
        try:
            return read()
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    parts: Any = tried(lambda: urlsplit(entry.url))
    timings = entry.timings
    phases = [value if (value := timings.get(name)) is not None and value >= 0 else None for name in _PHASES]
    return (
        page,
        place,
        tried(lambda: entry.url),
        tried(lambda: parts.scheme),
        tried(lambda: parts.hostname),
        tried(lambda: parts.port),
        tried(lambda: entry.request.method),
        tried(lambda: entry.response.httpVersion),
        tried(lambda: entry.request.httpVersion),
        tried(lambda: entry.response.status),
        raw.get("_error"),
        tried(lambda: entry.response.mimeType.partition(";")[0].strip().lower()),
        raw.get("_resourceType"),
        raw.get("_initiator"),
        None,
        "unknown",
        raw.get("_fromCache"),
        tried(lambda: int(raw["connection"])),
        "har",
        tried(lambda: entry.serverAddress),
        tried(lambda: (entry.startTime - first).total_seconds() * 1000),
        *phases,
        tried(lambda: entry.response.headersSize + entry.response.bodySize),
    )


_PHASES = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")


Work = tuple[str, Callable[[Any], int], Any, bool]


def measure(works: list[Work], total: int, rounds: int) -> dict[str, float]:
    """The best CPU time of each: (name, what to do, with what, with the garbage collector on). ``total``: bytes.

    All are done in turn in every round, so that a machine that is busier for a while is so for all of them.
    """
    best = {name: float("inf") for name, *_ in works}
    entries = 0
    for _ in range(rounds):
        for name, work, given, collect in works:
            gc.collect()
            if not collect:
                gc.disable()
            begun = time.process_time()
            entries = work(given)
            best[name] = min(best[name], time.process_time() - begun)
            gc.enable()
    for name, _, _, collect in works:
        size = total / 1e6 / best[name]
        each = best[name] / entries * 1e6
        mode = "on" if collect else "off"
        say(f"  {name:<34} gc {mode:<3} {best[name]:7.3f} cpu-s {size:7.0f} MB/s {each:7.1f} us/entry")
    return best


def compare(what: str, hars: list[bytes], goal: float, tree_goal: float, rounds: int) -> None:
    total = sum(map(len, hars))
    say(f"{what}: {len(hars)} files, {total / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as name:
        plain = [HarFile(Path(name, f"{number}.har"), "") for number in range(len(hars))]
        packed = [HarFile(file.path.with_suffix(".har.zst"), "") for file in plain]
        for text, file, small in zip(hars, plain, packed, strict=True):
            file.path.write_bytes(text)
            small.path.write_bytes(zstandard.compress(text, 3))
        best = measure(
            [
                ("bytes to the table requests", requests_table, hars, True),
                ("orjson.loads alone", with_orjson, hars, False),
                ("simdjson's tree alone", with_simdjson, hars, False),
                ("haralyzer, the same rows", with_haralyzer, hars, True),
                ("plain files to the table requests", files_table, plain, True),
                ("zstd files to the table requests", files_table, packed, True),
                ("bytes to all tables", all_tables, hars, True),
            ],
            total,
            rounds,
        )
    table, bare, tree, rows, from_plain, from_packed, tables = best.values()
    say(f"  against haralyzer {rows / table:.1f} x (goal 10), against orjson.loads {bare / table:.2f} x (goal {goal})")
    say(f"  bytes to all tables against simdjson's tree: {tree / tables:.2f} of its rate (goal {tree_goal})")
    say(f"  a zstd file costs {from_packed / from_plain:.2f} of a plain one (goal 1.3)")


def _share(hars: list[bytes], ready: Barrier, begun: Any, longest: Any) -> None:
    requests_table(hars[:5])
    ready.wait()
    with begun.get_lock():
        begun.value = begun.value or time.perf_counter()
    before = time.process_time()
    requests_table(hars)
    with longest.get_lock():
        longest.value = max(longest.value, time.process_time() - before)


def processes(hars: list[bytes]) -> None:
    """One process and two that have started, each on its half: wall time, and the CPU time of the longer half.

    The second is what the wall time would be if nothing else ran on the machine.
    """
    context = multiprocessing.get_context("spawn")
    hars = sorted(hars, key=len)  # so that the halves are
    best = {1: (float("inf"), float("inf")), 2: (float("inf"), float("inf"))}
    for _ in range(4):
        for count in (1, 2):
            ready, begun, longest = context.Barrier(count), context.Value("d", 0), context.Value("d", 0)
            started = [
                context.Process(target=_share, args=(hars[part::count], ready, begun, longest)) for part in range(count)
            ]
            for process in started:
                process.start()
            for process in started:
                process.join()
            wall = time.perf_counter() - begun.value
            best[count] = (min(best[count][0], wall), min(best[count][1], longest.value))
    (wall_1, cpu_1), (wall_2, cpu_2) = best[1], best[2]
    say(f"two processes: {cpu_1 / cpu_2:.2f} x one by CPU of the longer half (goal 1.8), {wall_1 / wall_2:.2f} by wall")


_IMPORT = """
import resource, sys, time
from pathlib import Path
from rich.progress import Progress
from originset.analysis.importing.import_run import import_hars
from originset.data.studies.study import Study

study = Study(Path(sys.argv[1]))
begun, before = time.perf_counter(), time.process_time()
with study.changing("import", {}), Progress(disable=True) as progress:
    summary = import_hars(study, [Path(sys.argv[2])], progress, jobs=int(sys.argv[3]))
wall, own = time.perf_counter() - begun, time.process_time() - before
others = resource.getrusage(resource.RUSAGE_CHILDREN)
# Not getrusage: a child's peak begins with its parent's.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(summary.imported, summary.requests, int(peak.split()[1]) >> 10, wall, own, others.ru_utime + others.ru_stime)
"""


def imported(study: Path, folder: Path, jobs: int = 1) -> list[str]:
    """What an import says: files, requests, peak MiB, seconds by the clock, and CPU seconds.

    First those of its own process, then those of the processes that it started.
    """
    command = [sys.executable, "-c", _IMPORT, str(study), str(folder), str(jobs)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def jobs(hars: list[bytes]) -> None:
    """``import --jobs 2`` of a large folder of zstd files against one process; the start of the two is counted."""
    number = 6 * len(hars)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "hars")
        folder.mkdir()
        for place in range(number):
            file = folder / f"{place}.har.zst"
            if place < len(hars):
                file.write_bytes(zstandard.compress(hars[place], 3))
            else:
                file.hardlink_to(folder / f"{place % len(hars)}.har.zst")
        best = {1: (float("inf"), float("inf")), 2: (float("inf"), float("inf"))}
        entries = 0
        for turn in range(2):
            for count in (1, 2):
                _, requests, _, *times = imported(Path(name, f"study{count}-{turn}"), folder, count)
                wall, own, others = map(float, times)
                best[count] = min(best[count][0], wall), min(best[count][1], own + others / count)
                entries = int(requests)
    (wall_1, cpu_1), (wall_2, cpu_2) = best[1], best[2]
    say(f"import of {number} files from zstd to Parquet: {cpu_1 / entries * 1e6:.1f} us/entry (goal 15)")
    say(f"  --jobs 2: {wall_1 / wall_2:.2f} x one by the clock (goal 1.8, if nothing else runs),")
    say(f"  {cpu_1 / cpu_2:.2f} by CPU: what is done alone, and half of what two processes use, their start included")


def memory(hars: list[bytes]) -> None:
    """Peak memory of whole imports of more and more files."""
    with tempfile.TemporaryDirectory() as name:
        for number in (100, 200, 400, 800):
            folder = Path(name, f"hars{number}")
            folder.mkdir()
            for place in range(number):
                (folder / f"{place}.har").write_bytes(hars[place % len(hars)])
            files, entries, peak, *_ = imported(Path(name, f"study{number}"), folder)
            say(f"import of {files} files, {entries} requests: peak {peak} MiB")
            for file in folder.iterdir():
                file.unlink()


def main() -> None:
    if os.environ.get("POLARS_MAX_THREADS") != "1":  # it is read as polars is imported
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "POLARS_MAX_THREADS": "1"})  # noqa: S606
    say(f"Python {sys.version.split()[0]}, one process unless said otherwise; polars has one thread")
    if HARS.is_dir():
        compare("real files", real_hars(), 1.0, 0.3, 9)
    else:
        say(f"{HARS} is absent: nothing to measure on there")
    hars = list(generated_hars())
    compare("generated files", hars, 1.8, 0.5, 4)
    processes(hars)
    jobs(hars)
    memory(hars)


if __name__ == "__main__":
    main()
