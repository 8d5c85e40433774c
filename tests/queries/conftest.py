"""The example study with its database, once for all tests of queries."""

from collections.abc import Callable
from pathlib import Path

import pytest
from example_study import ROWS, tables_of

from originset.data.database import build
from originset.data.shards import write_shard
from originset.data.study import Study
from originset.models.fill import model_tables
from originset.models.parameters import Parameters
from originset.models.sensitivity import model_sensitivity


def _built(root: Path, rows: dict, parameters: Parameters, *, sensitivity: bool = False) -> Study:
    study = Study(root)
    tables = tables_of(rows)
    with study.changing("model", parameters.as_dict()):
        for name, frame in tables.items():
            write_shard(study, name, "example", frame.collect())
        modelled = model_tables(tables, parameters)
        if sensitivity:
            modelled["model_sensitivity"] = model_sensitivity(tables, modelled, parameters)
        build(study, modelled)
    return study


@pytest.fixture
def build_study(tmp_path: Path) -> Callable[[dict, Parameters], Study]:
    """A function: rows and parameters -> a study with its database."""
    return lambda rows, parameters: _built(tmp_path / "study", rows, parameters)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The example study of tests/fixtures, modelled with the defaults."""
    return _built(tmp_path_factory.mktemp("queries") / "study", ROWS, Parameters(), sensitivity=True)
