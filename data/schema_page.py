"""docs/schema.md, made from the schema: ``python -m originset.data.schema_page > docs/schema.md``."""

from __future__ import annotations

import sys

from originset.data.schema import TABLES, Table
from originset.data.schema_macros import MACROS, macro_header


def page() -> str:
    """The whole page, as Markdown."""
    head = """\
# Tables of a study

Made from `data/schema.py` by `make docs`; do not edit. `study.duckdb` carries the same texts as comments
(`originset query --sql "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'requests'"`). NULL means
not known, 0 means zero. Columns in bold identify a row.
"""
    return head + "".join(_section(table) for table in TABLES.values()) + _macros()


def _section(table: Table) -> str:
    rows = "".join(
        f"| {f'**{column.name}**' if column.name in table.key else column.name} | {column.type} | "
        f"{_cell(column.comment)} |\n"
        for column in table.columns
    )
    return (
        f"\n## {table.name}\n\n{table.description} Written by: {table.stage.value}.\n\n"
        f"| column | type | meaning |\n|---|---|---|\n{rows}"
    )


def _macros() -> str:
    """What `study.duckdb` has of SQL that is no view."""
    rows = ""
    for name in MACROS:
        header = macro_header(name)
        parameters = "; ".join(f"{parameter}: {meaning}" for parameter, meaning in header.columns.items())
        rows += f"| {name}({', '.join(header.columns)}) | {_cell(header.description)} | {_cell(parameters)} |\n"
    head = "\n## Macros\n\nFor any statement over `study.duckdb`.\n\n| macro | gives | parameters |\n|---|---|---|\n"
    return head + rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    sys.stdout.write(page())
