"""study.duckdb: one row a key, replaced while others read, and no way out of it."""

import contextlib
import stat
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from originset.data.errors import StudyError
from originset.data.schema.study_tables import TABLES
from originset.data.studies import database
from originset.data.studies.database import build_database
from originset.data.studies.shards import scan, write_shard
from originset.data.studies.study import Study
from originset.data.studies.study_sweep import BUILDING

pytestmark = pytest.mark.slow


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "S")
    made.create()
    return made


def certificates(*ids: str) -> pl.DataFrame:
    return pl.DataFrame({"certificate_id": ids, "subject_cn": ["x"] * len(ids)}).pipe(full, "certificates")


def full(rows: pl.DataFrame, table: str) -> pl.DataFrame:
    schema = TABLES[table].polars_schema
    return rows.select(pl.col(n) if n in rows.columns else pl.lit(None, t).alias(n) for n, t in schema.items())


def test_a_certificate_in_two_shards_is_one(study: Study) -> None:
    write_shard(study, "certificates", "a", certificates("c1", "c2"))
    write_shard(study, "certificates", "b", certificates("c2", "c3"))
    assert scan(study, "certificates").collect().height == 4
    database.build_database(study, {})
    with database.open_database(study) as connection:
        rows = connection.execute("SELECT certificate_id FROM certificates ORDER BY 1").fetchall()
    assert rows == [("c1",), ("c2",), ("c3",)]


@pytest.mark.parametrize("views", [False, True])
def test_a_folder_that_is_named_like_a_partition_fills_no_column(tmp_path: Path, views: bool) -> None:
    """DuckDB takes a folder ``url=x`` for the column ``url`` of what lies below it."""
    study = Study(tmp_path / "url=theirs")
    study.create()
    rows = pl.DataFrame({"visit_id": ["v"], "request_id": [1], "url": ["https://ours.test/"]})
    types = TABLES["requests"].polars_schema
    write_shard(study, "requests", "a", full(rows.cast({name: types[name] for name in rows.columns}), "requests"))
    database.build_database(study, {}, views=views)
    with database.open_database(study) as connection:
        assert connection.execute("SELECT url FROM requests").fetchall() == [("https://ours.test/",)]


def test_the_last_run_is_in_it_with_utc_times(study: Study) -> None:
    with study.changing("import", {"path": 'a"b'}) as counts:
        counts["files"] = 1
        database.build_database(study, {})
    with database.open_database(study) as connection:
        rows = connection.execute("SELECT run_id, command, parameters->>'path', ended_at FROM runs").fetchall()
    assert rows == [(1, "import", 'a"b', None)]


def test_modelled_tables_are_filled_from_all_their_files(study: Study, tmp_path: Path) -> None:
    files = [tmp_path / "0.parquet", tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for tls, path in enumerate(files[:2]):
        rows = pl.DataFrame({"visit_id": [f"v{tls}"], "measured_tls": [tls]}).cast({"measured_tls": pl.Int32})
        full(rows, "page_counts").write_parquet(path)
    TABLES["page_counts"].polars_schema.to_frame().write_parquet(files[2])
    assert database.build_database(study, {"page_counts": files}) == {"page_counts": 2}
    with database.open_database(study) as connection:
        found = connection.execute("SELECT visit_id, measured_tls, ideal_ip FROM page_counts ORDER BY ALL").fetchall()
    assert found == [("v0", 0, None), ("v1", 1, None)]


def test_a_wrong_column_is_not_swallowed(study: Study, tmp_path: Path) -> None:
    pl.DataFrame({"visit_id": ["v"]}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(duckdb.Error, match=r"hosts|measured"):
        database.build_database(study, {"page_counts": [tmp_path / "rows.parquet"]})
    assert [path.name for path in study.root.iterdir()] == ["study.json"]


def test_readers_keep_the_old_file_while_a_new_one_is_built(study: Study) -> None:
    write_shard(study, "certificates", "a", certificates("c1"))
    database.build_database(study, {})
    with database.open_database(study) as reader:
        write_shard(study, "certificates", "b", certificates("c2"))
        (study.root / "study.duckdb.wal").write_bytes(b"stale")
        database.build_database(study, {})
        assert reader.execute("SELECT count(*) FROM certificates").fetchone() == (1,)
    with database.open_database(study) as reader:
        assert reader.execute("SELECT count(*) FROM certificates").fetchone() == (2,)


def test_a_kept_temporary_shard_is_not_read(study: Study) -> None:
    write_shard(study, "certificates", "a", certificates("c1"))
    (study.tables / "certificates" / ".b.parquet.1.tmp").write_bytes(b"half")
    (study.tables / "certificates" / ".b.parquet").write_bytes(b"half")
    assert scan(study, "certificates").collect().height == 1


@pytest.mark.parametrize(
    "statement",
    [
        "COPY runs TO '{out}'",
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH '{out}'",
        "SET enable_external_access = true",
        "CREATE TABLE t (a INT)",
        "EXPORT DATABASE '{out}'",
    ],
)
def test_a_query_gets_no_way_out(study: Study, tmp_path: Path, statement: str) -> None:
    database.build_database(study, {})
    out = tmp_path / "out"
    with database.open_database(study) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(out=out))
    assert not out.exists()


def test_before_analyze_it_says_so(study: Study) -> None:
    with pytest.raises(StudyError, match=r"run: originset --study .* analyze"), database.open_database(study):
        pass


def test_a_damaged_database_is_one_clear_error(study: Study) -> None:
    study.database_path.write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with pytest.raises(StudyError, match="cannot be opened"), database.open_database(study):
        pass


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damage_within_is_found_by_who_reads_it(study: Study, damage: str) -> None:
    """The file's beginning is whole, so that it can be opened."""
    names = pl.DataFrame({"certificate_id": [f"{n:064x}" for n in range(50_000)]}).pipe(full, "certificates")
    write_shard(study, "certificates", "a", names)
    database.build_database(study, {})
    content = bytearray(study.database_path.read_bytes())
    if damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 0xFF
    study.database_path.write_bytes(content)
    says = r"study.duckdb (is damaged|cannot be opened) .*; run: originset --study \S+ analyze$"
    with pytest.raises(StudyError, match=says), database.open_database(study) as connection:
        connection.execute("SELECT max(certificate_id || subject_cn) FROM certificates").fetchall()


@pytest.mark.promise("databases-are-ours")
def test_who_takes_names_away_while_a_database_is_built_gets_nothing_of_it(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write to the study's folder can put a link in the place of the folder that the database is built in."""
    target = tmp_path / "target"
    target.mkdir()
    connect = duckdb.connect

    def after_a_swap(place: str, **options: Any) -> duckdb.DuckDBPyConnection:
        building = study.root / BUILDING
        assert stat.S_IMODE(building.stat().st_mode) == 0o700
        building.rename(tmp_path / "moved")
        building.symlink_to(target)
        return connect(place, **options)

    monkeypatch.setattr(duckdb, "connect", after_a_swap)
    with contextlib.suppress(OSError, StudyError):
        build_database(study, {})
    assert list(target.iterdir()) == []
