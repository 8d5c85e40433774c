"""The crawl's ledger, ``ledger.sqlite``: a row per (site, vantage, round, repeat, page) and what became of it.

States: queued, leased (a running crawl has it), done, partial, failed, skipped (not to be visited; its error says why).
Each change is one commit. The next crawl settles what a dead crawl left leased. Only the crawl writes the ledger.

:mod:`originset.data.ledger.completeness_marker` keeps beside it what shows that it lost no rows.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from originset.data.files.atomic_files import disk_fault
from originset.data.ledger.completeness_marker import CompletenessMarker
from originset.data.ledger.ledger_file import (
    SCHEMA,
    check_content,
    file_uri,
    ledger_error,
    open_ledger_file,
    require_regular,
)

State = Literal["queued", "leased", "done", "partial", "failed", "skipped"]
Outcome = Literal["done", "partial", "failed", "skipped"]
Key = tuple[str, str, int, int, str]

_MERGE_OTHER = """
INSERT INTO main.visits
SELECT site, vantage, round, repeat, page, rank, address, iif(state = 'leased', 'queued', state), attempts, error,
  error_code, changed_at
FROM other.visits WHERE true
ON CONFLICT DO UPDATE SET state = excluded.state, attempts = excluded.attempts, error = excluded.error,
  error_code = excluded.error_code, changed_at = excluded.changed_at
WHERE state IN ('queued', 'leased', 'skipped') AND excluded.state NOT IN ('queued', 'leased', 'skipped')
"""
_ROW_COLUMNS = "site, vantage, round, repeat, page, rank, address"
_KEY_CONDITION = "site = ? AND vantage = ? AND round = ? AND repeat = ? AND page = ?"
_ROWS_AFTER = f"""
SELECT {_ROW_COLUMNS}, state, attempts FROM visits WHERE (site, vantage, round, repeat, page) > (?, ?, ?, ?, ?)
ORDER BY site, vantage, round, repeat, page LIMIT ?
"""  # noqa: S608 - a constant
_ROWS_AT_ONCE = 10_000
_COUNT_LEASE = """
INSERT INTO facts (name, value) VALUES ('leases', 1) ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1
"""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One visit to make: ``page`` is empty for a landing page, ``address`` is the site list's URL, if it has one."""

    site: str
    vantage: str
    round: int
    repeat: int
    page: str = ""
    rank: int | None = None
    address: str | None = None

    @property
    def key(self) -> Key:
        """What identifies the row."""
        return self.site, self.vantage, self.round, self.repeat, self.page


class Ledger:
    """An open ledger; may be used from several threads."""

    def __init__(self, path: Path) -> None:
        """Open or make it.

        Raises:
            StudyError: the file cannot be opened, or is no ledger.
        """
        self._path = path
        self._marker = CompletenessMarker(path)
        self._lock = threading.Lock()
        self._connection = open_ledger_file(path)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            # The capture is on the disk before its row says so; a row that a power cut takes is leased again.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(SCHEMA)
        except sqlite3.Error as error:
            self._connection.close()
            raise ledger_error(path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Cursor]:
        """``durable``: when it ends, it is on the disk, and so is all that was committed before."""
        try:
            with self._lock, closing(self._connection.cursor()) as cursor:
                if durable:
                    cursor.execute("PRAGMA synchronous = FULL")
                try:
                    cursor.execute("BEGIN IMMEDIATE")
                    try:
                        yield cursor
                    except BaseException:
                        if self._connection.in_transaction:  # SQLite itself ends it where the disk is full
                            cursor.execute("ROLLBACK")
                        raise
                    cursor.execute("COMMIT")
                finally:
                    if durable:
                        cursor.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error as error:
            raise ledger_error(self._path, error) from error

    def stored_fact(self, name: str, value: str) -> str:
        """The value stored under this name; ``value`` is stored first if there is none."""
        with self._transaction() as cursor:
            cursor.execute("INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, value))
            return str(cursor.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()[0])

    def leased_rows(self) -> list[tuple[LedgerRow, str]]:
        """The leased visits and the time of each lease (RFC 3339); before a crawl begins, those of a dead crawl."""
        rows = self._read(f"SELECT {_ROW_COLUMNS}, changed_at FROM visits WHERE state = 'leased'")  # noqa: S608 - a constant
        return [(LedgerRow(*row), since) for *row, since in rows]

    def add(self, rows: Iterable[LedgerRow]) -> None:
        """Queue visits; visits that are already in the ledger stay as they are."""
        with self._transaction() as cursor:
            _insert(cursor, rows)

    def all_rows(self) -> Iterator[tuple[LedgerRow, State, int]]:
        """All visits with states and attempts; a visit that changes concurrently has its old or new state."""
        after: Key = ("", "", 0, 0, "")
        while True:
            page = self._read(_ROWS_AFTER, (*after, _ROWS_AT_ONCE))
            for *row, state, attempts in page:
                yield LedgerRow(*row), state, attempts
            if len(page) < _ROWS_AT_ONCE:
                return
            after = LedgerRow(*page[-1][:-2]).key

    def rows(self, vantage: str, round_number: int) -> list[tuple[LedgerRow, State]]:
        """All visits of a vantage's round with their states."""
        query = f"SELECT {_ROW_COLUMNS}, state FROM visits WHERE vantage = ? AND round = ?"  # noqa: S608 - a constant
        selected = self._read(query, (vantage, round_number))
        return [(LedgerRow(*row), state) for *row, state in selected]

    def requeue(self, row: LedgerRow) -> None:
        """Queue a visit again, whatever its state is."""
        self._set(row, "queued")

    def lease(self, rows: Sequence[LedgerRow]) -> None:
        """Lease visits to the crawl, one more attempt each. The leases are on the disk before any visit begins."""
        now = _now()
        with self._transaction(durable=True) as cursor:
            cursor.executemany(
                f"UPDATE visits SET state = 'leased', attempts = attempts + 1, changed_at = ? WHERE {_KEY_CONDITION}",  # noqa: S608 - a constant
                [(now, *row.key) for row in rows],
            )
            cursor.execute(_COUNT_LEASE)
            _, count = _lease_count(cursor)
        self._marker.note(count)

    def is_complete(self) -> bool:
        """Whether the ledger has every visit that was begun since :meth:`mark_complete`."""
        if (noted := self._marker.read()) is None:
            return False
        with self._transaction() as cursor:
            mark, count = _lease_count(cursor)
        return mark is not None and self._marker.is_of(noted, mark, count)

    def mark_complete(self) -> None:
        """Set the completeness marker: every capture that exists now is of a visit that the ledger has.

        From now on leases are counted beside the ledger.
        """
        mark = secrets.token_hex(8)
        with self._transaction(durable=True) as cursor:
            cursor.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('mark', ?)", (mark,))
            _, count = _lease_count(cursor)
        self._marker.set(mark, count)

    def clear_complete(self) -> None:
        """Clear the completeness marker: there may be captures of visits that the ledger lacks."""
        self._marker.clear()

    def finish(
        self,
        row: LedgerRow,
        outcome: Outcome,
        error: str | None = None,
        error_code: str | None = None,
        further: Iterable[LedgerRow] = (),
    ) -> None:
        """Mark a visit as made, after its capture is in its place; ``further`` visits from it are queued."""
        with self._transaction() as cursor:
            _insert(cursor, further)
            _update(cursor, row, outcome, error, error_code)

    def _set(self, row: LedgerRow, state: State) -> None:
        with self._transaction() as cursor:
            _update(cursor, row, state, None, None)

    def absorb(self, other: Path) -> None:
        """Add the rows of another ledger. Of a visit in both, a row that was made is kept, or else ours.

        A visit that the other has leased is queued here. Captures that the other has no rows of, this one has none of
        either, so the marker is cleared.

        Raises:
            StudyError: the other file is no ledger.
        """
        self.clear_complete()
        require_regular(other)
        try:
            with self._lock, closing(self._connection.cursor()) as cursor:
                cursor.execute("ATTACH ? AS other", (file_uri(other.resolve(), read_only=True),))
                try:
                    check_content(self._connection, "other")
                except BaseException:
                    cursor.execute("DETACH other")
                    raise
        except sqlite3.Error as error:
            raise ledger_error(other, error) from error
        try:
            with self._transaction() as cursor:
                try:
                    cursor.execute(_MERGE_OTHER)
                except sqlite3.DatabaseError as error:
                    raise ledger_error(self._path if disk_fault(error) else other, error) from error
        finally:
            with self._lock:
                self._connection.execute("DETACH other")

    def state_counts(self) -> dict[str, int]:
        """How many visits are in each state."""
        return dict(self._read("SELECT state, count(*) FROM visits GROUP BY state"))

    def _read(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise ledger_error(self._path, error) from error


def _insert(cursor: sqlite3.Cursor, rows: Iterable[LedgerRow]) -> None:
    now = _now()
    cursor.executemany(
        f"INSERT INTO visits ({_ROW_COLUMNS}, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",  # noqa: S608 - a constant
        ((*row.key, row.rank, row.address, now) for row in rows),
    )


def _update(cursor: sqlite3.Cursor, row: LedgerRow, state: State, error: str | None, error_code: str | None) -> None:
    cursor.execute(
        f"UPDATE visits SET state = ?, error = ?, error_code = ?, changed_at = ? WHERE {_KEY_CONDITION}",  # noqa: S608 - a constant
        (state, error, error_code, _now(), *row.key),
    )


def _lease_count(cursor: sqlite3.Cursor) -> tuple[str | None, int]:
    """The ledger's mark, and how many leases it has."""
    facts = dict(cursor.execute("SELECT name, value FROM facts WHERE name IN ('mark', 'leases')").fetchall())
    return facts.get("mark"), int(facts.get("leases", 0))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
