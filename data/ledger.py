"""The crawl's ledger, ``ledger.sqlite``: a row per (site, vantage, round, repeat, page) and what became of it.

States: queued, leased (a running crawl has it), done, partial, failed, skipped (not to be visited; its error says why).
One commit a change; what a dead crawl left leased is for the next one to settle. Only the crawl writes it.
"""

from __future__ import annotations

import shlex
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

from originset.data.errors import StudyError
from originset.data.files import disk_fault

State = Literal["queued", "leased", "done", "partial", "failed", "skipped"]
Outcome = Literal["done", "partial", "failed", "skipped"]
Key = tuple[str, str, int, int, str]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS visits (
  site TEXT NOT NULL, vantage TEXT NOT NULL, round INTEGER NOT NULL, repeat INTEGER NOT NULL, page TEXT NOT NULL,
  rank INTEGER, address TEXT, state TEXT NOT NULL DEFAULT 'queued', attempts INTEGER NOT NULL DEFAULT 0,
  error TEXT, error_code TEXT, changed_at TEXT NOT NULL,
  PRIMARY KEY (site, vantage, round, repeat, page)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS leased ON visits (state) WHERE state = 'leased';
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID
"""
_ABSORB = """
INSERT INTO main.visits
SELECT site, vantage, round, repeat, page, rank, address, iif(state = 'leased', 'queued', state), attempts, error,
  error_code, changed_at
FROM other.visits WHERE true
ON CONFLICT DO UPDATE SET state = excluded.state, attempts = excluded.attempts, error = excluded.error,
  error_code = excluded.error_code, changed_at = excluded.changed_at
WHERE state IN ('queued', 'leased', 'skipped') AND excluded.state NOT IN ('queued', 'leased', 'skipped')
"""
_ROW = "site, vantage, round, repeat, page, rank, address"
_KEY = "site = ? AND vantage = ? AND round = ? AND repeat = ? AND page = ?"


@dataclass(frozen=True, slots=True)
class Row:
    """One visit to make: ``page`` is empty for a landing page, ``address`` the URL that the list gave, if any."""

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
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}", uri=True, check_same_thread=False, isolation_level=None
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            # The capture is on disk before its row says so; a row lost to a power cut only costs a visit made again.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            ((found,),) = self._connection.execute("PRAGMA quick_check(1)").fetchall()
            if found != "ok":
                raise sqlite3.DatabaseError(" ".join(found.split()))
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise _unusable(path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Cursor]:
        with self._lock, closing(self._connection.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")

    def fact(self, name: str, value: str) -> str:
        """What was first said under this name: ``value``, unless another was said before."""
        with self._transaction() as cursor:
            cursor.execute("INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, value))
            return str(cursor.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()[0])

    def leased(self) -> list[tuple[Row, str]]:
        """What a crawl has taken on, and since when (RFC 3339); before a crawl begins, what a dead one left."""
        with self._lock:
            found = self._connection.execute(f"SELECT {_ROW}, changed_at FROM visits WHERE state = 'leased'").fetchall()  # noqa: S608 - a constant
        return [(Row(*row), since) for *row, since in found]

    def add(self, rows: Iterable[Row]) -> None:
        """Queue visits; those that the ledger has already stay as they are."""
        with self._transaction() as cursor:
            _insert(cursor, rows)

    def rows(self, vantage: str, round_number: int) -> list[tuple[Row, State]]:
        """All visits of a vantage's round with their states."""
        with self._lock:
            found = self._connection.execute(
                f"SELECT {_ROW}, state FROM visits WHERE vantage = ? AND round = ?",  # noqa: S608 - a constant
                (vantage, round_number),
            ).fetchall()
        return [(Row(*row), state) for *row, state in found]

    def requeue(self, row: Row) -> None:
        """Queue a visit again, whatever became of it."""
        self._set(row, "queued")

    def lease(self, row: Row) -> None:
        """A crawl takes a visit on: one attempt more."""
        with self._transaction() as cursor:
            cursor.execute(
                f"UPDATE visits SET state = 'leased', attempts = attempts + 1, changed_at = ? WHERE {_KEY}",  # noqa: S608 - a constant
                (_now(), *row.key),
            )

    def finish(
        self,
        row: Row,
        outcome: Outcome,
        error: str | None = None,
        error_code: str | None = None,
        further: Iterable[Row] = (),
    ) -> None:
        """A visit was made and its capture lies in its place; ``further`` visits follow from it."""
        with self._transaction() as cursor:
            _insert(cursor, further)
            _update(cursor, row, outcome, error, error_code)

    def _set(self, row: Row, state: State) -> None:
        with self._transaction() as cursor:
            _update(cursor, row, state, None, None)

    def attempts(self, row: Row) -> int:
        """How often a visit was tried."""
        with self._lock:
            found = self._connection.execute(f"SELECT attempts FROM visits WHERE {_KEY}", row.key).fetchone()  # noqa: S608 - a constant
        return int(found[0]) if found else 0

    def absorb(self, other: Path) -> None:
        """Take in the rows of another ledger; of a visit that is in both, the one that was made, ours if both were.

        The other's leases are nobody's here: such a visit is queued.

        Raises:
            StudyError: the other file is no ledger.
        """
        try:
            with self._lock:
                self._connection.execute("ATTACH ? AS other", (f"file:{quote(str(other.resolve()))}?mode=ro",))
            try:
                with self._transaction() as cursor:
                    cursor.execute(_ABSORB)
            finally:
                with self._lock:
                    self._connection.execute("DETACH other")
        except sqlite3.Error as error:
            raise _unusable(other, error) from error

    def counts(self) -> dict[str, int]:
        """How many visits are in each state."""
        with self._lock:
            return dict(self._connection.execute("SELECT state, count(*) FROM visits GROUP BY state").fetchall())


def _unusable(path: Path, error: sqlite3.Error) -> StudyError:
    """What is in its place is no ledger, or a damaged one: a new one takes what was visited from the captures."""
    if (fault := disk_fault(error)) is not None:
        return StudyError(path.parent, f"ledger.sqlite cannot be used ({fault[0]})", fault[1])
    away = shlex.join([str(path) + ending for ending in ("", "-wal", "-shm")])
    advice = f"run: rm -f {away}; then crawl again: visits that have a capture are not made again"
    return StudyError(path.parent, f"ledger.sqlite is damaged ({error})", advice)


def _insert(cursor: sqlite3.Cursor, rows: Iterable[Row]) -> None:
    now = _now()
    cursor.executemany(
        f"INSERT INTO visits ({_ROW}, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",  # noqa: S608 - a constant
        ((*row.key, row.rank, row.address, now) for row in rows),
    )


def _update(cursor: sqlite3.Cursor, row: Row, state: State, error: str | None, error_code: str | None) -> None:
    cursor.execute(
        f"UPDATE visits SET state = ?, error = ?, error_code = ?, changed_at = ? WHERE {_KEY}",  # noqa: S608 - a constant
        (state, error, error_code, _now(), *row.key),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
