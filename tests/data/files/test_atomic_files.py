"""What a disk refused, as Python and DuckDB say it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from originset.data.files.atomic_files import disk_fault


def test_a_full_disk_that_duckdb_finds_beside_its_own_work(tmp_path: Path) -> None:
    """DuckDB's threads hand such an error on as JSON."""
    (tmp_path / "rows.parquet").symlink_to("/dev/full")
    with duckdb.connect(config={"threads": 1}) as connection, pytest.raises(duckdb.Error) as told:
        connection.execute(
            "COPY (SELECT hash(i) AS x FROM range(100000) t(i)) TO $path (FORMAT parquet, USE_TMP_FILE false)",
            {"path": str(tmp_path / "rows.parquet")},
        )
    assert "exception_type" in str(told.value)
    assert disk_fault(told.value) == (f"No space left on device: {tmp_path}/rows.parquet", "make room")


@pytest.mark.parametrize(
    "text",
    ['IO Error: {"exception_type": half', 'IO Error: {"exception_type": "IO"}', 'IO Error: {"exception_type": [}'],
)
def test_a_text_of_another_shape_is_no_fault_of_the_disk(text: str) -> None:
    assert disk_fault(duckdb.IOException(text)) is None
