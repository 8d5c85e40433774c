"""Visits are selected by what they have in common; what is no condition over visits is refused in one line."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from example_study import tables_of

from originset.data.errors import UsageError
from originset.data.studies import database
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study
from originset.queries.visit_selection import Selection, holds_internal_pages, reads_selection, select_visits

VISITS = [
    {"visit_id": "har", "site": "a.test", "rank": 7},
    {"visit_id": "l1", "site": "a.test", "rank": 1, "page_kind": "landing", "vantage": "ams", "round": 1},
    {"visit_id": "l2", "site": "b.test", "rank": 2, "page_kind": "landing", "vantage": "it's", "round": 2},
    {"visit_id": "i1", "site": "a.test", "rank": 1, "page_kind": "internal", "vantage": "ams", "browser": "firefox"},
    {"visit_id": "i2", "site": "b.test", "rank": 2, "page_kind": "internal", "vantage": "ams", "browser": "chromium"},
]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    made = Study(tmp_path_factory.mktemp("selection") / "S")
    made.create()
    write_shard(made, "visits", "example", tables_of({"visits": VISITS})["visits"].collect())
    database.build_database(made, {})
    return made


@pytest.fixture
def connection(study: Study) -> Iterator[duckdb.DuckDBPyConnection]:
    with database.open_database(study) as opened:
        yield opened


def selected(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return [visit for (visit,) in connection.execute("SELECT visit_id FROM selected_visits ORDER BY ALL").fetchall()]


@pytest.mark.parametrize(
    ("selection", "visits", "sentence"),
    [
        (Selection(), ["har", "l1", "l2"], "landing pages: 3 of 5 visits"),
        (Selection(vantage="ams"), ["l1"], "landing pages, vantage ams: 1 of 5 visits"),
        (Selection(vantage="it's", round=2), ["l2"], "landing pages, vantage it's, round 2: 1 of 5 visits"),
        (Selection(page_kind="internal"), ["i1", "i2"], "internal pages: 2 of 5 visits"),
        (Selection(page_kind="all", browser="firefox"), ["i1"], "landing and internal pages, browser firefox: 1 of 5"),
        (Selection("rank < 5"), ["l1", "l2"], "landing pages, where rank < 5: 2 of 5 visits"),
        (
            Selection("Page_Kind = 'internal' OR rank = 7 --"),
            ["har", "i1", "i2"],
            "pages, where Page_Kind = 'internal'",
        ),
        (Selection("page_kind IS NOT NULL", page_kind="landing"), ["l1", "l2"], "landing pages, where page_kind IS"),
        (Selection("browser != 'x'", page_kind="all"), ["i1", "i2"], "landing and internal pages, where browser"),
        (Selection("visit_id IN (SELECT max(visit_id) FROM visits)"), ["l2"], "landing pages, where visit_id IN ("),
    ],
)
def test_what_is_selected(connection, selection, visits, sentence) -> None:
    assert select_visits(connection, selection).startswith(sentence)
    assert selected(connection) == visits
    with duckdb.connect() as other:  # the statement is for any DuckDB
        other.register("visits", connection.table("visits").pl())
        other.execute(selection.statement)
        found = other.execute("SELECT list_sort(getvariable('selected_visits'))").fetchone()
    assert found == (visits,)


def test_an_earlier_selection_is_forgotten(connection) -> None:
    select_visits(connection, Selection(vantage="ams"))
    select_visits(connection, Selection())
    assert selected(connection) == ["har", "l1", "l2"]


def test_another_connection_has_its_own(connection, study) -> None:
    select_visits(connection, Selection(vantage="ams"))
    with database.open_database(study) as other:
        assert selected(other) == ["har", "l1", "l2"]


@pytest.mark.parametrize(
    ("selection", "problem"),
    [
        (
            Selection(vantage="nyc"),
            "no visit is selected by: landing pages, vantage nyc; the study has: vantage ams, it's",
        ),
        (Selection("false"), "no visit is selected by: landing pages, where false; the study has: vantage ams"),
        (Selection("rank"), "--where rank: it is of type INTEGER, not BOOLEAN"),
        (Selection("NULL"), "--where NULL: it is of type"),
        (Selection("COLUMNS('site|rank') = 1"), "--where COLUMNS('site|rank') = 1: it is 2 conditions, not one"),
        (Selection("nothing = 1"), "--where nothing = 1: Binder Error"),
        (Selection("rank <"), "--where rank <: Parser Error"),
        (Selection(""), "--where : Parser Error"),
        (Selection("*"), "--where *: "),
        (Selection("true, true"), "--where true, true: "),
        (Selection("true) OR (true"), "--where true) OR (true: "),
        (Selection("true; DROP TABLE visits"), "--where true; DROP TABLE visits: "),
        (Selection("true UNION SELECT true"), "--where true UNION SELECT true: "),
        (Selection("true AS x"), "--where true AS x: "),
        (Selection("true /*"), "--where true /*: "),
        (Selection("true FROM requests"), "--where true FROM requests: "),
        (Selection("true GROUP BY ALL"), "--where true GROUP BY ALL: "),
        (Selection("count(*) > 1"), "--where count(*) > 1: "),
        (Selection("rank = $rank"), "--where rank = $rank: "),
        (Selection("rank = ?"), "--where rank = ?: "),
        (Selection("CAST(site AS INTEGER) = 1"), "--where CAST(site AS INTEGER) = 1: Conversion Error"),
        (Selection("EXISTS (FROM read_text('/etc/hostname'))"), "Permission Error"),
    ],
)
def test_what_is_refused(connection, selection, problem) -> None:
    with pytest.raises(UsageError) as refused:
        select_visits(connection, selection)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.promise("sql-only-reads")
@pytest.mark.parametrize("place", ["{}", "tables/visits/example.parquet", "study.duckdb"])
def test_a_condition_only_reads(connection, study: Study, tmp_path: Path, place: str) -> None:
    out = tmp_path / "out" if place == "{}" else study.root / place
    before = out.read_bytes() if out.exists() else None
    for where in (f"EXISTS (WITH q AS (COPY visits TO '{out}') FROM q)", f"EXISTS (COPY visits TO '{out}')"):
        with pytest.raises(UsageError, match=r"^--where "):
            select_visits(connection, Selection(where))
    assert (out.read_bytes() if out.exists() else None) == before


def test_a_statement_is_of_one_expression() -> None:
    with pytest.raises(UsageError, match=r"^--where true; "):
        _ = Selection("true; DROP TABLE visits").statement


def test_words_of_a_command_line() -> None:
    selection = Selection("rank < 5", vantage="it's", round=2, page_kind="all", browser="firefox")
    assert selection.options == [
        "--where", "rank < 5", "--vantage", "it's", "--round", "2", "--page-kind", "all", "--browser", "firefox",
    ]  # fmt: skip
    assert Selection(vantage="a b").asked_of("originset query x") == "originset query x --vantage 'a b'"
    assert Selection().asked_of("originset query x") == "originset query x"


def test_whether_a_study_holds_internal_pages(connection) -> None:
    assert holds_internal_pages(connection)


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("FROM selected_visits", True),
        ('SELECT 1 FROM "Selected_Visits" AS s', True),
        ("-- not selected_visits\nFROM visits", False),
        ("FROM my_selected_visits", False),
    ],
)
def test_what_reads_the_selection(sql, reads) -> None:
    assert reads_selection(sql) is reads
