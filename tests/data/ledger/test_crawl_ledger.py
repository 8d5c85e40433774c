"""The crawl's book: what it keeps over a crawl's end, whatever kind of end."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from originset.data.errors import StudyError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow

ROWS = [LedgerRow(site, "here", 1, 1, rank=rank) for rank, site in enumerate(["a.test", "b.test", "c.test"], start=1)]


def test_states_survive_and_dead_leases_are_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.add(ROWS)
        ledger.lease(ROWS)
        ledger.finish(ROWS[0], "done")
        ledger.finish(ROWS[1], "failed", "dns", "net::ERR_NAME_NOT_RESOLVED")
    with Ledger(path) as ledger:
        ledger.add(ROWS)  # again: what is known stays
        assert ledger.state_counts() == {"done": 1, "failed": 1, "leased": 1}
        ((left, since),) = ledger.leased_rows()
        assert left == ROWS[2]
        assert datetime.fromisoformat(since) <= datetime.now(UTC)
        ledger.requeue(left)
        assert ledger.leased_rows() == []
        assert {row.site: state for row, state in ledger.rows("here", 1)} == {
            "a.test": "done",
            "b.test": "failed",
            "c.test": "queued",
        }
        ledger.lease(ROWS[2:])
        assert [tries for row, _, tries in ledger.all_rows() if row == ROWS[2]] == [2]
    with sqlite3.connect(path) as raw:
        found = raw.execute("SELECT error, error_code, rank FROM visits WHERE site = 'b.test'").fetchone()
    raw.close()
    assert found == ("dns", "net::ERR_NAME_NOT_RESOLVED", 2)


def test_rounds_vantages_and_repeats_are_different_visits(tmp_path: Path) -> None:
    rows = [LedgerRow("a.test", vantage, round_, repeat) for vantage in "xy" for round_ in (1, 2) for repeat in (1, 2)]
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.add(rows)
        ledger.finish(rows[3], "done")
        assert ledger.state_counts() == {"queued": 7, "done": 1}
        assert {row.key: state for row, state in ledger.rows("x", 2)} == {rows[2].key: "queued", rows[3].key: "done"}


def test_what_follows_from_a_visit_is_queued_with_it(tmp_path: Path) -> None:
    further = [LedgerRow("a.test", "here", 1, 1, "https://a.test/x", address="https://a.test/x"), ROWS[1]]
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.add(ROWS)
        ledger.finish(ROWS[1], "skipped", "robots")
        ledger.finish(ROWS[0], "done", further=further)
        assert {row.key: state for row, state in ledger.rows("here", 1)} == {
            ROWS[0].key: "done",
            ROWS[1].key: "skipped",  # known before: it stays as it is
            ROWS[2].key: "queued",
            further[0].key: "queued",
        }
        assert further[0] in [row for row, _ in ledger.rows("here", 1)]


def test_a_fact_is_what_was_said_first(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.stored_fact("seed", "7") == "7"
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.stored_fact("seed", "8") == "7"


def test_many_threads(tmp_path: Path) -> None:
    rows = [LedgerRow(f"{n}.test", "here", 1, 1) for n in range(200)]
    with Ledger(tmp_path / "ledger.sqlite") as ledger, ThreadPoolExecutor(8) as pool:
        ledger.add(rows)

        def visit(row: LedgerRow) -> None:
            ledger.lease([row])
            ledger.finish(row, "done")

        list(pool.map(visit, rows))
        assert ledger.state_counts() == {"done": 200}


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database, but long enough to be looked at" * 10)
    with pytest.raises(StudyError, match=r"ledger\.sqlite is damaged"):
        Ledger(path)


def test_ledgers_into_one(tmp_path: Path) -> None:
    """What was made is kept, ours before theirs; what only they have made or queued is taken in."""
    sites = ("both", "ours", "theirs", "leased", "queued")
    with Ledger(tmp_path / "a.sqlite") as ours, Ledger(tmp_path / "b?c#d.sqlite") as theirs:
        ours.add(LedgerRow(site, "v", 1, 1) for site in ("both", "ours", "theirs"))
        theirs.add(LedgerRow(site, "v", 1, 1) for site in ("both", "ours", "theirs", "leased", "queued"))
        for ledger, made in ((ours, ("both", "ours")), (theirs, ("both", "theirs"))):
            for site in made:
                ledger.finish(LedgerRow(site, "v", 1, 1), "failed" if ledger is ours else "done", "dns")
        theirs.lease([LedgerRow("leased", "v", 1, 1)])
        ours.absorb(tmp_path / "b?c#d.sqlite")
        states = {row.site: state for row, state in ours.rows("v", 1)}
        assert states == dict(zip(sites, ("failed", "failed", "done", "queued", "queued"), strict=True))
        assert theirs.leased_rows() != []
        ours.absorb(tmp_path / "b?c#d.sqlite")
        assert {row.site: state for row, state in ours.rows("v", 1)} == states
        (tmp_path / "none").write_text("no ledger, but long enough to be taken for a file of SQLite's " * 20)
        with pytest.raises(StudyError, match="is damaged"):
            ours.absorb(tmp_path / "none")
        assert {row.site: state for row, state in ours.rows("v", 1)} == states


def _as_it_lies(ledger: Path, folder: Path) -> Path:
    """A copy of an open ledger's files, as a power cut would leave them or somebody keeps them."""
    folder.mkdir()
    for path in ledger.parent.glob("ledger.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    return folder / ledger.name


def _is_complete(path: Path) -> bool:
    with Ledger(path) as ledger:
        return ledger.is_complete()


def test_a_ledger_that_lost_rows_does_not_vouch(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.add(ROWS)
        assert not ledger.is_complete()
        ledger.mark_complete()
        ledger.lease(ROWS[:1])
        earlier = _as_it_lies(path, tmp_path / "earlier")
        ledger.lease(ROWS[1:2])
        ledger.finish(ROWS[1], "done")
        now = _as_it_lies(path, tmp_path / "now")
        cut = _as_it_lies(path, tmp_path / "cut")
    log = cut.with_name("ledger.sqlite-wal")
    os.truncate(log, log.stat().st_size // 2)
    assert _is_complete(path)
    assert _is_complete(now)
    assert _is_complete(earlier), "together with its own count"
    assert not _is_complete(cut)
    counted = path.with_suffix(".leases")
    earlier.with_suffix(".leases").write_bytes(counted.read_bytes())
    assert not _is_complete(earlier), "an earlier ledger in the place of a later one"
    for content in (b"", b"x" * 38, counted.read_bytes()[:-1]):
        now.with_suffix(".leases").write_bytes(content)
        assert not _is_complete(now)
    counted.unlink()
    assert not _is_complete(path)


def test_what_is_counted_beside_the_ledger_ends_with_what_takes_its_place(tmp_path: Path) -> None:
    path, other = tmp_path / "ledger.sqlite", tmp_path / "other.sqlite"
    for each in (path, other):
        with Ledger(each) as ledger:
            ledger.add(ROWS)
            ledger.mark_complete()
            ledger.lease(ROWS)
    with Ledger(path) as ledger:
        assert ledger.is_complete()
        ledger.absorb(other)
        assert not ledger.is_complete(), "the other study's captures came too"
        ledger.mark_complete()
        path.with_suffix(".leases").unlink()
        ledger.lease(ROWS)
        assert not ledger.is_complete(), "removed while the crawl goes on"
        ledger.mark_complete()
    for file in tmp_path.glob("ledger.sqlite*"):
        file.unlink()
    with Ledger(path) as ledger:
        ledger.add(ROWS)
        for _ in range(3):
            ledger.lease(ROWS)
        assert not ledger.is_complete(), "a new ledger, of another mark"
