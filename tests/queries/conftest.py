"""The example study with its database, once for all tests of queries."""

from collections.abc import Callable
from pathlib import Path

import pytest
from example_study import ROWS, tables_of

from originset.cli.rebuild import rebuild
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study
from originset.models.parameters import Parameters


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all as slow: queries need a study with a database."""
    item.add_marker("slow")


def _built(root: Path, rows: dict, parameters: Parameters, *, sensitivity: bool = False) -> Study:
    study = Study(root)
    with study.changing("model", parameters.as_dict()):
        for name, frame in tables_of(rows).items():
            write_shard(study, name, "example", frame.collect())
        rebuild(study, parameters, sensitivity=sensitivity)
    return study


@pytest.fixture
def build_study(tmp_path: Path) -> Callable[[dict, Parameters], Study]:
    """A function: rows and parameters -> a study with its database."""
    return lambda rows, parameters: _built(tmp_path / "study", rows, parameters)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The example study of tests/fixtures, modelled with the defaults."""
    return _built(tmp_path_factory.mktemp("queries") / "study", ROWS, Parameters(), sensitivity=True)


@pytest.fixture(scope="module")
def one_place_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The same as if all visits were of one vantage and browser: a and b are two visits of one page then."""
    rows = {**ROWS, "visits": [{**row, "vantage": None, "browser": None} for row in ROWS["visits"]]}
    return _built(tmp_path_factory.mktemp("queries") / "study", rows, Parameters(), sensitivity=True)
