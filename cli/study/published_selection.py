"""A selection of visits that ``study artifact`` may publish: its text names nothing that the bundle leaves out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from originset.data.errors import UsageError
from originset.data.sanitising.publication import REDACTED_COLUMNS
from originset.queries.visit_selection import Selection

_RENAMED_SITES = "SELECT min(site) FROM visits WHERE regexp_matches(site, '[/?#]') AND contains(lower($1), lower(site))"


def require_published_columns(connection: duckdb.DuckDBPyConnection, selection: Selection) -> None:
    """Check that ``--where``, which ARTIFACT.md quotes, reads only columns whose texts are published.

    Raises:
        UsageError: it names another column, all columns at once, or a site with a path.
    """
    if selection.where is None:
        return
    ((parsed,),) = connection.execute("SELECT json_serialize_sql($1)", [f"SELECT ({selection.where}\n)"]).fetchall()
    private = sorted(set(_columns(json.loads(parsed))) & {*REDACTED_COLUMNS, "*"})
    ((site,),) = connection.execute(_RENAMED_SITES, [selection.where]).fetchall()
    if private or site is not None:
        what = f"the column {private[0]}" if private else f"the site {site}"
        raise UsageError(
            f"--where {selection.where}: {what} is not published, and ARTIFACT.md would quote it",
            f"name columns of visits other than {', '.join(sorted(REDACTED_COLUMNS))}, and sites without a path",
        )


def _columns(node: object) -> Iterator[str]:
    """The columns that a statement names, as DuckDB's parser has it; ``*`` where it names all of them."""
    children: list[Any] = node if isinstance(node, list) else []
    if isinstance(node, dict):
        children = list(node.values())
        if node.get("class") == "COLUMN_REF":
            yield node["column_names"][-1].lower()
        elif node.get("class") == "STAR":
            yield "*"
    for child in children:
        yield from _columns(child)
