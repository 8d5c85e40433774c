"""How many visits a ledger has in which state, read beside a crawl that may be writing it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from originset.data.ledger.ledger_file import ledger_error, open_ledger_file

_COUNTS = """
SELECT vantage, round, state, iif(state IN ('done', 'partial', 'failed', 'skipped'), error, NULL) AS reason,
  count(*), max(changed_at)
FROM visits GROUP BY vantage, round, state, reason ORDER BY vantage, round, state, count(*) DESC, reason
"""


@dataclass(frozen=True, slots=True)
class VisitCount:
    """Visits of a vantage's round in one state and for one reason; ``latest`` is when the last came to it (RFC 3339).

    ``reason`` is the kind of error (:mod:`originset.crawler.failures`); None for visits without one.
    """

    vantage: str
    round: int
    state: str
    reason: str | None
    visits: int
    latest: str


def visit_counts(ledger: Path) -> list[VisitCount]:
    """The counts of a ledger, by vantage, round and state; none if there is no ledger.

    Raises:
        StudyError: the file is no ledger, or a damaged one.
    """
    if not ledger.exists():
        return []
    try:
        with closing(open_ledger_file(ledger, read_only=True)) as connection:
            return [VisitCount(*row) for row in connection.execute(_COUNTS)]
    except sqlite3.Error as error:
        raise ledger_error(ledger, error) from error
