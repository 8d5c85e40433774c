"""Counts of a ledger, also while a crawl has it open."""

from __future__ import annotations

from pathlib import Path

import pytest

from originset.data.errors import StudyError
from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.ledger.visit_counts import visit_counts


def test_visits_by_vantage_round_state_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    assert visit_counts(path) == []
    rows = [LedgerRow(f"site{number}.test", "lab", 1, 1) for number in range(6)]
    with Ledger(path) as ledger:
        ledger.add([*rows, LedgerRow("a.test", "home", 2, 1)])
        ledger.lease(rows[:5])
        ledger.finish(rows[0], "done")
        ledger.finish(rows[1], "failed", "dns", "net::ERR_NAME_NOT_RESOLVED")
        ledger.finish(rows[2], "failed", "dns", "net::ERR_NAME_RESOLUTION_FAILED")
        ledger.finish(rows[3], "failed", "tls", "net::ERR_CERT_DATE_INVALID")
        found = visit_counts(path)
    assert [(one.vantage, one.round, one.state, one.reason, one.visits) for one in found] == [
        ("home", 2, "queued", None, 1),
        ("lab", 1, "done", None, 1),
        ("lab", 1, "failed", "dns", 2),
        ("lab", 1, "failed", "tls", 1),
        ("lab", 1, "leased", None, 1),
        ("lab", 1, "queued", None, 1),
    ]
    assert all(one.latest.endswith("+00:00") for one in found)


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"no ledger" * 200)
    with pytest.raises(StudyError, match="damaged"):
        visit_counts(tmp_path / "ledger.sqlite")
