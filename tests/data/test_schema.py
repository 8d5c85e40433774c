"""The schema: what is promised to users is what a database says of itself."""

from pathlib import Path

import polars as pl
import pytest

from originset.data import database, schema_page
from originset.data.schema import TABLES
from originset.data.study import Study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "S")
    made.create()
    return made


def test_every_table_and_column_carries_its_comment(study: Study) -> None:
    database.build(study, {})
    with database.open_database(study) as connection:
        tables = dict(connection.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall())
        views = "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
        tables |= dict(connection.execute(views).fetchall())
        columns = {
            (table, column): (kind, comment)
            for table, column, kind, comment in connection.execute(
                "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"
            ).fetchall()
        }
    assert tables == {name: table.description for name, table in TABLES.items()}
    assert columns == {
        (name, column.name): (column.type, column.comment) for name, table in TABLES.items() for column in table.columns
    }


def test_keys_name_columns() -> None:
    for table in TABLES.values():
        assert set(table.key) <= set(table.polars_schema.names()), table.name


def test_polars_schema_survives_duckdb(study: Study) -> None:
    for table in TABLES.values():
        with database.open_database(study) if study.database_path.exists() else _built(study) as connection:
            got = connection.table(table.name).pl().schema
        assert dict(got) == dict(table.polars_schema), table.name


def _built(study: Study):
    database.build(study, {})
    return database.open_database(study)


def test_page_shows_every_column() -> None:
    page = schema_page.page()
    for table in TABLES.values():
        section = page.split(f"\n## {table.name}\n")[1].split("\n## ")[0]
        for column in table.columns:
            assert f"| {column.name} |" in section or f"| **{column.name}** |" in section


def test_page_escapes_markdown() -> None:
    lines = [line for line in schema_page.page().splitlines() if line.startswith("| wildcard")]
    assert lines == ["| wildcard | BOOLEAN | the left-most label is \\* |"]


def test_unknown_types_are_a_programming_error() -> None:
    assert isinstance(TABLES["addresses"].polars_schema["asns"], pl.List)
