"""docs/schema.md, made from the schema: ``python -m originset.data.schema_page > docs/schema.md``."""

from __future__ import annotations

import sys

from originset.data.schema import TABLES, Table


def page() -> str:
    """The whole page, as Markdown."""
    head = """\
# Tables of a study

Made from `data/schema.py` by `make docs`; do not edit. `study.duckdb` carries the same texts as comments
(`originset query --sql "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'requests'"`). NULL means
not known, 0 means zero. Columns in bold identify a row.
"""
    return head + "".join(_section(table) for table in TABLES.values())


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


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    sys.stdout.write(page())
