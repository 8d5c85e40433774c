"""The example study with its database, once for all tests of queries."""

from collections.abc import Callable
from pathlib import Path

import pytest
from example_study import ROWS, write_modelled, write_shards

from originset.cli.modelling.rebuild import rebuild
from originset.data.studies.study import Study
from originset.models.parameters import Parameters


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all as slow: queries need a study with a database."""
    item.add_marker("slow")


@pytest.fixture
def build_study(tmp_path: Path) -> Callable[[dict, Parameters], Study]:
    """A function: rows and parameters -> a study with its database."""

    def call(rows: dict, parameters: Parameters) -> Study:
        study = Study(tmp_path / "study")
        with study.changing("model", parameters.as_dict()):
            write_shards(study, rows)
            rebuild(study, parameters)
        return study

    return call


@pytest.fixture(scope="session")
def study(sensitivity_example: Study) -> Study:
    """The example study of tests/fixtures, modelled with the defaults. No test may change it."""
    return sensitivity_example


@pytest.fixture(scope="module")
def one_place_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The same as if all visits were of one vantage and browser: a and b are two visits of one page then."""
    rows = {**ROWS, "visits": [{**row, "vantage": None, "browser": None} for row in ROWS["visits"]]}
    return write_modelled(Study(tmp_path_factory.mktemp("one_place") / "study"), rows)
