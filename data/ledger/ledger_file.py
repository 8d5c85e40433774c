"""The ledger's file: opened as one that somebody else may have written, so that nothing in it runs.

SQLite evaluates views, triggers, generated columns and CHECK constraints of a file that it reads. So before any query
the schema is compared with the one that this program makes, and the rows' types with those that it writes.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from urllib.parse import quote

from originset.data.errors import StudyError
from originset.data.files.atomic_files import disk_fault, read_whole
from originset.data.files.nofollow import NotRegularError, open_regular, stat_regular

SCHEMA = """
CREATE TABLE IF NOT EXISTS visits (
  site TEXT NOT NULL, vantage TEXT NOT NULL, round INTEGER NOT NULL, repeat INTEGER NOT NULL, page TEXT NOT NULL,
  rank INTEGER, address TEXT, state TEXT NOT NULL DEFAULT 'queued', attempts INTEGER NOT NULL DEFAULT 0,
  error TEXT, error_code TEXT, changed_at TEXT NOT NULL,
  PRIMARY KEY (site, vantage, round, repeat, page)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS leased ON visits (state) WHERE state = 'leased';
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID
"""
_BESIDE = ("", "-wal", "-shm", "-journal")
# The longest text of a row that is read, in bytes: an address or an error.
_LONGEST = 4 << 20
# A rollback journal that ends with this names another file, which SQLite would read and remove.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
_STRANGE_VISIT = """
SELECT 1 FROM {schema}.visits WHERE typeof(site) <> 'text' OR typeof(vantage) <> 'text' OR typeof(page) <> 'text'
  OR typeof(round) <> 'integer' OR typeof(repeat) <> 'integer' OR typeof(attempts) <> 'integer'
  OR typeof(rank) NOT IN ('integer', 'null') OR typeof(address) NOT IN ('text', 'null')
  OR address NOT GLOB 'http://*' AND address NOT GLOB 'https://*'
  OR state NOT IN ('queued', 'leased', 'done', 'partial', 'failed', 'skipped') OR datetime(changed_at) IS NULL
  OR changed_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9]*+00:00'
LIMIT 1
"""
_STRANGE_FACT = """
SELECT 1 FROM {schema}.facts WHERE typeof(name) <> 'text' OR typeof(value) <> 'text'
  OR name IN ('seed', 'leases') AND (value GLOB '*[^0-9]*' OR length(value) NOT BETWEEN 1 AND 20)
  OR name = 'leases' AND length(value) > 18
LIMIT 1
"""


def open_ledger_file(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open or make a ledger's file, in SQLite's autocommit mode; any thread may use the connection.

    Raises:
        StudyError: it is a link or no regular file, is damaged, or holds what this program does not write.
    """
    require_regular(path)
    try:
        connection = sqlite3.connect(file_uri(path, read_only=read_only), uri=True, check_same_thread=False)
        try:
            connection.isolation_level = None
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            check_content(connection, "main")
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise ledger_error(path, error) from error
    return connection


def file_uri(path: Path, *, read_only: bool) -> str:
    """The file's URI, as SQLite opens it."""
    return f"file:{quote(str(path.absolute()))}" + ("?mode=ro" if read_only else "")


def require_regular(path: Path) -> None:
    """Check that SQLite will open only regular files: the ledger and its journals.

    Raises:
        StudyError: one is something else, or names a file elsewhere.
    """
    try:
        for ending in _BESIDE:
            stat_regular(path.parent, path.name + ending)
        names_another = _end_of(path.with_name(f"{path.name}-journal")) == _NAMES_ANOTHER
    except NotRegularError as error:
        raise StudyError(path.parent, f"{error.filename} {error.strerror}", "remove it") from error
    if names_another:
        raise StudyError(path.parent, f"{path.name}-journal names another file", "remove it")


def _end_of(journal: Path) -> bytes:
    try:
        opened = open_regular(journal.parent, journal.name)
    except FileNotFoundError:
        return b""
    with open(opened, "rb") as file:  # noqa: PTH123 - it is open already
        file.seek(max(0, os.fstat(opened).st_size - len(_NAMES_ANOTHER)))
        return file.read()


def check_content(connection: sqlite3.Connection, schema: str) -> None:
    """Check that a ledger, ``main`` or an attached one, is intact and has only what this program writes.

    Raises:
        sqlite3.DatabaseError: it is not, or does not.
    """
    known_schema = _known_schema()
    rows = connection.execute(f"SELECT type, name, tbl_name, sql FROM {schema}.sqlite_schema")  # noqa: S608 - a constant
    content = set(rows.fetchmany(len(known_schema) + 1))
    if strange := content - known_schema:
        kind, name, *_ = min(strange, key=repr)
        raise sqlite3.DatabaseError(f"it holds a {kind} that no originset made: {str(name)[:80]}")
    ((check_result,),) = connection.execute(f"PRAGMA {schema}.quick_check(1)").fetchall()
    if check_result != "ok":
        raise sqlite3.DatabaseError(" ".join(str(check_result).split()))
    tables = {name for _, name, *_ in content}
    for table, strange_row in (("visits", _STRANGE_VISIT), ("facts", _STRANGE_FACT)):
        if table in tables and connection.execute(strange_row.format(schema=schema)).fetchone() is not None:
            raise sqlite3.DatabaseError(f"a row of {table} holds what no originset wrote")


@cache
def _known_schema() -> frozenset[tuple[str, str, str, str | None]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


def copy_ledger(ledger: Path, to: Path) -> None:
    """Make a copy, with what lies beside it, that can be written to; a crawl may be writing the ledger meanwhile.

    Raises:
        StudyError: the file is no ledger, or a damaged one.
    """
    try:
        # Read before the ledger, which then has at least as many leases.
        leases: bytes | None = read_whole(ledger.with_suffix(".leases"), 100)
    except (OSError, OverflowError):
        leases = None
    try:
        with closing(open_ledger_file(ledger, read_only=True)) as source, closing(sqlite3.connect(to)) as copy:
            source.backup(copy)
    except sqlite3.Error as error:
        raise ledger_error(ledger, error) from error
    if leases is not None:
        to.with_suffix(".leases").write_bytes(leases)


def ledger_error(path: Path, error: sqlite3.Error) -> StudyError:
    """The error for a file that is not a ledger, or a damaged one; a new one can be made from the captures."""
    if (fault := disk_fault(error)) is not None:
        return StudyError(path.parent, f"ledger.sqlite cannot be used ({fault[0]})", fault[1])
    away = shlex.join([str(path) + ending for ending in _BESIDE[:3]])
    advice = f"run: rm -f {away}; then crawl again: visits that have a capture are not made again"
    return StudyError(path.parent, f"ledger.sqlite is damaged ({error})", advice)
