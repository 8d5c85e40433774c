"""The named queries: one metric a ``.sql`` file beside this module, described by its header comment.

A header says what the metric is, then, a line each, its columns and where the paper has it::

    -- What the rows are, in one or more lines.
    -- paper: figure 1
    -- column: what it holds [unit]
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from originset.data.errors import UsageError
from originset.queries.intervals import register

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """One query; ``columns`` maps each column of its result to its meaning, ``paper`` names a figure or table."""

    name: str
    description: str
    paper: str | None
    columns: dict[str, str]
    sql: str

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.description.partition(". ")[0].removesuffix(".")


@cache
def catalogue() -> dict[str, NamedQuery]:
    """All named queries, by name, in the order of their names."""
    files = (file for file in resources.files("originset.queries").iterdir() if file.name.endswith(".sql"))
    return {query.name: query for query in (_read(file) for file in sorted(files, key=lambda file: file.name))}


def named(name: str) -> NamedQuery:
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


def run(connection: duckdb.DuckDBPyConnection, sql: str) -> pl.DataFrame:
    """The rows of one statement; no rows and no columns where it gives none.

    Raises:
        UsageError: it is empty, DuckDB refuses it (in one line, with DuckDB's own words), or its rows have a type that
            no output format holds.
    """
    if not sql.strip():
        raise UsageError("SQL: there is no statement")
    register(connection)
    try:
        relation = connection.sql(sql)
        rows: pl.DataFrame = pl.DataFrame() if relation is None else relation.pl()
    except duckdb.Error as error:
        raise UsageError(f"SQL: {' '.join(str(error).split())}") from error
    except pl.exceptions.PolarsError as error:
        raise UsageError("SQL: a column of the result has a type that cannot be shown", "cast it to VARCHAR") from error
    return rows


def _read(file: Traversable) -> NamedQuery:
    sql = file.read_text()
    description, paper, columns = [], None, {}
    for line in _header(sql):
        key, colon, meaning = line.partition(": ")
        if colon and key == "paper":
            paper = meaning
        elif colon and key.isidentifier():
            columns[key] = meaning
        else:
            description.append(line)
    return NamedQuery(file.name.removesuffix(".sql"), " ".join(description), paper, columns, sql)


def _header(sql: str) -> Iterator[str]:
    for line in sql.splitlines():
        if not line.startswith("--"):
            return
        yield line.removeprefix("--").strip()
