"""The named queries: one metric a ``.sql`` file beside this module, described by its header."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from originset.data.errors import UsageError
from originset.data.schema.sql_header import read_header
from originset.data.studies.database import is_of_the_file
from originset.data.studies.shards import literal
from originset.queries.result_rows import rows_of_relation

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


Value = int | float | str

_READING_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query; a value for it has the type of its default."""

    default: Value
    meaning: str


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """One query; ``columns`` maps each column of its result to its meaning, ``paper`` names a figure or table."""

    name: str
    description: str
    paper: str | None
    parameters: dict[str, Parameter]
    columns: dict[str, str]
    sql: str

    def values(self, given: Mapping[str, str]) -> dict[str, Value]:
        """A value for each parameter: as given, as text, else the default.

        Raises:
            UsageError: there is no such parameter, or its value is of another type.
        """
        values: dict[str, Value] = {name: parameter.default for name, parameter in self.parameters.items()}
        for name, text in given.items():
            if name not in values:
                parameters_text = f"it has {', '.join(values)}" if values else "it has none"
                raise UsageError(f"query {self.name} has no parameter {name!r}", parameters_text)
            try:
                values[name] = type(values[name])(text)
            except ValueError:
                expected = "a whole number" if isinstance(values[name], int) else "a number"
                raise UsageError(f"parameter {name} of {self.name}: {text!r} is not {expected}") from None
        return values

    def standalone(self, values: Mapping[str, Value]) -> str:
        """The query's text with its parameters' values in place of ``$name``: for any DuckDB, whatever its client."""
        header = re.match(r"(?:--.*\n)*", self.sql)
        start = header.end() if header is not None else 0
        return self.sql[:start] + re.sub(r"\$(\w+)", lambda found: _literal(values[found[1]]), self.sql[start:])

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.description.partition(". ")[0].removesuffix(".")


@cache
def catalogue() -> dict[str, NamedQuery]:
    """All named queries, by name, in the order of their names."""
    files = (file for file in resources.files("originset.queries").iterdir() if file.name.endswith(".sql"))
    return {query.name: query for query in (_read(file) for file in sorted(files, key=lambda file: file.name))}


def named_query(name: str) -> NamedQuery:
    """One query of the catalogue.

    Raises:
        UsageError: there is none of this name.
    """
    queries = catalogue()
    if name in queries:
        return queries[name]
    near = difflib.get_close_matches(name, queries, n=1)
    raise UsageError(
        f"there is no query {name!r}", f"did you mean {near[0]}?" if near else "list them with: originset query"
    )


def rows_of(connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The rows of a named query; ``given``: values of its parameters, as text.

    Raises:
        UsageError: there is no such query or parameter, or a value is of another type.
    """
    query = named_query(name)
    return run(connection, query.sql, query.values(given or {}))


def run(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Value] | None = None) -> pl.DataFrame:
    """The rows of one statement; ``parameters``: values for ``$name`` in it.

    Raises:
        UsageError: it is empty, does more than read, or DuckDB refuses it (in one line, with DuckDB's own words).
        duckdb.Error: the database is damaged, or the disk full.
    """
    try:
        sql.encode()
        statements = duckdb.extract_statements(sql)
        if not statements:
            raise UsageError("SQL: there is no statement")
        # A read-only connection without external access may still COPY over the file that it has open, and beside it.
        if any(statement.type != duckdb.StatementType.SELECT for statement in statements) or _writes(connection, sql):
            raise UsageError("SQL: a statement does more than read", "SELECT, FROM, WITH and DESCRIBE are allowed")
        return rows_of_relation(connection.sql(sql, params=dict(parameters) if parameters else None))
    except UnicodeEncodeError as error:
        raise UsageError("SQL: a statement has text that is not UTF-8") from error
    except duckdb.Error as error:
        if is_of_the_file(error):
            raise  # open_database says what to do
        raise UsageError(f"SQL: {' '.join(str(error).split())}") from error


def _writes(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Whether a SELECT does more than read: ``WITH x AS (COPY ...)`` writes, although its type is SELECT."""
    (tree,) = connection.execute("SELECT CAST(system.main.json_serialize_sql(?) AS VARCHAR)", [sql]).fetchall()[0]
    # Quotes in the statement's texts are escaped there, so that only keys of the tree match.
    return not set(re.findall(r'"type":"(\w+_NODE)"', tree)) <= _READING_NODES or '"error":true' in tree


def _read(file: Traversable) -> NamedQuery:
    sql = file.read_text()
    header = read_header(sql)
    parameters = {}
    for definition, meaning in header.parameters.items():
        name, _, default = definition.partition(" = ")
        parameters[name] = Parameter(_value(default), meaning)
    name = file.name.removesuffix(".sql")
    return NamedQuery(name, header.description, header.facts.get("paper"), parameters, header.columns, sql)


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return literal(value)
    return f"({value!r}::DOUBLE)" if isinstance(value, float) else f"({value})" if value < 0 else str(value)


def _value(text: str) -> Value:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text
