"""Batches of a study's shards."""

import shutil
from pathlib import Path

import pytest
from example_study import ROWS, tables_of

from originset.data.errors import StudyError
from originset.data.studies.shards import shard_path, write_shard
from originset.data.studies.study import Study
from originset.models.runner.batches import inputs_of


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study(tmp_path / "study")
    study.create()
    for name, rows in tables_of(ROWS).items():
        write_shard(study, name, "example", rows.collect())
    return study


def test_a_visit_that_is_in_two_shards_is_named_with_both(study: Study) -> None:
    inputs_of(study)
    shutil.copy(shard_path(study, "visits", "example"), shard_path(study, "visits", "import-copy"))
    with pytest.raises(StudyError, match=r"in example\.parquet and import-copy\.parquet of tables/visits"):
        inputs_of(study)


def test_a_visit_that_is_twice_in_one_shard_is_named(study: Study) -> None:
    visits = tables_of({"visits": [*ROWS["visits"], ROWS["visits"][0]]})["visits"].collect()
    write_shard(study, "visits", "example", visits)
    with pytest.raises(StudyError, match=r"occurs more than once, in example\.parquet of"):
        inputs_of(study)
