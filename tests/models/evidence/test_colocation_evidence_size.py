"""The evidence between hosts is found without comparing all hosts of a place, of which a large study has very many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from originset.models.runner.definitions import macros, models

pytestmark = pytest.mark.slow

_HOSTS = 6_000
_HOST = "printf('h%05d.example', {})"
_NUMBERS = f"range({_HOSTS}) AS numbers(number)"

# Half of the hosts are in each of two ASes, two have one certificate, and every one is a neighbour of the next two. As
# Parquet, as the models read them: of tables in memory DuckDB knows more, and plans otherwise.
_ROWS = {
    "host_places": f"""
        SELECT 'same_as' AS kind, 'AS' || number % 2 AS place, number::INTEGER AS host_id,
          NULL::TIMESTAMP AS last_seen_at, false AS presented
        FROM {_NUMBERS}
        UNION ALL
        SELECT 'certificate', 'certificate ' || number // 2, number, NULL, false FROM {_NUMBERS}
        UNION ALL
        SELECT 'shared_address', 'address ' || number, number, NULL, false FROM {_NUMBERS}
    """,  # noqa: S608 - constants
    "numbered_hosts": f"SELECT number::INTEGER AS host_id, {_HOST.format('number')} AS host FROM {_NUMBERS}",  # noqa: S608 - constants
    "document_neighbours": f"""
        SELECT {_HOST.format("number")} AS host_a, {_HOST.format("number + more")} AS host_b
        FROM {_NUMBERS}, range(1, 3) AS next(more)
        WHERE number + more < {_HOSTS}
    """,  # noqa: S608 - constants
    "cohosted_lists": "SELECT NULL::VARCHAR[] AS hosts WHERE false",
    "coalesced_pairs": "SELECT '' AS host_a, '' AS host_b, '' AS visit_id, 0 AS connection_id, false AS a_served, "
    "false AS b_served, NULL::TIMESTAMP AS observed_at WHERE false",
    "confirmed_errors": "SELECT '' AS visit_id, 0 AS connection_id, '' AS host WHERE false",
    "misdirected_pairs": "SELECT '' AS host_a, '' AS host_b, '' AS source, NULL::TIMESTAMP AS observed_at WHERE false",
}


def test_no_step_grows_with_the_square_of_a_place(tmp_path: Path) -> None:
    """All pairs of one AS would be nine million rows."""
    sql = models()["colocation_evidence_by_number"].sql
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(macros())
        for name, rows in _ROWS.items():
            connection.execute(f"COPY ({rows}) TO '{tmp_path}/{name}.parquet'")
            connection.execute(f"CREATE VIEW {name} AS FROM '{tmp_path}/{name}.parquet'")
        ((_, profile),) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {sql}").fetchall()
        kinds = connection.execute(f"SELECT kind, count(*) FROM ({sql}) GROUP BY kind").fetchall()  # noqa: S608 - ours
    assert kinds == [("same_as", _HOSTS - 2)]
    steps = [rows for operator in json.loads(profile)["operator"] for rows in _rows(operator)]
    assert _HOSTS < max(steps) < 10 * _HOSTS


def _rows(operator: dict[str, Any]) -> list[int]:
    """How many rows each step of a plan had."""
    below = [rows for child in operator.get("children", ()) for rows in _rows(child)]
    return [operator.get("intermediate_rows", 0), *below]
