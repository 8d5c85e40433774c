"""A study.duckdb that somebody else made: nothing in it runs, and it leads to no file but the study's shards."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from example_study import ROWS, tables_of, write_modelled
from received_study import place_link, place_pipe

from originset.data.errors import StudyError
from originset.data.studies.database import open_database
from originset.data.studies.shards import shard_path, write_shard
from originset.data.studies.study import Study
from originset.queries.catalogue import run

pytestmark = pytest.mark.slow

SECRET = "the user's own"


@pytest.fixture(scope="module")
def made(modelled_example: Study, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Study]:
    """A study without views and one with them."""
    viewed = write_modelled(Study(tmp_path_factory.mktemp("made") / "S"), views=True)
    return {False: modelled_example, True: viewed}


def received(made: dict[bool, Study], tmp_path: Path, *, views: bool) -> Study:
    shutil.copytree(made[views].root, tmp_path / "received")
    return Study(tmp_path / "received")


@pytest.fixture
def study(made: dict[bool, Study], tmp_path: Path) -> Study:
    return received(made, tmp_path, views=False)


@pytest.fixture
def viewed(made: dict[bool, Study], tmp_path: Path) -> Study:
    return received(made, tmp_path, views=True)


def count(study: Study, sql: str = "SELECT count(*) FROM requests") -> int:
    with open_database(study) as connection:
        return int(run(connection, sql).item())


def change(study: Study, *statements: str) -> None:
    with duckdb.connect(str(study.database_path)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.promise("links-are-not-followed")
def test_a_shard_that_is_a_link_is_not_read_by_a_view(viewed: Study, tmp_path: Path) -> None:
    """Under a view a shard that is a link is refused, whatever it leads to."""
    (tmp_path / "passwd").write_text(SECRET)
    place_link(viewed, "tables/requests/example.parquet", tmp_path / "passwd")
    text = "SELECT a FROM read_csv(['tables/requests/example.parquet'], columns = {'a': 'VARCHAR'}, header = false)"
    change(viewed, f"SET file_search_path = '{viewed.root}'", f"CREATE OR REPLACE VIEW requests AS {text}")
    with pytest.raises(StudyError, match=r"example\.parquet is a symbolic link, and none is followed"):
        count(viewed)


@pytest.mark.promise("databases-run-nothing")
def test_a_views_text_is_not_run(viewed: Study, tmp_path: Path) -> None:
    """Views of a study.duckdb are made again by this program: what a stranger wrote into them does not run."""
    (tmp_path / "secret.csv").write_text(f"a\n{SECRET}\n")
    before = count(viewed)
    shard = "tables/requests/example.parquet"
    outside = f"read_csv('{tmp_path}/secret.csv')"
    endless = f"FROM range(1000000000000000), read_parquet(['{shard}']), {outside}"
    change(viewed, f"SET file_search_path = '{viewed.root}'", f"CREATE OR REPLACE VIEW requests AS {endless}")
    assert count(viewed) == before
    change(viewed, f"CREATE OR REPLACE VIEW requests AS FROM {outside}")
    with pytest.raises(StudyError, match="holds a view, requests, which no originset made"):
        count(viewed)


@pytest.mark.promise("databases-run-nothing")
def test_another_view_is_refused(viewed: Study, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text(f"a\n{SECRET}\n")
    change(viewed, f"CREATE VIEW more AS FROM read_csv('{tmp_path}/secret.csv')")
    with pytest.raises(StudyError, match="holds a view, more, which no originset made"):
        count(viewed, "SELECT count(*) FROM more")


# What the catalog would say if nothing in the file were foreign; each hides DuckDB's own function of the same name.
SHADOWS = {
    "duckdb_functions": "() AS TABLE SELECT '' AS function_name, 'macro' AS function_type, 'study' AS database_name, "
    "true AS internal",
    "duckdb_views": "() AS TABLE SELECT '' AS view_name, '' AS sql, 'study' AS database_name, true AS internal",
    "duckdb_tables": "() AS TABLE SELECT '' AS table_name, '' AS sql, 'study' AS database_name, true AS internal",
    "current_setting": "(name) AS true",
    "current_database": "() AS 'elsewhere'",
    "json_serialize_sql": "(text) AS '{}'",
}


@pytest.mark.promise("databases-run-nothing")
@pytest.mark.promise("sql-only-reads")
@pytest.mark.parametrize("statement", ["SELECT max(status) FROM visits", "WITH w AS ({copy}) FROM w"])
def test_functions_named_like_duckdbs_own_decide_nothing(study: Study, tmp_path: Path, statement: str) -> None:
    """What a file holds under the names of DuckDB's functions does not answer for the catalog: nothing leaks."""
    (tmp_path / "secret").write_text(SECRET)
    secret = f"FROM read_text('{tmp_path}/secret') SELECT content"
    change(
        study,
        "ALTER TABLE visits RENAME TO visits_before",
        f"CREATE VIEW visits AS FROM visits_before SELECT * REPLACE (({secret}) AS status)",
        *(f"CREATE MACRO {name}{text}" for name, text in SHADOWS.items()),
    )
    with (
        pytest.raises(StudyError, match=r"holds a function, .*, which no originset made"),
        open_database(study) as opened,
    ):
        run(opened, statement.format(copy=f"COPY (SELECT 1) TO '{tmp_path}/written'"))
    assert not (tmp_path / "written").exists()


@pytest.mark.promise("databases-run-nothing")
@pytest.mark.parametrize("name", ["duckdb_functions", "duckdb_schemas", "duckdb_views"])
def test_a_function_named_like_the_catalogs_does_not_run(study: Study, name: str) -> None:
    """It would not end."""
    endless = "SELECT 1 FROM range(100000000) AS a(i), range(1000000) AS b(j) WHERE i * j < 0"
    change(study, f"CREATE MACRO {name}() AS TABLE {endless}")
    with pytest.raises(StudyError, match=f"holds a function, {name}, which no originset made"):
        count(study)


@pytest.mark.promise("databases-run-nothing")
@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (["DROP TABLE hosts", "CREATE VIEW hosts AS SELECT 1 AS host FROM range(1000000000000000)"], "a view, hosts"),
        (["CREATE MACRO median(a) AS 42"], "a function, median"),
        (["CREATE MACRO addresses_of(a) AS TABLE SELECT * FROM range(a)"], "a function, addresses_of"),
        (["ALTER TABLE hosts RENAME TO h", "CREATE TABLE hosts (host INT, b AS (host + 1))"], "a computed column"),
        (["CREATE MACRO median_interval(a) AS TABLE SELECT a"], "a function, median_interval"),
        (["CREATE SCHEMA other", "CREATE VIEW other.hosts AS SELECT 1"], "a schema, other"),
        (["CREATE TYPE ip AS VARCHAR"], "a type, ip"),
        (["CREATE VIEW more AS SELECT 1"], "a view, more"),
        (["ALTER TABLE hosts ALTER host TYPE INTEGER USING 1"], "has hosts.host as INTEGER, not VARCHAR"),
    ],
)
def test_what_would_run_in_queries_is_refused(study: Study, statements: list[str], says: str) -> None:
    """A study.duckdb that holds functions, computed columns or views of its own is refused."""
    change(study, *statements)
    with pytest.raises(StudyError, match=f"{says}.*run: originset --study {study.root} analyze"):
        count(study)


@pytest.mark.promise("databases-are-ours")
def test_another_kind_of_database_is_not_opened(study: Study) -> None:
    """A study.duckdb is opened only if it has DuckDB's magic: for another kind DuckDB would fetch an extension."""
    study.database_path.unlink()
    with closing(sqlite3.connect(study.database_path)) as made:
        made.execute("CREATE TABLE requests (a)")
        made.commit()
    with pytest.raises(StudyError, match="no database of DuckDB's"):
        count(study)


@pytest.mark.promise("databases-are-ours")
def test_no_extension_is_fetched_or_loaded(study: Study) -> None:
    """DuckDB installs and loads no extension by itself."""
    with open_database(study) as connection:
        settings = "SELECT value FROM duckdb_settings() WHERE name LIKE 'auto%_known_extensions' ORDER BY name"
        assert run(connection, settings).to_series().to_list() == ["false", "false"]


@pytest.mark.promise("only-regular-files-are-read")
@pytest.mark.parametrize("name", ["study.duckdb", "study.duckdb.wal", "tables/requests/example.parquet"])
def test_a_pipe_is_not_waited_for(viewed: Study, name: str) -> None:
    """A pipe in the place of the database, its log or a shard is refused at once."""
    place_pipe(viewed, name)
    with pytest.raises(StudyError, match="is not a regular file"):
        count(viewed)


@pytest.mark.promise("databases-are-ours")
def test_a_log_beside_the_database_is_not_read(study: Study) -> None:
    study.database_path.with_name("study.duckdb.wal").write_bytes(b"\0" * 100)
    with pytest.raises(StudyError, match=r"a write-ahead log, study\.duckdb\.wal; run: "):
        count(study)


@pytest.mark.promise("links-are-not-followed")
def test_a_folder_of_shards_that_is_a_link(viewed: Study, tmp_path: Path) -> None:
    shutil.move(viewed.tables / "requests", tmp_path / "elsewhere")
    place_link(viewed, "tables/requests", tmp_path / "elsewhere")
    with pytest.raises(StudyError, match="is a symbolic link"):
        count(viewed)


@pytest.mark.promise("shards-have-checksums")
def test_bits_that_changed_under_a_view_are_told(viewed: Study) -> None:
    """Before a view reads shards, each one's checksum is compared."""
    path = shard_path(viewed, "requests", "example")
    whole = path.read_bytes()
    for at in range(40):
        changed = bytearray(whole)
        changed[len(whole) * at // 40] ^= 1 << at % 8
        path.write_bytes(changed)
        with pytest.raises(StudyError, match=r"example\.parquet is damaged"):
            count(viewed)
    path.write_bytes(whole)
    assert count(viewed) == len(ROWS["requests"])


@pytest.mark.promise("sql-only-reads")
def test_another_study_in_the_working_directory_is_not_read(
    viewed: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view reads the shards of its own study, from wherever the command is run."""
    other = tmp_path / "other"
    shutil.copytree(viewed.root, other)
    write_shard(Study(other), "requests", "example", tables_of({**ROWS, "requests": []})["requests"].collect())
    monkeypatch.chdir(other)
    assert count(viewed) == len(ROWS["requests"])


@pytest.mark.promise("databases-run-nothing")
def test_macros_are_made_again(study: Study) -> None:
    """What a database holds under the name of a macro of the schema does not run."""
    change(study, "CREATE OR REPLACE MACRO saved_pct_interval(measured, remaining) AS [666, 666]")
    with open_database(study) as connection:
        rows = connection.execute("SELECT saved_pct_interval([10, 10], [5, 5])").fetchall()
    assert rows == [([50.0, 50.0],)]
