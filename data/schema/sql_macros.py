"""The schema's macros: data/schema/macros/NAME.sql, described by its header (data/schema/sql_header.py)."""

from __future__ import annotations

from functools import cache
from importlib import resources

from originset.data.schema.sql_header import SqlHeader, read_header

MACROS = ("median_interval", "saved_pct_interval")


def macro_header(name: str) -> SqlHeader:
    """The header of the macro's file: its result as ``description``, its parameters as ``columns``."""
    return read_header(_text(name))


def macro_statements(*, temporary: bool = False) -> list[str]:
    """The statements that create every macro, with comments.

    ``temporary``: for this connection alone; they then take precedence over macros of the same name in the database.
    """
    statements = []
    for name in MACROS:
        text = _text(name)
        description = macro_header(name).description.replace("'", "''")
        statements += [
            text.replace("\nCREATE MACRO ", "\nCREATE TEMP MACRO ", 1) if temporary else text,
            f"COMMENT ON MACRO {'temp.' if temporary else ''}{name} IS '{description}'",
        ]
    return statements


@cache
def _text(name: str) -> str:
    return (resources.files("originset.data.schema") / "macros" / f"{name}.sql").read_text(encoding="utf-8")
