"""Definitions that queries and models share: each a view of a study, one ``.sql`` file with a header."""

from __future__ import annotations

from importlib import resources

from originset.data.columns import Column, Stage, Table
from originset.data.sql_header import read_header


def view_sql(name: str) -> str:
    """The text of a view's file: a header and one SELECT."""
    return (resources.files(__name__) / f"{name}.sql").read_text()


def view(name: str, key: str, *columns: Column) -> Table:
    """A view as a table of the schema; ``key`` is names with blanks between them, ``columns`` those of its SELECT."""
    sql = view_sql(name)
    select = "\n".join(line for line in sql.splitlines() if not line.startswith("--"))
    return Table(name, Stage.VIEW, read_header(sql).description, tuple(key.split()), columns, select)
