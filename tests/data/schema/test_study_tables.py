"""The schema: what is promised to users is what a database says of itself."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

from originset.data.schema.page import page
from originset.data.schema.sql_header import read_header
from originset.data.schema.sql_views import view_sql
from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies import database
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study

pytestmark = pytest.mark.slow


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "S")
    made.create()
    return made


def test_every_table_and_column_carries_its_comment(study: Study) -> None:
    database.build_database(study, {})
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
    database.build_database(study, {})
    with database.open_database(study) as connection:
        for table in TABLES.values():
            assert dict(connection.table(table.name).pl().schema) == dict(table.polars_schema), table.name


def test_page_shows_every_column() -> None:
    text = page({})
    for table in TABLES.values():
        section = text.split(f"\n## {table.name}\n")[1].split("\n## ")[0]
        for column in table.columns:
            assert f"| {column.name} |" in section or f"| **{column.name}** |" in section


def test_page_escapes_markdown() -> None:
    lines = [line for line in page({}).splitlines() if line.startswith("| wildcard")]
    assert lines == ["| wildcard | BOOLEAN | the left-most label is \\* |"]


def test_unknown_types_are_a_programming_error() -> None:
    assert isinstance(TABLES["addresses"].polars_schema["asns"], pl.List)


def test_a_view_describes_the_columns_that_it_has() -> None:
    for table in (table for table in TABLES.values() if table.stage is Stage.VIEW):
        header = read_header(view_sql(table.name))
        assert (table.description, table.view) == (header.description, view_sql(table.name))
        columns = {column.name: column.description for column in table.columns}
        of_table = TABLES["requests"].columns if table.name == "network_requests" else ()
        assert columns == {column.name: column.description for column in of_table} | {
            name: meaning
            for name, meaning in header.columns.items()
            if name not in {"visit_id", "request_id"} or not of_table
        }


def test_visits_are_selected_by_a_variable_else_landing_pages(study: Study) -> None:
    rows = [
        ("a", "s", "https://s/", None, "landing"),
        ("b", None, None, "https://s/b", "internal"),
        ("c",) + (None,) * 4,
    ]
    named = ("visit_id", "site", "url", "final_url", "page_kind")
    schema = TABLES["visits"].polars_schema
    visits = pl.DataFrame([{**dict.fromkeys(schema), **dict(zip(named, row, strict=True))} for row in rows], schema)
    write_shard(study, "visits", "example", visits)
    database.build_database(study, {})
    for opened in (lambda: database.open_database(study), lambda: duckdb.connect(study.database_path, read_only=True)):
        with opened() as connection:
            assert _selected(connection) == [("a", "s", "https://s/"), ("c", "c", "c")]
            connection.execute("SET VARIABLE selected_visits = (SELECT list(visit_id) FROM visits WHERE url IS NULL)")
            assert _selected(connection) == [("b", "b", "https://s/b"), ("c", "c", "c")]
            connection.execute("SET VARIABLE selected_visits = []")
            assert _selected(connection) == []


def _selected(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    return connection.execute("SELECT visit_id, site, page FROM selected_visits ORDER BY visit_id").fetchall()
