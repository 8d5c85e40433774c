"""What is said of reference data that does not fit a study's visits."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from originset.cli.common.reference_data import TableOfYear, reference_with, warn_of_older_visits
from originset.data.errors import UsageError
from originset.data.reference.snapshot import Reference, built_in_reference
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study


def said_of(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    *days: date,
    reference: Reference | None = None,
) -> str:
    study = Study(folder)
    study.create()
    times = [datetime(day.year, day.month, day.day, tzinfo=UTC).replace(tzinfo=None) for day in days]
    rows = [{"visit_id": str(number), "started_at": time} for number, time in enumerate(times)]
    write_shard(study, "visits", "x", pl.DataFrame(rows, schema=TABLES["visits"].polars_schema))
    warn_of_older_visits(study, reference or built_in_reference())
    return capsys.readouterr().err


def test_visits_of_long_before_the_table_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dated = date.fromisoformat(built_in_reference().facts["ip_to_as"]["date"])
    said = said_of(tmp_path / "old", capsys, date(2016, 5, 4), date(2019, 12, 31), dated)
    assert said.startswith(f"2 visits are of 2016 to 2019, and the IP-to-AS table is of {dated}")
    assert len(said.splitlines()) == 1
    assert "--ip-to-as" in said
    assert said_of(tmp_path / "new", capsys, dated, dated - timedelta(days=300)) == ""
    assert said_of(tmp_path / "none", capsys) == ""


def test_visits_of_a_year_with_a_table_are_not_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "2016=.dat"
    table.write_text("10.0.0.0/8\t64500\n")
    reference = reference_with([TableOfYear()(f"2016={table}"), TableOfYear()(f"2011={table}")])
    assert {"ip_to_as", "ip_to_as_2016"} <= reference.facts.keys()
    days = (date(2016, 5, 4), date(2019, 12, 31))
    unused, older = said_of(tmp_path / "S", capsys, *days, reference=reference).splitlines()
    assert unused == "no visit is of 2011: the IP-to-AS table of that year is not used"
    assert older.startswith("1 visits are of 2019, and")


def test_two_tables_for_the_same_visits(tmp_path: Path) -> None:
    (table := tmp_path / "t.dat").write_text("10.0.0.0/8\t64500\n")
    for year, which in ((None, "without a year"), (2016, "for 2016")):
        with pytest.raises(UsageError, match=f"there is a table {which} already"):
            reference_with([(year, table), (2017, table), (year, table)])
