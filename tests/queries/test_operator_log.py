"""Operators' logs: what counts as a new connection, where periods begin and end, the authors' own days, bad lines."""

import csv
import gzip
import io
import json
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest
import zstandard

from originset.data.errors import InputError, UsageError
from originset.queries.compressed_log import decompressed
from originset.queries.evaluation import difference_in_differences
from originset.queries.figures import authors
from originset.queries.figures.experiment_figures import PAPER_WINDOW
from originset.queries.operator_log import Window, instant, new_connections

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(seconds=20))


def line(second, group="control", connection=1, host="cdn.example"):
    return {
        "time": (START + timedelta(seconds=second)).isoformat(),
        "group": group,
        "connection": connection,
        "host": host,
    }


@pytest.fixture
def count(tmp_path):
    def counted(lines, host="cdn.example", every_s=10, window=WINDOW):
        path = tmp_path / "log"
        path.write_text("".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in lines))
        folder = tmp_path / "room"
        folder.mkdir()
        found = new_connections(path, window, folder, host=host, every_s=every_s)
        start = window.start.replace(tzinfo=None)
        return found, [((time - start).total_seconds(), a, b) for time, a, b in found.rows.rows()]

    return counted


def test_a_connection_counts_once_when_and_for_what_it_begins(count) -> None:
    _, rows = count(
        [
            # Later lines first: a log need not be in order.
            line(15, connection=7),
            line(1, connection=7, host="CDN.example."),
            # Opened for the page, then used for the shared host: not a new connection to that.
            line(2, "experiment", connection="a", host="www.example"),
            line(3, "experiment", connection="a"),
            # Another group's connection of the same number is another.
            line(12, "Experiment", connection=7),
        ]
    )
    assert rows == [(0, 1, 0), (10, 0, 1)]


def test_of_two_lines_at_one_moment_the_first_decides(count) -> None:
    _, rows = count(
        [line(0, connection=1), *(line(1, connection=2, host=host) for host in ("www.example", "cdn.example"))]
    )
    assert rows == [(0, 1, 0)]


def test_without_a_host_all_count(count) -> None:
    _, rows = count([line(0, connection=1), line(1, connection=2, host="www.example")], host=None)
    assert rows == [(0, 2, 0)]


def test_periods_begin_with_the_window_and_one_that_is_cut_is_left_out(count) -> None:
    window = Window(START, START + timedelta(seconds=25))
    found, rows = count([line(second, connection=second) for second in range(-12, 42)], window=window)
    assert rows == [(-20, 2, 0), (-10, 10, 0), (0, 10, 0), (10, 10, 0), (30, 10, 0), (40, 2, 0)]
    begin = START.replace(tzinfo=None)
    assert found.window == (begin, begin + timedelta(seconds=10))


def test_times_of_every_kind_and_periods_without_any(count) -> None:
    times = [
        "2026-01-01T12:00:00Z",
        "2026-01-01T13:00:00+01:00",
        "2026-01-01 12:00:00",
        START.timestamp(),
        "1767268800",
        START.timestamp() * 1000,
        "1767268800000",
    ]
    _, rows = count(
        [{**line(0, connection=n), "time": time} for n, time in enumerate(times)] + [line(35, connection=9)]
    )
    assert rows == [(0, 7, 0), (10, 0, 0), (20, 0, 0), (30, 1, 0)]


def test_csv_in_any_order_of_columns(count) -> None:
    rows = [line(0, connection=1), line(1, "experiment", connection=2)]
    text = "\ufeffhost,extra,time,group,connection\r\n" + "".join(
        f'"{row["host"]}","a,b",{row["time"]},{row["group"]},{row["connection"]}\r\n' for row in rows
    )
    assert count([text])[1] == [(0, 1, 1)]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([line(0), "{broken\n"], "line 2: it is not JSON at byte"),
        ([line(0), {**line(0), "group": "both"}], "line 2: its group is 'both'"),
        ([line(0), {**line(0), "time": "noon"}], "line 2: its time is 'noon'"),
        ([{**line(0), "time": -1}], "line 1: its time"),
        ([{**line(0), "time": "nan"}], "line 1: its time"),
        ([line(0), "", "\n", {"time": 1, "group": "control", "host": "a"}], "line 3: it lacks connection"),
        (["time,group,connection\n1,control,1\n"], "line 1: no column is called host"),
        (["time,group,connection,host\n1,control,1,a\n1,control,1\n"], "line 3: it has 3 fields"),
        (['time,group,connection,host\n1,control,1,"a\n'], "line 2: a field in quotes"),
        ([json.dumps({**line(0), "host": "x" * 70_000})], "line 1: it is longer"),
        ([], "no lines"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_used_is_named(count, lines, said) -> None:
    with pytest.raises(InputError, match=said) as caught:
        count(lines)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_csv_of_other_spreadsheets_and_hosts_with_a_port(count, separator) -> None:
    text = f"time;group;connection;host\n{START.timestamp()};control;1;cdn.example:443\n".replace(";", separator)
    assert count([text])[1] == [(0, 1, 0)]


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_compressed_log_is_read_and_a_cut_one_refused(tmp_path, compress) -> None:
    plain, packed = tmp_path / "log", tmp_path / "log.packed"
    plain.write_text("".join(json.dumps(line(n % 20, connection=n)) + "\n" for n in range(500)))
    # Several members, as servers append them.
    packed.write_bytes(compress(plain.read_bytes()[:5000]) + compress(plain.read_bytes()[5000:]))
    found = []
    for path in (plain, packed):
        folder = tmp_path / f"room of {path.name}"
        folder.mkdir()
        found.append(new_connections(path, WINDOW, folder, host=None, every_s=10).rows.rows())
    assert found[0] == found[1]
    packed.write_bytes(packed.read_bytes()[:-20])
    (tmp_path / "room").mkdir()
    with pytest.raises(InputError, match="damaged or cut short"):
        new_connections(packed, WINDOW, tmp_path / "room", host=None, every_s=10)


def test_a_piece_of_a_compressed_log_unpacks_to_little() -> None:
    """A gigabyte in some 100 kB is not unpacked before it is asked for."""
    compressor = zstandard.ZstdCompressor().compressobj()
    packed = b"".join(compressor.compress(bytes(1 << 24)) for _ in range(16)) + compressor.flush()
    unpacked = decompressed(io.BufferedReader(io.BytesIO(packed)))
    tracemalloc.start()
    try:
        assert unpacked.read(10) == bytes(10)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_what_cannot_be_counted_says_what_to_do(count) -> None:
    with pytest.raises(UsageError, match="--every"):
        count([line(0)], every_s=21)


def test_a_log_over_decades_in_seconds_is_refused(count) -> None:
    with pytest.raises(UsageError, match="periods of 1 s"):
        count([line(0), {**line(0, connection=2), "time": 0}], every_s=1)


def test_nothing_for_a_host_is_said(count) -> None:
    with pytest.raises(UsageError, match="no connection for other"):
        count([line(0)], host="other")


def test_days_as_bounds_are_whole() -> None:
    window = Window(instant("2022-01-11"), instant("2022-01-24", last=True))
    assert (window.end - window.start).days == 14
    assert window.period() == 86_400
    assert window.period(60) == 60
    assert WINDOW.period() == 1


def test_the_authors_days_as_a_log(shared, tmp_path) -> None:
    """Their connections a day, ten lines each as many, through the reader: what they published, to the last digit."""
    days = authors.figure_8(shared / "paper" / "data")
    path = tmp_path / "log.csv"
    with path.open("w", newline="") as file:
        written = csv.writer(file)
        written.writerow(("time", "group", "connection", "host"))
        for day in days.rows(named=True):
            for group in ("Control", "Experiment"):
                number = round(10 * day[group])
                start = day["Time"].replace(tzinfo=UTC).timestamp()
                written.writerows((start + n * 80_000 / number, group, f"{start} {n}", "cdn") for n in range(number))
    window = Window(instant("2022-01-11"), instant("2022-01-24", last=True))
    found = new_connections(path, window, tmp_path, host="cdn", every_s=window.period())
    assert (found.rows.height, found.window) == (51, PAPER_WINDOW)
    numbers = difference_in_differences(found.rows, *found.window)
    shown = [numbers.during, numbers.against_before, numbers.against_after]
    assert [round(one.value, 1) for one in shown] == [-51.9, -50.6, -48.9]
    assert [round(one, 1) for one in (numbers.before, numbers.after)] == [-2.6, -5.9]
