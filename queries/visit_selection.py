"""The visits that queries are about: the connection's variable that the view ``selected_visits`` reads."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, fields

import duckdb

from originset.data.errors import UsageError
from originset.data.schema.study_tables import SELECTED_VISITS, TABLES
from originset.data.studies.database import is_of_the_file
from originset.data.studies.shards import literal
from originset.queries.catalogue import run

_KINDS = {
    "landing": ("landing pages", "page_kind IS DISTINCT FROM 'internal'"),
    "internal": ("internal pages", "page_kind = 'internal'"),
    "all": ("landing and internal pages", "true"),
}
_BY_WHERE = ("pages", "true")

PAGE_KINDS = tuple(_KINDS)

# How many values of a column an error names.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions for the selected visits; None is no condition.

    ``page_kind``: one of PAGE_KINDS. None is ``landing``, unless ``where`` names the column page_kind and so decides
    itself. Pages whose kind is not known, such as those of imported HARs, are landing pages. ``where``: a boolean SQL
    expression over the columns of ``visits``.
    """

    where: str | None = None
    vantage: str | None = None
    round: int | None = None
    page_kind: str | None = None
    browser: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether there are no conditions."""
        return self == Selection()

    @property
    def options(self) -> list[str]:
        """The options of a command line for this selection."""
        values = [(field.name.replace("_", "-"), getattr(self, field.name)) for field in fields(self)]
        return [word for name, value in values if value is not None for word in (f"--{name}", str(value))]

    def asked_of(self, command: str) -> str:
        """A command line, with these options."""
        return " ".join([command, shlex.join(self.options)]).rstrip()

    @property
    def description(self) -> str:
        """The conditions in words, such as ``landing pages, vantage ams``."""
        conditions = [(name, getattr(self, name)) for name in ("vantage", "round", "browser", "where")]
        return ", ".join([self._kind[0], *(f"{name} {value}" for name, value in conditions if value is not None)])

    @property
    def statement(self) -> str:
        """The SQL that sets the variable, for any DuckDB that has the study's tables.

        Raises:
            UsageError: ``where`` is not one expression.
        """
        _require_one_expression(self.where)
        conditions = [self._kind[1]]
        conditions += [f"vantage = {literal(self.vantage)}"] if self.vantage is not None else []
        conditions += [f"round = {self.round}"] if self.round is not None else []
        conditions += [f"browser = {literal(self.browser)}"] if self.browser is not None else []
        conditions += [_in_brackets(self.where)] if self.where is not None else []
        query = f"SELECT visit_id FROM visits WHERE {' AND '.join(conditions)}"  # noqa: S608 - one expression, and literals
        return f"SET VARIABLE {SELECTED_VISITS.name} = ARRAY({query})"

    @property
    def _kind(self) -> tuple[str, str]:
        if self.page_kind is None and re.search(r"\bpage_kind\b", self.where or "", re.IGNORECASE):
            return _BY_WHERE
        return _KINDS[self.page_kind or "landing"]


def select_visits(connection: duckdb.DuckDBPyConnection, selection: Selection) -> str:
    """Set ``selected_visits`` of this connection; returns a sentence on which and how many visits are selected.

    ``connection``: as :func:`originset.data.studies.database.open_database` opens it.

    Raises:
        UsageError: ``where`` is no boolean expression over the columns of ``visits`` that only reads, or no visit is
            selected though something was asked for.
    """
    if selection.is_default:
        connection.execute(f"RESET VARIABLE {SELECTED_VISITS.name}")
    else:
        _require_condition(connection, selection.where)
        _set(connection, selection)
    ((selected, visits),) = connection.execute(
        "SELECT (SELECT count(*) FROM selected_visits), (SELECT count(*) FROM visits)"
    ).fetchall()
    if not selected and not selection.is_default:
        raise UsageError(f"no visit is selected by: {selection.description}", _what_there_is(connection))
    return f"{selection.description}: {selected:,} of {visits:,} visits"


def holds_internal_pages(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the study has internal pages, which are selected only on request."""
    return connection.execute("SELECT 1 FROM visits WHERE page_kind = 'internal' LIMIT 1").fetchone() is not None


def reads_selection(sql: str) -> bool:
    """Whether a statement uses ``selected_visits``, or a view of the schema that uses it."""
    names = {SELECTED_VISITS.name}
    views = {table.name: table.view for table in TABLES.values() if table.view is not None}
    while more := {name for name, text in views.items() if _names_one(text, names)} - names:
        names |= more
    return _names_one(sql, names)


def _names_one(sql: str, names: set[str]) -> bool:
    return not names.isdisjoint(re.findall(r"\w+", re.sub(r"(?m)^--.*$", "", sql).lower()))


def _in_brackets(where: str) -> str:
    return f"({where}\n)"  # it may end in a comment


def _require_one_expression(where: str | None) -> None:
    try:
        if where is not None:
            duckdb.SQLExpression(where)
    except duckdb.Error as error:
        raise _unusable(where, str(error)) from error


def _require_condition(connection: duckdb.DuckDBPyConnection, where: str | None) -> None:
    """Check that it is one expression that only reads, and is true or false for a visit."""
    if where is None:
        return
    _require_one_expression(where)
    try:
        empty = run(connection, f"SELECT typeof(any_value({_in_brackets(where)})) FROM visits WHERE false")  # noqa: S608 - one expression
    except UsageError as error:
        raise _unusable(where, error.problem) from error
    if empty.width != 1:
        raise _unusable(where, f"it is {empty.width} conditions, not one")
    if (kind := empty.item()) != "BOOLEAN":
        raise _unusable(where, f"it is of type {kind}, not BOOLEAN")


def _set(connection: duckdb.DuckDBPyConnection, selection: Selection) -> None:
    try:
        connection.execute(selection.statement)
    except duckdb.Error as error:
        if is_of_the_file(error):
            raise
        raise _unusable(selection.where, str(error)) from error


def _unusable(where: str | None, problem: str) -> UsageError:
    reason = " ".join(problem.removeprefix("SQL: ").partition("LINE 1:")[0].split())
    return UsageError(
        f"--where {where}: {reason}", "write a condition over the columns of visits, such as rank <= 1000"
    )


def _what_there_is(connection: duckdb.DuckDBPyConnection) -> str:
    """The values in the study that the options can have."""
    there = []
    for column in ("vantage", "round", "page_kind", "browser"):
        values = connection.execute(
            f"SELECT DISTINCT {column} FROM visits WHERE {column} IS NOT NULL ORDER BY ALL LIMIT {_NAMED + 1}"  # noqa: S608 - from here
        ).fetchall()
        first_values = [str(value) for (value,) in values[:_NAMED]] + ["..."] * (len(values) > _NAMED)
        there.append(f"{column} {', '.join(first_values) or 'not known'}")
    return f"the study has: {'; '.join(there)}"
