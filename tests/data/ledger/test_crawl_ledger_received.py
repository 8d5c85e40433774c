"""A ledger that somebody else made: nothing in it runs, and SQLite opens no other file for it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from originset.data.errors import StudyError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.ledger.ledger_file import copy_ledger

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
COLUMNS = "site, vantage, round, repeat, page, rank, address, state, attempts, error, error_code, changed_at"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    folder = tmp_path / "received"
    folder.mkdir()
    with Ledger(folder / "ledger.sqlite") as made:
        made.add([LedgerRow("a.test", "here", 1, 1)])
        made.lease([LedgerRow("a.test", "here", 1, 1)])
    return folder / "ledger.sqlite"


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def opened(path: Path, tmp_path: Path) -> None:
    """Each way in which a ledger is read; all must refuse it."""
    with Ledger(tmp_path / "ours.sqlite") as ours:
        for use in (lambda: Ledger(path), lambda: copy_ledger(path, tmp_path / "copy"), lambda: ours.absorb(path)):
            with pytest.raises(StudyError) as told:
                use()
            assert "ledger.sqlite" in str(told.value)
        assert ours.state_counts() == {}


@pytest.mark.promise("databases-run-nothing")
@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE visits RENAME TO v", f"CREATE VIEW visits AS {ENDLESS} i AS site FROM n"],
        ["CREATE VIEW more AS SELECT 1"],
        ["CREATE TRIGGER t AFTER UPDATE ON visits BEGIN DELETE FROM facts; END"],
        ["CREATE TABLE more (a)"],
        ["CREATE INDEX more ON visits (length(site))"],
        ["DROP TABLE facts", "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT AS (name || name))"],
        ["DROP TABLE facts", "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT CHECK (length(value) < 9))"],
    ],
)
def test_what_would_run_is_refused(ledger: Path, tmp_path: Path, statements: list[str]) -> None:
    """A ledger that holds views, triggers or tables that this program does not make is refused before any query."""
    change(ledger, *statements)
    opened(ledger, tmp_path)


@pytest.mark.promise("manifests-and-ledgers-are-bounded")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE visits SET site = x'ff'",
        "UPDATE visits SET rank = 'first'",
        "UPDATE visits SET state = 'x'",
        "UPDATE visits SET changed_at = 'now'",
        "UPDATE visits SET changed_at = '2451545'",
        "UPDATE visits SET round = 1.5",
        "UPDATE visits SET address = 'file:///etc/passwd'",
        "UPDATE visits SET address = 'chrome://version/'",
        "UPDATE facts SET value = '9999999999999999999' WHERE name = 'leases'",
        "INSERT INTO facts VALUES ('seed', 'x')",
        "UPDATE facts SET value = '123456789012345678901' WHERE name = 'leases'",
        "INSERT INTO facts VALUES ('mark', x'00')",
    ],
)
def test_rows_of_another_kind_are_refused(ledger: Path, tmp_path: Path, statement: str) -> None:
    change(ledger, statement)
    opened(ledger, tmp_path)


@pytest.mark.promise("only-regular-files-are-read")
@pytest.mark.promise("links-are-not-followed")
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_sqlite_opens_regular_files_alone(ledger: Path, tmp_path: Path, ending: str) -> None:
    """No link, pipe or device is opened as a ledger, nor as a file that SQLite keeps beside one."""
    victim = tmp_path / "victim.sqlite"
    change(victim, "CREATE TABLE precious (a)")
    before = victim.read_bytes()
    place = Path(f"{ledger}{ending}")
    place.unlink(missing_ok=True)
    place.symlink_to(victim)
    opened(ledger, tmp_path)
    assert victim.read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("victim*")) == ["victim.sqlite"]
    place.unlink()
    os.mkfifo(place)
    opened(ledger, tmp_path)


@pytest.mark.promise("databases-are-ours")
def test_a_journal_that_names_another_file_is_refused(ledger: Path, tmp_path: Path) -> None:
    """SQLite removes no file that a journal beside the ledger names."""
    victim = tmp_path / "thesis.tex"
    victim.write_text("precious")
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        (size,) = connection.execute("PRAGMA page_count").fetchone()
    # A hot journal of no pages, which ends with the name of a "super-journal".
    name = str(victim).encode()
    header = bytes.fromhex("d9d505f920a163d7") + bytes(4) + bytes(4) + size.to_bytes(4, "big")
    header += (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    lock_page = ((1 << 30) // 4096 + 1).to_bytes(4, "big")
    end = len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + bytes.fromhex("d9d505f920a163d7")
    Path(f"{ledger}-journal").write_bytes(header.ljust(512, b"\0") + lock_page + name + end)
    opened(ledger, tmp_path)
    assert victim.read_text() == "precious"


@pytest.mark.promise("manifests-and-ledgers-are-bounded")
def test_a_ledger_with_more_than_a_row_holds(ledger: Path) -> None:
    """Text of a ledger is read up to a bound."""
    change(ledger, "UPDATE visits SET address = 'https://a.test/' || hex(zeroblob(25000000))")
    with pytest.raises(StudyError, match="too big"), Ledger(ledger) as received:
        received.leased_rows()


def test_what_this_program_made_is_read(ledger: Path, tmp_path: Path) -> None:
    with Ledger(ledger) as again:
        assert again.state_counts() == {"leased": 1}
    copy_ledger(ledger, tmp_path / "copy.sqlite")
    with Ledger(tmp_path / "copy.sqlite") as copy:
        copy.absorb(ledger)
        assert copy.state_counts() == {"leased": 1}


@pytest.mark.promise("faults-lose-nothing")
def test_a_full_disk_names_the_ledger(ledger: Path) -> None:
    with Ledger(ledger) as again:
        again._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StudyError, match=r"ledger\.sqlite cannot be used \(No space left on device\); make room"):
            again.add(LedgerRow(f"{number}.test", "here", 1, 1) for number in range(100_000))
