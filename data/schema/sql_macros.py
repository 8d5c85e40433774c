"""The schema's macros: data/schema/macros/NAME.sql, described by its header (data/schema/sql_header.py)."""

from __future__ import annotations

from functools import cache
from importlib import resources

from originset.data.schema.sql_header import SqlHeader, read_header

MACROS = ("median_interval", "saved_pct_interval")


def macro_header(name: str) -> SqlHeader:
    """What the macro gives, as ``description``, and its parameters, as ``columns``."""
    return read_header(_text(name))


def macro_statements(*, temporary: bool = False) -> list[str]:
    """The statements that make every macro and say what it gives.

    ``temporary``: for this connection alone, where they stand before those of the same name in the database.
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
