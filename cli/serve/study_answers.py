"""What is shown of a study: named queries with the visits that they count, and pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import urlencode

import duckdb

from originset.cli.common.study_report import report_contents
from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.shards import literal
from originset.data.studies.study import Study
from originset.queries.catalogue import NamedQuery, named_query, run
from originset.queries.report.printable_text import printable_excerpt
from originset.queries.report.report_page import render
from originset.queries.visit_selection import PAGE_KINDS, Selection, reads_selection, select_visits

#: In the place of a value: it is not known.
NOT_KNOWN = "-"

PAGES = "pages_top_summary"
_MOST_ROWS = 1000
_LONGEST_SENTENCE = 500

# The queries on a study's first page: titles, columns in the order of their use on a narrow screen, parameters.
_OVERVIEW: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "ladder_summary": (
        "How many connections could go",
        ("rung", "total", "saved_pct", "counts", "pages", "sites", "vantage", "browser"),
        {},
    ),
    PAGES: (
        "Pages with most to save",
        ("site", "tls", "deployable", "dns", "url", "vantage", "browser"),
        {"top": "10"},
    ),
    "causes_connection_summary": (
        "Why connections were redundant",
        ("cause", "connections", "pages", "detail", "fixable_by", "vantage", "browser"),
        {},
    ),
    "hosts_top_summary": ("Hosts", ("host", "requests", "pages", "addresses", "vantage", "browser"), {"top": "10"}),
}

# Queries whose column `pages` counts visits that pages_top_summary lists: for which question (None: a
# ladder's own), by which columns.
_COUNTED_FOR: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "ladder_summary": (None, ()),
    "causes_connection_summary": ("causes", ("cause",)),
    "hosts_top_summary": ("servers", ("host",)),
    "issuers_host_summary": ("certificates", ("host",)),
}
_LADDERS = {"TLS connections": "connections", "DNS lookups": "lookups"}
_SELECTED_BY = ("vantage", "browser", "round", "page_kind")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as text, and the page that it leads to."""

    text: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a named query: the first of ``all_rows``, which is their number.

    ``columns``: names, meanings, whether they are numbers. ``values``: those of parameters; ``chosen``: the conditions
    on visits; ``sql``: what gives the same rows in any DuckDB. ``selects``: whether it is about selected visits;
    ``selected``: a sentence on which those are.
    """

    query: NamedQuery
    title: str
    columns: list[tuple[str, str, bool]]
    rows: list[list[Cell]]
    all_rows: int
    values: dict[str, Any]
    chosen: dict[str, str]
    selects: bool
    selected: str
    sql: str


class StudyAnswers:
    """A study's database, opened for each request: one at a time, and as it is then."""

    def __init__(self, study: Study) -> None:
        self.title = printable_excerpt(study.root.resolve().name)
        self._study = study
        self._lock = Lock()

    def overview(self) -> list[Answer]:
        """The answers on a study's first page.

        Raises:
            StudyError: there is no study, or no database yet.
        """
        with self._lock, open_database(self._study) as connection:
            return [
                answer(connection, name, given, title, columns) for name, (title, columns, given) in _OVERVIEW.items()
            ]

    def answer(self, name: str, given: Mapping[str, str]) -> Answer:
        """As the function of this name.

        Raises:
            StudyError: there is no study, or no database yet.
            UsageError: as the function.
        """
        named_query(name)
        with self._lock, open_database(self._study) as connection:
            return answer(connection, name, given)

    def page(self, visit_id: str) -> str:
        """The HTML of the page of ``explain`` for one visit.

        Raises:
            StudyError: there is no study, or no database yet.
            UsageError: there is no such visit.
        """
        only = Selection(where=f"visit_id = {literal(visit_id)}", page_kind="all")
        with self._lock:
            return render(report_contents(self._study, f"{self.title}, one page", 1, only))


def answer(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    given: Mapping[str, str],
    title: str | None = None,
    columns: tuple[str, ...] = (),
) -> Answer:
    """The rows of a named query. ``given``: parameters, and conditions on visits (vantage, browser, round, page_kind).

    Raises:
        UsageError: there is no such query or parameter, a value is of another type, no visit is selected, or there are
            conditions on visits for a query that does not read the selected ones.
    """
    query = named_query(name)
    chosen = {key: value for key, value in given.items() if key in _SELECTED_BY and value}
    values = query.values({key: value for key, value in given.items() if key not in _SELECTED_BY and value})
    selects = reads_selection(query.sql)
    if chosen and not selects:
        raise UsageError(f"{', '.join(chosen)}: {name} does not read selected_visits", "leave it out")
    selection = _selection(chosen) if selects else Selection()
    selected = select_visits(connection, selection)
    rows = run(connection, query.sql, values)
    names = columns or tuple(rows.columns)
    links = _Links(name, chosen, _visits_selected(connection))
    sql = query.standalone(values)
    return Answer(
        query,
        title or query.summary,
        [(column, query.columns.get(column, ""), rows.schema[column].is_numeric()) for column in names],
        [
            [Cell(value_text(row[column]), links.of(column, row)) for column in names]
            for row in rows.head(_MOST_ROWS).iter_rows(named=True)
        ],
        rows.height,
        values,
        chosen,
        selects,
        printable_excerpt(selected, _LONGEST_SENTENCE) if selects else "",
        sql if selection.is_default else f"{selection.statement};\n\n{sql}",
    )


def _selection(chosen: Mapping[str, str]) -> Selection:
    """The visits that are asked for, those of a vantage, browser or round that is not known among them.

    Raises:
        UsageError: the round is no number, or there is no such kind of page.
    """
    unknown = [name for name, value in chosen.items() if value == NOT_KNOWN]
    known = {name: value for name, value in chosen.items() if value != NOT_KNOWN}
    if (kind := known.get("page_kind")) not in (None, *PAGE_KINDS):
        raise UsageError(f"there is no page kind {kind!r}", f"choose one of {', '.join(PAGE_KINDS)}")
    number = known.get("round")
    if number is not None and not re.fullmatch(r"[1-9][0-9]{0,8}", number):
        raise UsageError(f"round {number!r} is not a whole number")
    return Selection(
        where=" AND ".join(f"{name} IS NULL" for name in unknown) or None,
        vantage=known.get("vantage"),
        round=None if number is None else int(number),
        page_kind=kind,
        browser=known.get("browser"),
    )


def _visits_selected(connection: duckdb.DuckDBPyConnection) -> int:
    ((visits,),) = connection.execute("SELECT count(*) FROM selected_visits").fetchall()
    return int(visits)


@dataclass(frozen=True, slots=True)
class _Links:
    """Where a query's values lead. ``chosen``: the conditions on its visits, of which ``visits`` are selected."""

    query: str
    chosen: Mapping[str, str]
    visits: int

    def of(self, column: str, row: Mapping[str, Any]) -> str | None:
        """The visit of a row, or the visits that it counts: all of them, so ``top`` is no smaller than their number."""
        if "visit_id" in row and column == "site":
            return f"visit?{urlencode({'id': row['visit_id']})}"
        if column != "pages" or row[column] is None or self.query not in _COUNTED_FOR:
            return None
        question, columns = _COUNTED_FOR[self.query]
        conditions = {name: row[name] for name in (*columns, "vantage", "browser")}
        known = {name: NOT_KNOWN if value is None else value for name, value in conditions.items()}
        listed = {"name": PAGES, "question": question or _LADDERS[row["counts"]], "top": self.visits}
        return f"query?{urlencode({**listed, **self.chosen, **known})}"


def value_text(value: object) -> str:
    """A value of a query's rows as people read it; of one below 1 three significant digits, so that it is not 0."""
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".") if value == 0 or abs(value) >= 1 else f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    return printable_excerpt(str(value))
