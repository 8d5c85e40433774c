"""One question, one answer: all outputs that answer a question say the same number, of as many sites."""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from answers import all_answers
from drawn_studies import studies
from example_study import tables_of
from hypothesis import HealthCheck, given, settings
from repeated_crawl import VANTAGES, repeated_crawl

from originset.cli.modelling.rebuild import rebuild
from originset.data.studies.database import open_database
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.queries.ladder import ladder

FULL = os.environ.get("ORIGINSET_SOAK") == "full"


def modelled(rows, folder: Path) -> Study:
    study = Study(folder / "study")
    study.create()
    for name, frame in tables_of(rows).items():
        write_shard(study, name, "drawn", frame.collect())
    with study.changing("model", {}) as counts:
        counts.update(rebuild(study, Parameters(), sensitivity=FULL))
    return study


def disagreements(study: Study) -> list[str]:
    """Questions whose answers differ, in value or in the number of sites."""
    with open_database(study) as connection:
        said = defaultdict(list)
        for group, (question, output, n, value) in all_answers(connection):
            said[group, question].append((output, n, value))
    found = []
    for asked, outputs in said.items():
        numbers = {n for _, n, _ in outputs if n is not None}
        values = [value for _, _, value in outputs]
        # Sums of rounded numbers.
        if len(numbers) > 1 or max(values) - min(values) > 0.02 * len(outputs):
            found.append(f"{asked}: {outputs}")
    return found


@pytest.mark.soak
@settings(
    max_examples=100 if FULL else 3,
    deadline=None,
    derandomize=not FULL,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(rows=studies())
def test_all_outputs_agree(rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert disagreements(modelled(rows, Path(folder))) == []


def test_the_example_agrees(study) -> None:
    assert disagreements(study) == []


def test_recordings_agree(study_of_recordings) -> None:
    assert disagreements(study_of_recordings) == []


@pytest.mark.testbed
def test_a_crawl_from_two_vantages_in_two_rounds_agrees(tmp_path) -> None:
    study = Study(tmp_path / "study")
    repeated_crawl(study, tmp_path / "testbed")
    with open_database(study) as connection:
        drawn = connection.execute(
            "SELECT vantage, page_kind, count(*), count(DISTINCT round) FROM visits GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert drawn == [(vantage, kind, 6, 2) for vantage in VANTAGES for kind in ("internal", "landing")]
    assert disagreements(study) == []


def test_nine_visits_of_a_site_weigh_as_one(build_study, example_rows) -> None:
    """A site visited nine times instead of once changes no rung by more than its interval: here, by nothing."""

    def visited(times: int):
        rows = {
            name: [row for row in of_table if row.get("visit_id") != "e"] for name, of_table in example_rows.items()
        }
        rows["visits"] = [
            {**row, "vantage": None, "browser": None, "url": f"https://{row['site']}/"} for row in rows["visits"]
        ]
        for name in ("visits", "requests", "connections", "dns_queries"):
            again = [row for row in rows[name] if row["visit_id"] == "c"]
            rows[name] += [{**row, "visit_id": f"c{n}"} for n in range(1, times) for row in again]
        with open_database(build_study(rows, Parameters())) as connection:
            return ladder(connection).drop("visits")

    assert visited(1).equals(visited(9), null_equal=True)
