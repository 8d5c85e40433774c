"""The crawl's ledger, ``ledger.sqlite``: a row per (site, vantage, round, repeat, page) and what became of it.

States: queued, leased (a running crawl has it), done, partial, failed, skipped (not to be visited; its error says why).
One commit a change; what a dead crawl left leased is for the next one to settle. Only the crawl writes it.

Beside it lies ``ledger.leases``, which counts the leases too. A ledger that lost rows, because its log was cut, an
earlier copy took its place or it was begun anew, has fewer than were counted there, or another mark. One that has as
many knows of every visit that was begun: what is in the captures and not in it is leased.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from originset.data.files.atomic_files import disk_fault, read_whole, replacing
from originset.data.ledger.ledger_file import SCHEMA, address, check, connect, require_regular, unusable

State = Literal["queued", "leased", "done", "partial", "failed", "skipped"]
Outcome = Literal["done", "partial", "failed", "skipped"]
Key = tuple[str, str, int, int, str]

_ABSORB = """
INSERT INTO main.visits
SELECT site, vantage, round, repeat, page, rank, address, iif(state = 'leased', 'queued', state), attempts, error,
  error_code, changed_at
FROM other.visits WHERE true
ON CONFLICT DO UPDATE SET state = excluded.state, attempts = excluded.attempts, error = excluded.error,
  error_code = excluded.error_code, changed_at = excluded.changed_at
WHERE state IN ('queued', 'leased', 'skipped') AND excluded.state NOT IN ('queued', 'leased', 'skipped')
"""
# The file beside it: the ledger's mark and the count, of a fixed width, so that it is written over in place.
_MARKER = re.compile(rb"([0-9a-f]{16}) ([0-9]{20})\n")
_ROW = "site, vantage, round, repeat, page, rank, address"
_KEY = "site = ? AND vantage = ? AND round = ? AND repeat = ? AND page = ?"
_EVERY = f"""
SELECT {_ROW}, state, attempts FROM visits WHERE (site, vantage, round, repeat, page) > (?, ?, ?, ?, ?)
ORDER BY site, vantage, round, repeat, page LIMIT ?
"""  # noqa: S608 - a constant
_PART = 10_000
_ONE_MORE = """
INSERT INTO facts (name, value) VALUES ('leases', 1) ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1
"""


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
        self._marker_path = path.with_suffix(".leases")
        self._mark: str | None = None
        self._noted = 0
        self._noting = threading.Lock()
        self._lock = threading.Lock()
        self._connection = connect(path)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            # The capture is on disk before its row says so; what a power cut takes of the ledger it has as leased.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(SCHEMA)
        except sqlite3.Error as error:
            self._connection.close()
            raise unusable(path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Cursor]:
        """``durable``: it is on the disk when this ends, and so is all that was committed before."""
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
            raise unusable(self._path, error) from error

    def fact(self, name: str, value: str) -> str:
        """What was first said under this name: ``value``, unless another was said before."""
        with self._transaction() as cursor:
            cursor.execute("INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, value))
            return str(cursor.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()[0])

    def leased(self) -> list[tuple[Row, str]]:
        """What a crawl has taken on, and since when (RFC 3339); before a crawl begins, what a dead one left."""
        found = self._read(f"SELECT {_ROW}, changed_at FROM visits WHERE state = 'leased'")  # noqa: S608 - a constant
        return [(Row(*row), since) for *row, since in found]

    def add(self, rows: Iterable[Row]) -> None:
        """Queue visits; those that the ledger has already stay as they are."""
        with self._transaction() as cursor:
            _insert(cursor, rows)

    def every(self) -> Iterator[tuple[Row, State, int]]:
        """All visits, their states and how often they were tried; what changes meanwhile is told as it was or is."""
        after: Key = ("", "", 0, 0, "")
        while True:
            found = self._read(_EVERY, (*after, _PART))
            for *row, state, attempts in found:
                yield Row(*row), state, attempts
            if len(found) < _PART:
                return
            after = Row(*found[-1][:-2]).key

    def rows(self, vantage: str, round_number: int) -> list[tuple[Row, State]]:
        """All visits of a vantage's round with their states."""
        query = f"SELECT {_ROW}, state FROM visits WHERE vantage = ? AND round = ?"  # noqa: S608 - a constant
        found = self._read(query, (vantage, round_number))
        return [(Row(*row), state) for *row, state in found]

    def requeue(self, row: Row) -> None:
        """Queue a visit again, whatever became of it."""
        self._set(row, "queued")

    def lease(self, rows: Sequence[Row]) -> None:
        """A crawl takes visits on: one attempt more of each. That is on the disk before any of them begins."""
        now = _now()
        with self._transaction(durable=True) as cursor:
            cursor.executemany(
                f"UPDATE visits SET state = 'leased', attempts = attempts + 1, changed_at = ? WHERE {_KEY}",  # noqa: S608 - a constant
                [(now, *row.key) for row in rows],
            )
            cursor.execute(_ONE_MORE)
            _, count = _standing(cursor)
        self._note(count)

    def is_complete(self) -> bool:
        """Whether the ledger has every visit that was begun since :meth:`mark_complete`."""
        try:
            noted = _MARKER.fullmatch(read_whole(self._marker_path, 100))
        except (OSError, OverflowError):
            return False
        with self._transaction() as cursor:
            mark, count = _standing(cursor)
        if noted is None or noted[1].decode() != mark or int(noted[2]) > count:
            return False
        self._mark = mark
        return True

    def mark_complete(self) -> None:
        """Set the completeness marker: every capture that exists now is of a visit that the ledger has.

        From now on leases are counted beside the ledger.
        """
        mark = secrets.token_hex(8)
        with self._transaction(durable=True) as cursor:
            cursor.execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('mark', ?)", (mark,))
            _, count = _standing(cursor)
        with replacing(self._marker_path) as beside:
            beside.write_bytes(_marker(mark, count))
        self._mark, self._noted = mark, count

    def clear_complete(self) -> None:
        """Clear the completeness marker: there may be captures of visits that the ledger lacks."""
        self._mark = None
        self._marker_path.unlink(missing_ok=True)

    def _note(self, count: int) -> None:
        with self._noting:
            if self._mark is None or count <= self._noted:
                return
            try:
                marker = os.open(self._marker_path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:  # whoever removed it wants the captures to be looked through
                self._mark = None
                return
            try:
                # Not synchronised: after a power cut it may count too few, but then the ledger has its leases.
                os.pwrite(marker, _marker(self._mark, count), 0)
            finally:
                os.close(marker)
            self._noted = count

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

    def absorb(self, other: Path) -> None:
        """Take in the rows of another ledger; of a visit that is in both, the one that was made, ours if both were.

        The other's leases are nobody's here: such a visit is queued. What the other does not know of its captures, this
        one does not either.

        Raises:
            StudyError: the other file is no ledger.
        """
        self.clear_complete()
        require_regular(other)
        try:
            with self._lock, closing(self._connection.cursor()) as cursor:
                cursor.execute("ATTACH ? AS other", (address(other.resolve(), read_only=True),))
                try:
                    check(self._connection, "other")
                except BaseException:
                    cursor.execute("DETACH other")
                    raise
        except sqlite3.Error as error:
            raise unusable(other, error) from error
        try:
            with self._transaction() as cursor:
                try:
                    cursor.execute(_ABSORB)
                except sqlite3.DatabaseError as error:
                    raise unusable(self._path if disk_fault(error) else other, error) from error
        finally:
            with self._lock:
                self._connection.execute("DETACH other")

    def counts(self) -> dict[str, int]:
        """How many visits are in each state."""
        return dict(self._read("SELECT state, count(*) FROM visits GROUP BY state"))

    def _read(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise unusable(self._path, error) from error


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


def _standing(cursor: sqlite3.Cursor) -> tuple[str | None, int]:
    """The ledger's mark, and how many leases it knows of."""
    facts = dict(cursor.execute("SELECT name, value FROM facts WHERE name IN ('mark', 'leases')").fetchall())
    return facts.get("mark"), int(facts.get("leases", 0))


def _marker(mark: str, count: int) -> bytes:
    return b"%s %020d\n" % (mark.encode(), count)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
