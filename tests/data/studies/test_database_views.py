"""A database whose large tables are views over the study's shards: the same answers, wherever the study lies."""

import shutil
from pathlib import Path

import duckdb
import pytest
from example_study import write_modelled
from whole_tables import tables_of_database

from originset.cli.modelling.rebuild import rebuild
from originset.data.errors import StudyError, UsageError
from originset.data.studies import database
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.queries.catalogue import catalogue, rows_of, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def studies(sensitivity_example: Study, tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Study]:
    """The same study with tables and with views."""
    folder = tmp_path_factory.mktemp("views")
    shutil.copytree(sensitivity_example.root, folder / "tables")
    views = write_modelled(Study(folder / "views"), sensitivity=True, views=True)
    return Study(folder / "tables"), views


def test_every_query_gives_the_same(studies: tuple[Study, Study]) -> None:
    tables, views = studies
    with database.open_database(tables) as copied, database.open_database(views) as viewed:
        for name in catalogue():
            assert rows_of(viewed, name).rows() == rows_of(copied, name).rows(), name
        kinds = viewed.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL").fetchall()
        described = "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"
        assert set(viewed.execute(described).fetchall()) == set(copied.execute(described).fetchall())
    assert {"visits", "requests", "connections", "dns_queries"} <= {name for (name,) in kinds}
    assert tables_of_database(views) == tables_of_database(tables)


def test_the_study_can_be_moved(studies: tuple[Study, Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, views = studies
    moved = Study(tmp_path / "moved [1] it's")
    shutil.copytree(views.root, moved.root)
    shutil.rmtree(views.tables)
    monkeypatch.chdir(tmp_path)
    with database.open_database(Study(Path(moved.root.name))) as connection:
        assert connection.execute("SELECT count(*) > 0 FROM requests").fetchone() == (True,)
    monkeypatch.chdir(moved.root)
    with duckdb.connect("study.duckdb", read_only=True) as connection:  # as other programs are told to
        assert connection.execute("SELECT count(*) > 0 FROM requests").fetchone() == (True,)
    shutil.copytree(moved.tables, views.tables)


def test_a_folder_whose_name_duckdb_cannot_be_told(tmp_path: Path) -> None:
    study = write_modelled(Study(tmp_path / "a,b"))
    with study.changing("analyze", {}):
        study.update_manifest(views=True)
        with pytest.raises(StudyError, match="without --views"):
            rebuild(study, Parameters())
    with database.open_database(study) as connection:
        assert connection.execute("SELECT count(*) > 0 FROM requests").fetchone() == (True,)


@pytest.mark.promise("sql-only-reads")
@pytest.mark.parametrize(
    "statement",
    [
        "COPY runs TO '{out}'",
        "COPY (SELECT 1) TO '{shard}'",
        "COPY (SELECT 1) TO 'tables/requests/new.parquet'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('{other}')",
        "SELECT * FROM read_parquet('tables/../../tables/tables/requests/*.parquet')",
        "ATTACH '{out}'",
        "SET allowed_directories = ['/']",
        "SET file_search_path = '/etc'",
    ],
)
def test_a_query_gets_no_way_out(studies: tuple[Study, Study], tmp_path: Path, statement: str) -> None:
    tables, views = studies
    shard, other = (next((study.tables / "requests").glob("*.parquet")) for study in (views, tables))
    before = {path: path.stat().st_mtime_ns for path in views.root.rglob("*")}
    text = statement.format(out=tmp_path / "out", shard=shard, other=other)
    with database.open_database(views) as connection, pytest.raises(duckdb.Error):
        connection.execute(text)
    assert not (tmp_path / "out").exists()
    assert {path: path.stat().st_mtime_ns for path in views.root.rglob("*")} == before


@pytest.mark.promise("sql-only-reads")
@pytest.mark.parametrize("around", ["{}", "WITH q AS ({}) FROM q"])
def test_shards_cannot_be_written_over(studies: tuple[Study, Study], around: str) -> None:
    """What views may read DuckDB would also write; a statement of one's own is looked at before."""
    _, views = studies
    shard = next((views.tables / "requests").glob("*.parquet"))
    before = shard.read_bytes()
    for named in (shard, shard.relative_to(views.root)):
        text = around.format(f"COPY (SELECT 1 AS a) TO '{named}' (FORMAT parquet, USE_TMP_FILE false)")
        with database.open_database(views) as connection, pytest.raises(UsageError, match="does more than read"):
            run(connection, text)
    assert shard.read_bytes() == before
