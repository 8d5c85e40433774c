"""What is said of reference data that does not fit a study's visits."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from originset.cli.common.reference_data import warn_of_older_visits
from originset.data.reference.snapshot import built_in_reference
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study


def said_of(folder: Path, capsys: pytest.CaptureFixture[str], *days: date) -> str:
    study = Study(folder)
    study.create()
    times = [datetime(day.year, day.month, day.day, tzinfo=UTC).replace(tzinfo=None) for day in days]
    rows = [{"visit_id": str(number), "started_at": time} for number, time in enumerate(times)]
    write_shard(study, "visits", "x", pl.DataFrame(rows, schema=TABLES["visits"].polars_schema))
    warn_of_older_visits(study, built_in_reference())
    return capsys.readouterr().err


def test_visits_of_long_before_the_table_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dated = date.fromisoformat(built_in_reference().facts["ip_to_as"]["date"])
    said = said_of(tmp_path / "old", capsys, date(2016, 5, 4), date(2019, 12, 31), dated)
    assert said.startswith(f"2 visits are of 2016 to 2019, and the IP-to-AS table is of {dated}")
    assert len(said.splitlines()) == 1
    assert "--ip-to-as" in said
    assert said_of(tmp_path / "new", capsys, dated, dated - timedelta(days=300)) == ""
    assert said_of(tmp_path / "none", capsys) == ""
