"""study.duckdb is for the oldest DuckDB that it is written for: its tables, views and macros, and every named query."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from originset.data.studies.database import STORAGE_VERSION
from originset.data.studies.study import Study
from originset.queries.catalogue import catalogue
from originset.queries.visit_selection import Selection

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[3] / "build" / f"duckdb-{STORAGE_VERSION.removeprefix('v')}"

# Runs the statements in stdin, by name, over the database in the first argument.
PROGRAM = """
import duckdb, json, sys
assert duckdb.__version__ == sys.argv[2], duckdb.__version__
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    found = {name: connection.execute(text).fetchall() for name, text in json.load(sys.stdin).items()}
json.dump(found, sys.stdout, default=str)
"""


@pytest.fixture
def study(sensitivity_example: Study) -> Study:
    return sensitivity_example


def rounded(value):
    """The last digits of a sum depend on the order of its terms."""
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    return round(value, 9) if isinstance(value, float) else value


def test_the_file_says_which_version_reads_it(study: Study) -> None:
    with duckdb.connect(study.database_path, read_only=True) as connection:
        told = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal"
        assert connection.execute(told).fetchall() == [(f"{STORAGE_VERSION}+",)]


@pytest.mark.skipif(
    not (FOLDER / "duckdb").is_dir() and "ORIGINSET_REQUIRE_TESTBED" not in os.environ,
    reason=f"no DuckDB {STORAGE_VERSION} in build/: make test gets it",
)
def test_every_query_gives_the_same_in_that_version(study: Study) -> None:
    statements = {query.name: query.standalone(query.values({})) for query in catalogue().values()}
    statements["selection"] = f"{Selection(vantage='there').statement}; FROM selected_visits SELECT visit_id"
    statements["exposures"] = "SELECT * FROM exposures ORDER BY ALL"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(study.database_path), FOLDER.name.removeprefix("duckdb-")],
        input=json.dumps(statements),
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    then = json.loads(done.stdout)
    with duckdb.connect(study.database_path, read_only=True) as connection:
        for name, text in statements.items():
            now = json.loads(json.dumps(connection.execute(text).fetchall(), default=str))
            assert rounded(then[name]) == rounded(now), name
    assert then["selection"] == [["b"]]
