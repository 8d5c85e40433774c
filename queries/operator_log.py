"""New connections of two groups over time, from an operator's log of any length."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import IO

import duckdb
import msgspec
import polars as pl

from originset.data.errors import InputError, UsageError
from originset.data.files.json_file import json_problem
from originset.queries.compressed_log import DAMAGED, decompressed
from originset.queries.evaluation import CONTROL, EXPERIMENT

#: The group (control or experiment) of a site, the host of the page that asks; None for one that is in neither.
GroupOfSite = Callable[[str], str | None]

# DuckDB's memory limit; more is spilled to disk.
_MEMORY = "400MB"
_BATCH = 50_000
_LONGEST_LINE = 1 << 16
_MOST_PERIODS = 1_000_000
_SECOND_US = 1_000_000
_LATEST_S = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
# As seconds the year 5138, as milliseconds 1973.
_MILLISECONDS_FROM = 1e11
_COLUMN_SEPARATORS = (",", ";", "\t")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Without one named, the longest of these that divides the window into enough periods to resample.
_USUAL_S = (86_400, 3600, 600, 60, 10, 1)
_ENOUGH = 7

_GROUPS = {"control": CONTROL, "experiment": EXPERIMENT}
_LogRow = tuple[int, str, str, str]


class _Line(msgspec.Struct, frozen=True):
    time: float | str
    group: str
    connection: int | str
    host: str


class _LineOfSite(_Line, frozen=True):
    group: str = msgspec.field(name="site")


@dataclass(frozen=True, slots=True)
class Window:
    """When the change was in force: from ``start`` to ``end`` (exclusive), both in UTC."""

    start: datetime
    end: datetime

    def period(self, every_s: float | None = None) -> float:
        """The length of a period in seconds: the given one, or else one that divides the window into at least 7."""
        length = (self.end - self.start).total_seconds()
        return every_s or next((one for one in _USUAL_S if length >= _ENOUGH * one), 1)


@dataclass(frozen=True, slots=True)
class Periods:
    """``rows``: Time, Control, Experiment, new connections in each period of ``every_s`` seconds.

    ``window``: the first and the last period that lie wholly within the window.
    """

    rows: pl.DataFrame
    window: tuple[datetime, datetime]
    every_s: float


def new_connections(
    path: Path,
    window: Window,
    folder: Path,
    *,
    host: str | None,
    every_s: float,
    group_of: GroupOfSite | None = None,
) -> Periods:
    """New connections in the periods before, within and after a window.

    The log, perhaps compressed by gzip or zstandard, has a line for each request or each handshake, in any order: JSON
    Lines, or CSV whose first line names the columns, separated by commas, semicolons or tabs. ``time`` is ISO 8601 (UTC
    where it has no zone), or seconds or milliseconds since 1970; ``group`` is control or experiment; ``connection`` is
    what tells one from every other of its group; ``host`` may have a port. A connection begins at its earliest line and
    is that line's host's; with ``host`` others' are not counted. With ``group_of`` lines have ``site`` in the place of
    ``group``, and those of sites in neither group do not count. ``folder``: room for what memory has none for. Periods
    begin at the window's start; one in which the window ends is left out.

    Raises:
        InputError: a line is none of such a log; its number is in the text.
        UsageError: the window holds no whole period, or the log spans too many.
    """
    step = timedelta(seconds=every_s)
    whole_periods, rest = divmod(window.end - window.start, step)
    if whole_periods < 1:
        raise UsageError(f"the window is shorter than a period of {every_s:g} s", "name a shorter one with --every")
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": _MEMORY,
        "temp_directory": str(folder),
        "preserve_insertion_order": False,
    }
    with duckdb.connect(str(folder / "log.duckdb"), config=settings) as connection:
        connection.execute("CREATE TABLE lines (number BIGINT, time BIGINT, grp VARCHAR, id VARCHAR, host VARCHAR)")
        number = 0
        for batch in _batches(path, group_of):
            numbers = range(number, number + len(batch))
            number += len(batch)
            columns = dict(zip(("time", "grp", "id", "host"), zip(*batch, strict=True), strict=True))
            connection.register("batch", pl.DataFrame({"number": numbers, **columns}).to_arrow())
            connection.execute("INSERT INTO lines SELECT number, time, grp, id, host FROM batch")
            connection.unregister("batch")
        if number == 0:
            none = "it has no lines" if group_of is None else "it has no lines of sites of the rollout"
            raise InputError(str(path), "empty", none)
        rows_by_period = connection.execute(
            """
            SELECT CAST(floor((begun - $start) / $period) AS BIGINT) AS place, grp, count(*) AS n
            FROM (SELECT grp, min(time) AS begun, arg_min(host, (time, number)) AS first_host
                  FROM lines GROUP BY grp, id)
            WHERE $host IS NULL OR first_host = $host
            GROUP BY ALL
            """,
            {
                "start": (window.start - _EPOCH) // timedelta(microseconds=1),
                "period": step // timedelta(microseconds=1),
                "host": None if host is None else _normal(host),
            },
        ).fetchall()
    if not rows_by_period:
        raise UsageError(f"{path} has no connection for {host}", "name another with --host")
    first, last = min(place for place, _, _ in rows_by_period), max(place for place, _, _ in rows_by_period)
    if last - first >= _MOST_PERIODS:
        raise UsageError(
            f"{path} spans {last - first + 1:,} periods of {every_s:g} s", "name a longer one with --every"
        )
    counts = {group: dict.fromkeys(range(first, last + 1), 0) for group in (CONTROL, EXPERIMENT)}
    for place, group, n in rows_by_period:
        counts[group][place] = n
    places = [place for place in range(first, last + 1) if not (rest and place == whole_periods)]
    start = window.start.replace(tzinfo=None)
    rows = pl.DataFrame(
        {
            "Time": [start + place * step for place in places],
            **{group: [counts_of_group[place] for place in places] for group, counts_of_group in counts.items()},
        },
        schema_overrides={"Time": pl.Datetime("us")},
    )
    return Periods(rows, (start, start + (whole_periods - 1) * step), every_s)


def instant(text: str, *, last: bool = False) -> datetime:
    """An ISO 8601 time in UTC; a day is its beginning, or its end if it is the ``last`` of a window.

    Raises:
        ValueError: it is not such a time.
    """
    time = datetime.fromisoformat(text)
    day = timedelta(days=1) if last and len(text) <= len("2022-01-24") else timedelta()
    return (time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)) + day


def _batches(path: Path, group_of: GroupOfSite | None) -> Iterator[list[_LogRow]]:
    batch: list[_LogRow] = []
    for row in _log_rows(path, group_of):
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _log_rows(path: Path, group_of: GroupOfSite | None) -> Iterator[_LogRow]:
    try:
        with path.open("rb") as stored, decompressed(stored) as file:
            first = file.peek(1)[:1]
            kind = _Line if group_of is None else _LineOfSite
            lines = _json_lines(path, file, kind) if first == b"{" else _csv_lines(path, file, kind)
            for number, line in lines:
                if (row := _log_row(path, number, line, group_of)) is not None:
                    yield row
    except DAMAGED as error:
        raise InputError(str(path), "damaged", "is compressed, and damaged or cut short") from error
    except OSError as error:
        raise InputError(str(path), "unreadable", f"it cannot be read ({error.strerror})") from error


def _lines(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise _not_a_log(path, number, f"it is longer than {_LONGEST_LINE} bytes")
        yield line


def _json_lines(path: Path, file: IO[bytes], kind: type[_Line]) -> Iterator[tuple[int, _Line]]:
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(_lines(path, file), 1):
        if not line.strip():
            continue
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _not_a_log(path, number, json_problem(error)) from None
        yield number, row


def _texts(path: Path, file: IO[bytes]) -> Iterator[str]:
    for number, line in enumerate(_lines(path, file), 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise _not_a_log(path, number, "it is not UTF-8") from None


def _csv_lines(path: Path, file: IO[bytes], kind: type[_Line]) -> Iterator[tuple[int, _Line]]:
    fields = [field.encode_name for field in msgspec.structs.fields(kind)]
    lines = _texts(path, file)
    if (first := next(lines, None)) is None:
        return
    separator = max(_COLUMN_SEPARATORS, key=first.count)
    reader = csv.reader(chain([first], lines), strict=True, delimiter=separator)
    try:
        header = next(reader)
        if missing := [name for name in fields if name not in header]:
            raise _not_a_log(path, 1, f"no column is called {missing[0]}; wanted are {', '.join(fields)}")
        places = [header.index(name) for name in fields]
        for values in reader:
            if not values:
                continue
            if len(values) != len(header):
                raise _not_a_log(path, reader.line_num, f"it has {len(values)} fields, the first line {len(header)}")
            yield reader.line_num, kind(*(values[place] for place in places))
    except csv.Error:
        raise _not_a_log(path, reader.line_num, "a field in quotes does not end where its column does") from None


def _log_row(path: Path, number: int, line: _Line, group_of: GroupOfSite | None) -> _LogRow | None:
    """A line's row; None if its site is in neither group."""
    named = line.group if group_of is None else group_of(_normal(line.group))
    if named is None:
        return None
    if (group := _GROUPS.get(named.strip().lower())) is None:
        raise _not_a_log(path, number, f"its group is {line.group[:40]!r}, neither control nor experiment")
    if (time := _time_us(line.time)) is None:
        raise _not_a_log(
            path, number, f"its time is {str(line.time)[:40]!r}: neither ISO 8601 nor (milli)seconds since 1970"
        )
    return time, group, str(line.connection), _normal(line.host)


def _time_us(time: float | str) -> int | None:
    try:
        seconds = float(time)
    except ValueError:
        try:
            return (instant(str(time)) - _EPOCH) // timedelta(microseconds=1)
        except (ValueError, OverflowError):
            return None
    if seconds >= _MILLISECONDS_FROM:
        seconds /= 1000
    return round(seconds * _SECOND_US) if math.isfinite(seconds) and 0 <= seconds < _LATEST_S else None


def _normal(host: str) -> str:
    return re.sub(r":[0-9]+$", "", host.strip().lower()).removesuffix(".")


def _not_a_log(path: Path, number: int, detail: str) -> InputError:
    return InputError(str(path), "not-a-log", f"line {number}: {detail}")
