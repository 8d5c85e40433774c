"""What counts, and what reached the network, is decided in one file each; all others read what that says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent

#: Columns of visits and requests that decide, and the files that may read them.
DECIDING = {
    "quality": {"models/pages/recording_limits.sql"},
    "challenge": {"models/pages/recording_limits.sql"},
    "network_changed": {"models/pages/recording_limits.sql"},
    "from_cache": {"data/schema/views/network_requests.sql"},
    "status": {
        "models/pages/recording_limits.sql",
        # These are about how visits went, and decide nothing.
        "queries/failures_error_summary.sql",
        "queries/failures_rank_summary.sql",
        "queries/failures_vantage_summary.sql",
        "queries/visits_status_summary.sql",
    },
}
FILES = [
    path for folder in ("models", "queries", "data/schema/views") for path in sorted((TOP / folder).rglob("*.sql"))
]
MODULES = [path for folder in ("models", "queries", "cli") for path in sorted((TOP / folder).rglob("*.py"))]
#: The status of a visit: of a request's response it is a number.
STATUS = r"status (?:IS (?:NOT )?DISTINCT FROM|IN|=|<>|!=) \(?'"


def _code(path: Path) -> str:
    return "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("--"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TOP)))
def test_no_other_query_decides_what_counts(path: Path) -> None:
    code, name = _code(path), str(path.relative_to(TOP))
    for column, homes in DECIDING.items():
        if name not in homes:
            found = re.search(STATUS if column == "status" else rf"\b{column}\b", code)
            assert found is None, f"{column}: read page_basis, counted_visits or network_requests instead"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(TOP)))
def test_no_module_decides_what_counts(path: Path) -> None:
    text = path.read_text()
    assert re.search(STATUS, text) is None
    for column in ("challenge", "from_cache", "network_changed", "quality"):
        decided = rf"list_(?:contains|has_any|has_all)\(\w*\.?{column}|{column} (?:IS|=|<>)|coalesce\(\w*\.?{column}"
        assert re.search(decided, text) is None
