"""``originset query``: the catalogue, a named query, SQL of one's own, and what is refused."""

import json
from collections import Counter

import duckdb
import polars as pl
import pytest

from originset.cli.common import attached_tables
from originset.data.errors import InputError
from originset.data.studies.study import Study
from originset.queries.catalogue import NamedQuery, Parameter, catalogue


@pytest.fixture
def study(modelled_copy: Study) -> Study:
    return modelled_copy


def test_the_catalogue(run) -> None:
    listed = [json.loads(line) for line in run("query", "--format", "jsonl").stdout.splitlines()]
    assert [row["name"] for row in listed] == list(catalogue())
    assert all(row["summary"] and row["columns"] for row in listed)


def test_a_named_query(run) -> None:
    done = run("query", "visits_status_summary", "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:2] == ["status,visits,visits_pct,sites", "ok,5,83.33333333333333,4"]


def test_sql_of_ones_own(run) -> None:
    done = run("query", "--format", "json", "--sql", "SELECT count(*) AS n, NULL AS u FROM requests")
    assert json.loads(done.stdout) == [{"n": 19, "u": None}]


def test_a_parameter(run) -> None:
    done = run("query", "hosts_top_summary", "--param", "top=1", "--format", "csv")
    # One for each vantage, and for the imported pages; a header.
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4)
    listed = [json.loads(line) for line in run("query", "--format", "jsonl").stdout.splitlines()]
    assert {row["name"]: row["parameters"] for row in listed}["hosts_top_summary"] == ["top=100"]


@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv"])
def test_all_formats_hold_every_query(run, output_format) -> None:
    # Empty without model --sensitivity, two visits of one page from one vantage, and pages recorded with two browsers.
    for name in set(catalogue()) - {"choices_model_summary", "variance_site_summary", "predictions_other_summary"}:
        done = run("query", name, "--format", output_format)
        assert (done.returncode, done.stderr) == (0, ""), name
        assert done.stdout.strip(), name


@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv"])
def test_all_formats_hold_what_sql_gives(run, output_format) -> None:
    done = run("query", "--sql", "SELECT * FROM duckdb_settings()", "--format", output_format)
    assert (done.returncode, done.stderr) == (0, "")
    assert "threads" in done.stdout


def test_the_text_of_a_query(run) -> None:
    assert run("query", "--show", "protocols_summary").stdout == catalogue()["protocols_summary"].sql


def test_a_shown_query_runs_as_it_is(run, study) -> None:
    """With what its parameters are, as other programs have no option for these."""
    shown = run("query", "--show", "hosts_top_summary", "--param", "top=2").stdout
    assert "<= 2\n" in shown
    with duckdb.connect(study.database_path, read_only=True) as connection:
        for name in catalogue():
            text = run("query", "--show", name).stdout
            assert connection.execute(text).fetchall() is not None, name
        # Two of the many hosts of "here", of the three of "there", of all two imported ones.
        assert Counter(row[0] for row in connection.execute(shown).fetchall()) == {"here": 2, "there": 2, None: 2}


@pytest.mark.parametrize(
    ("default", "text"), [(-1, "(-1)"), (0.5, "(0.5::DOUBLE)"), ("it's $a", "'it''s $a'"), (3, "3")]
)
def test_values_of_parameters_stay_values(default, text) -> None:
    query = NamedQuery("q", "", None, {"a": Parameter(default, "")}, {}, "-- $a\nSELECT $a - $a\n")
    assert query.standalone(query.values({})) == f"-- $a\nSELECT {text} - {text}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("no_such_query",), "no query"),
        (("visits_status_summary", "--sql", "SELECT 1"), "at once"),
        (("--show",), "needs a name"),
        (("--sql", "SELECT * FROM missing"), "missing"),
        (("--sql", "COPY visits TO 'stolen.csv'"), "does more than read"),
        (("hosts_top_summary", "--param", "top"), "write --param NAME=VALUE"),
        (("hosts_top_summary", "--param", "top=many"), "not a whole number"),
        (("--param", "top=1"), "needs a named query"),
        (("--sql", ""), "no statement"),
    ],
)
def test_what_cannot_be_done_is_one_line(run, monkeypatch, tmp_path, arguments, says) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("query", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "stolen.csv").exists()


def test_without_a_database(study, run) -> None:
    study.database_path.unlink()
    done = run("query", "visits_status_summary")
    assert done.returncode == 2
    assert f"run: originset --study {study.root} analyze" in done.stderr


def test_a_file_of_ones_own_is_joined(run, tmp_path) -> None:
    (tmp_path / "ranking.csv").write_text("site,rank\nexample.com,7\nshop.test,1000\n")
    pl.DataFrame({"site": ["example.com"], "country": ["LU"]}).write_parquet(tmp_path / "places.parquet")
    with duckdb.connect(str(tmp_path / "own.duckdb")) as own:
        own.execute("CREATE TABLE notes AS SELECT 'example.com' AS site, 'slow' AS note; CREATE VIEW v AS SELECT 1")
    sql = """SELECT DISTINCT site, ranking.rank, country, note FROM visits JOIN ranking USING (site)
        LEFT JOIN p USING (site) LEFT JOIN own_notes USING (site) ORDER BY site"""
    files = ["--attach", tmp_path / "ranking.csv", "--attach", f"p={tmp_path / 'places.parquet'}"]
    done = run("query", *files, "--attach", tmp_path / "own.duckdb", "--sql", sql, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"site": "example.com", "rank": 7, "country": "LU", "note": "slow"},
        {"site": "shop.test", "rank": 1000, "country": None, "note": None},
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--attach", "visits={csv}", "--sql", "FROM visits"], "there is a table visits already"),
        (["--attach", "{csv}", "--attach", "{csv}", "--sql", "FROM list"], "there is a table list already"),
        (["--attach", "{csv}.none", "--sql", "SELECT 1"], "there is no such file"),
        (["--attach", "x={odd}", "--sql", "SELECT 1"], "it cannot be read"),
        (["--attach", "a-b={csv}", "--sql", "SELECT 1"], "is no name of a table"),
        (["--attach", "{csv}", "sites_status_summary"], "--attach needs a statement"),
        (["--attach", "{csv}", "--sql", "FROM read_csv('{csv}')"], ""),
    ],
)
def test_files_that_cannot_be_attached(run, tmp_path, words, says) -> None:
    (tmp_path / "list.csv").write_text("site\na.test\n")
    (tmp_path / "odd.parquet").write_bytes(b"no parquet")
    places = {"csv": tmp_path / "list.csv", "odd": tmp_path / "odd.parquet"}
    done = run("query", *(word.format(**places) for word in words))
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.promise("databases-run-nothing")
def test_what_is_in_an_attached_database_runs_nothing(run, tmp_path) -> None:
    (tmp_path / "secret").write_text("MARKER\n")
    with duckdb.connect(tmp_path / "x.duckdb") as connection:
        connection.execute(f"CREATE VIEW secret AS FROM read_text('{tmp_path / 'secret'}')")
        connection.execute("CREATE TABLE own AS SELECT 1 AS n")
        listed = "SELECT 'attached' AS database_name, 'main' AS schema_name, 'secret' AS table_name, false AS internal"
        connection.execute(f"CREATE MACRO duckdb_tables() AS TABLE {listed}")
    attached = ("--attach", tmp_path / "x.duckdb", "--format", "csv", "--sql")
    assert run("query", *attached, "FROM x_own").stdout == "n\n1\n"
    done = run("query", *attached, "FROM x_secret")
    assert done.returncode == 2
    assert "MARKER" not in done.stdout + done.stderr
    (tmp_path / "link.duckdb").symlink_to(tmp_path / "x.duckdb")
    assert "is a symbolic link" in run("query", "--attach", tmp_path / "link.duckdb", "--sql", "SELECT 1").stderr


def test_an_attached_file_may_not_take_all_memory(tmp_path, monkeypatch) -> None:
    (tmp_path / "list.csv").write_text("n\n" + "1\n" * 1000)
    monkeypatch.setattr(attached_tables, "_MOST_BYTES", 1000)
    with pytest.raises(InputError, match="of memory: attach only"), duckdb.connect() as connection:
        attached_tables.attach(connection, (("list", tmp_path / "list.csv"),))
