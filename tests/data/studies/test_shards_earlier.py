"""Studies of other versions: read where that is true, else refused with the command that makes them whole."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner
from example_study import ROWS, tables_of
from generated_captures import write_captures
from hand_made_har import write_har
from model_tables import model_table
from whole_tables import digests, tables_of_database, tables_of_shards

from originset.cli.main import main
from originset.data.errors import OriginsetError, StudyError
from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies import database
from originset.data.studies.shards import scan, shard_paths
from originset.data.studies.study import FORMAT, Study
from originset.models.parameters import Parameters

pytestmark = pytest.mark.slow

# What came to these tables since; a study of before has shards without them.
_LATER = {
    "visits": ["client", "vantage_ip", "consent_banner", "third_party_cookies"],
    "requests": ["frame_site", "credentials"],
    "connections": ["pooled_by_origin", "misdirected"],
    "dns_queries": ["resolver", "cache_hits"],
    "certificates": ["sct_count"],
}
_COUNTS = ("requests", "hosts", "measured_tls", "measured_dns", "opened_tls", "wire_dns", "ideal_ip", "ideal_origin")
_FULL = os.environ.get("ORIGINSET_SOAK") == "full"
_MAY_BE_MISSING = [
    (name, column)
    for name, table in TABLES.items()
    if table.stage is Stage.ROWS
    for column in table.polars_schema.names()
    if column not in table.needed
]


def _originset(study: Study, *arguments: str) -> None:
    CliRunner().invoke(main, ["--study", str(study.root), *arguments], standalone_mode=False, catch_exceptions=False)


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study that was crawled, imported and analysed, and the HAR that was imported."""
    folder = tmp_path_factory.mktemp("earlier") / "folder"
    study = Study(folder / "S")
    study.create()
    write_captures(study.captures, range(4), folders=2, entries=4)
    har = write_har(folder / "page.har", [(f"https://{host}/", "104.16.0.1", "7") for host in ("a.test", "b.test")])
    _originset(study, "import", str(har))
    _originset(study, "analyze")
    return folder


@pytest.fixture
def study(analysed: Path, tmp_path: Path) -> Study:
    """A copy of it."""
    shutil.copytree(analysed, tmp_path, dirs_exist_ok=True)
    return Study(tmp_path / "S")


@pytest.fixture(scope="module")
def known() -> pl.DataFrame:
    """The counts of the example study, of which nothing is missing."""
    return model_table("page_counts", tables_of(ROWS), Parameters())


def _drop(study: Study, table: str, *columns: str, only: str = "") -> None:
    for path in shard_paths(study, table):
        if path.name.startswith(only):
            pl.read_parquet(path).drop(columns, strict=False).write_parquet(path)


def _is_of(study: Study, version: int) -> None:
    study.manifest_path.write_text(json.dumps({**study.manifest(), "format": version}))


@pytest.mark.parametrize("views", [False, True], ids=["tables", "views"])
@pytest.mark.parametrize("some", ["", "import-"], ids=["all-shards", "some-shards"])
def test_columns_that_came_later_are_not_known(study: Study, some: str, views: bool) -> None:
    _is_of(study, 1)
    for table, columns in _LATER.items():
        _drop(study, table, *columns, only=some)
    study.update_manifest(views=views)
    _originset(study, "study", "model")
    with database.open_database(study) as connection:
        for table, columns in _LATER.items():
            for column in columns:
                kept = scan(study, table).select(pl.col(column).is_not_null().sum()).collect().item()
                assert connection.table(table).count(column).fetchall() == [(kept,)]
                assert kept == 0 or some
    # What captures tell is read from them again; what only a HAR told stays unknown.
    _originset(study, "analyze")
    assert study.manifest()["format"] == FORMAT
    crawled = scan(study, "visits").filter(pl.col("source") == "crawl").collect()
    assert crawled["consent_banner"].dtype == pl.String
    assert all(set(pl.read_parquet_schema(p)) == set(TABLES["visits"].polars_schema) for p in _of_captures(study))


def _of_captures(study: Study) -> list[Path]:
    return [path for path in shard_paths(study, "visits") if path.name.startswith("captures-")]


@pytest.mark.parametrize(("table", "column"), _MAY_BE_MISSING[:: 1 if _FULL else 10])
@pytest.mark.soak
def test_what_may_be_missing_makes_no_count_wrong(known: pl.DataFrame, table: str, column: str) -> None:
    """A count may become unknown, or a range wider; none becomes another, and no row of one goes."""
    tables = tables_of(ROWS)
    rows = tables[table].with_columns(pl.lit(None, TABLES[table].polars_schema[column]).alias(column))
    found = model_table("page_counts", {**tables, table: rows}, Parameters())
    assert found["visit_id"].equals(known["visit_id"])
    for name in _COUNTS:
        for before, after in zip(known[name], found[name], strict=True):
            assert after in (before, None), name


@pytest.mark.parametrize(
    ("column", "shards", "command"),
    [
        ("requests.from_cache", "captures-", "analyze"),
        ("addresses.asn", "all", "analyze"),
        ("hosts.edges", "all", "analyze"),
        ("requests.dns_ms", "import-", "import"),
        ("visits.quality", "import-", "import"),
    ],
)
def test_what_cannot_be_missing_is_refused_with_the_command_that_makes_it_whole(
    study: Study, column: str, shards: str, command: str, tmp_path: Path
) -> None:
    table, _, column = column.partition(".")
    before = tables_of_shards(study)
    _drop(study, table, column, only=shards)
    with pytest.raises(StudyError) as caught:
        _originset(study, "study", "model")
    said = str(caught.value)
    problem = f"was written by an earlier originset and lacks {column};"
    assert re.search(rf"tables/{table}/{shards}\S*\.parquet {problem}", said)
    assert shlex.join(["originset", "--study", str(study.root), command]) in said
    assert "\n" not in said
    _originset(study, command, *([str(tmp_path / "page.har")] if command == "import" else []))
    _originset(study, "study", "model")
    assert digests(tables_of_shards(study)) == digests(before)


def test_a_database_of_before_names_what_it_lacks(study: Study) -> None:
    with duckdb.connect(str(study.database_path)) as connection:
        connection.execute("ALTER TABLE page_counts DROP COLUMN ideal_edge")
    with pytest.raises(StudyError, match=r"lacks page_counts.ideal_edge; run: originset --study \S+ analyze"):
        _originset(study, "query", "ladder_summary")
    _originset(study, "analyze")
    _originset(study, "query", "ladder_summary")


@pytest.mark.parametrize(
    "command", ["query visits_status_summary", "analyze", "study model", "study figures", "import {har}"]
)
def test_a_later_study_is_left_alone(study: Study, tmp_path: Path, command: str) -> None:
    _is_of(study, FORMAT + 1)
    before = {path: path.stat().st_mtime_ns for path in study.root.rglob("*") if path.is_file()}
    says = f"it has format {FORMAT + 1}, and originset .* knows up to {FORMAT}; use originset"
    with pytest.raises(OriginsetError, match=says):
        _originset(study, *command.format(har=tmp_path / "page.har").split())
    assert {path: path.stat().st_mtime_ns for path in study.root.rglob("*") if path.is_file()} == before


def test_nothing_is_lost_where_nothing_is_missing(study: Study) -> None:
    before = tables_of_database(study)
    _is_of(study, 1)
    _originset(study, "analyze")
    assert digests(tables_of_database(study)) == digests(before)
