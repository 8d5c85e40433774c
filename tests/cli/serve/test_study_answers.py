"""What is shown of a study: what the named queries say, each number's visits, and strangers' texts as texts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlsplit

import duckdb
import pytest
from served_pages import TOKEN, Served

from originset.cli.serve import page_templates, study_answers
from originset.cli.serve.study_answers import Answer, answer, value_text
from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.queries.catalogue import Parameter, catalogue, named_query, rows_of, run
from originset.queries.visit_selection import PAGE_KINDS

HOSTILE_VALUES = ["' OR true --", "\u202e", "<script>document.title='owned'</script>", "x" * 5000, "${7*7}{{7*7}}"]


@pytest.fixture(scope="module")
def connection(modelled_example: Study) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(modelled_example) as opened:
        yield opened


@pytest.mark.parametrize("name", catalogue())
def test_each_query_is_shown_with_its_sql(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    shown = answer(connection, name, {})
    rows = rows_of(connection, name)
    assert run(connection, shown.sql).rows() == rows.rows()
    assert (shown.all_rows, [column for column, _, _ in shown.columns]) == (rows.height, rows.columns)


def test_numbers_lead_to_the_pages_that_they_count(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, beyond those that the list shows where nobody asks for more."""
    monkeypatch.setitem(named_query("pages_top_summary").parameters, "top", Parameter(1, "rows at most"))
    followed: dict[str, int] = {}
    for name in ("ladder_summary", "causes_connection_summary", "hosts_top_summary", "issuers_host_summary"):
        for cell in [cell for row in answer(connection, name, {}).rows for cell in row]:
            if cell.link is not None and cell.link.startswith("query?") and cell.link not in followed:
                followed[cell.link] = len(follow(connection, cell.link).rows)
                assert followed[cell.link] == int(cell.text), (name, cell)
    assert len(followed) > 10
    assert max(followed.values()) > 1


def test_of_more_pages_than_are_shown_their_number_is_told(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_answers, "_MOST_ROWS", 1)
    counted = answer(connection, "ladder_summary", {"vantage": "-"}).rows[0]
    (cell,) = [cell for cell in counted if cell.link is not None]
    shown = follow(connection, cell.link)
    assert (len(shown.rows), shown.all_rows) == (1, int(cell.text))
    assert f"The first 1 of {cell.text} rows" in query_page(shown)


@pytest.mark.parametrize("chosen", [{"page_kind": "all"}, {"page_kind": "landing", "round": "-"}])
def test_a_link_keeps_what_was_chosen(connection: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> None:
    links = [cell.link for row in answer(connection, "hosts_top_summary", chosen).rows for cell in row if cell.link]
    assert links
    for link in links:
        shown = follow(connection, link)
        assert shown.chosen == {**chosen, "vantage": shown.chosen["vantage"], "browser": shown.chosen["browser"]}


def follow(connection: duckdb.DuckDBPyConnection, link: str | None) -> Answer:
    assert link is not None
    given = {key: value for key, (value,) in parse_qs(urlsplit(link).query).items()}
    return answer(connection, given.pop("name"), given)


def query_page(shown: Answer) -> str:
    return page_templates.html("query", study="S", answer=shown, page_kinds=PAGE_KINDS)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.004, "0.004"), (-0.0123456, "-0.0123"), (0.5, "0.5"), (1.0, "1"), (1234.567, "1,234.57")],
)
def test_a_small_number_is_not_zero(value: float, text: str) -> None:
    assert value_text(value) == text


def test_the_sql_of_a_selection_is_whole(connection: duckdb.DuckDBPyConnection) -> None:
    shown = answer(connection, "pages_top_summary", {"vantage": "there", "host": "cdn.other.net"})
    statement, _, query = shown.sql.partition(";\n\n")
    connection.execute(statement)
    assert [row[0] for row in run(connection, query).rows()] == ["b"] == [row[0].text for row in shown.rows]


def test_a_page_of_the_list_leads_to_its_explanation(pages: Served, connection: duckdb.DuckDBPyConnection) -> None:
    listed = answer(connection, "pages_top_summary", {"host": "fonts.g.test"}).rows[0]
    assert [cell.text for cell in listed[:3]] == ["a", "example.com", "https://www.example.com/0"]
    shown = pages.ask(f"/{TOKEN}/{listed[1].link}")
    assert shown.status == 200
    assert "<bdi>cdn.other.net</bdi>" in shown.text
    assert "sandbox allow-scripts" in shown.headers["content-security-policy"]


def test_visits_are_selected(connection: duckdb.DuckDBPyConnection) -> None:
    def vantages(**chosen: str) -> set[str]:
        shown: Answer = answer(connection, "hosts_top_summary", chosen)
        return {row[0].text for row in shown.rows}

    assert vantages() == {"here", "there", "-"}
    assert vantages(vantage="there") == {"there"}
    assert vantages(vantage="-", browser="-") == {"-"}
    assert vantages(browser="chromium") == {"here", "there"}


@pytest.mark.parametrize(
    "given",
    [{"round": "1 OR true"}, {"round": "-1"}, {"page_kind": "x"}, {"where": "true"}, {"sql": "SELECT 1"},
     {"top": "many"}, {"vantage": "nowhere"}],
)  # fmt: skip
def test_what_cannot_be_asked_is_one_sentence(connection: duckdb.DuckDBPyConnection, given: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        answer(connection, "hosts_top_summary", given)


@pytest.mark.parametrize("chosen", ["vantage", "browser", "round", "page_kind"])
def test_visits_are_not_chosen_for_a_query_of_all(connection: duckdb.DuckDBPyConnection, chosen: str) -> None:
    assert not answer(connection, "visits_status_summary", {chosen: ""}).selects
    with pytest.raises(UsageError, match=f"{chosen}: visits_status_summary does not read selected_visits"):
        answer(connection, "visits_status_summary", {chosen: "1"})


@pytest.mark.promise("serve-runs-nothing")
@pytest.mark.parametrize("value", HOSTILE_VALUES)
@pytest.mark.parametrize("parameter", ["site", "host", "cause", "question"])
def test_values_stay_values(connection: duckdb.DuckDBPyConnection, parameter: str, value: str) -> None:
    shown = answer(connection, "pages_top_summary", {parameter: value})
    assert shown.rows == []
    text = query_page(shown)
    assert "<script" not in text
    assert "\u202e" not in html.unescape(re.sub(r'value="[^"]*"', "", text))
    assert run(connection, shown.sql).is_empty()


@pytest.mark.promise("serve-runs-nothing")
@pytest.mark.parametrize("path", ["visit?id=", "query?name=", "query?name=hosts_top_summary&vantage=", "query?where="])
def test_what_is_not_there_is_named_and_not_run(pages: Served, path: str) -> None:
    shown = pages.ask(f"/{TOKEN}/{path}{quote(''.join(HOSTILE_VALUES))}")
    assert shown.status == 400
    assert "<script" not in shown.text
    assert "\u202e" not in shown.text
    assert "example.com" not in shown.text
