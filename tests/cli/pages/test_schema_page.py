"""The values of columns, held against the code that fills them."""

import ast
from pathlib import Path

from originset.analysis.rejects import REASONS
from originset.cli.pages.schema_page import VALUES, page
from originset.data.schema.study_tables import TABLES, Stage
from originset.models.browsers.causes.connection_causes import CAUSE, DETAIL

ROOT = Path(__file__).parents[3]

# They hold what recorders, browsers, resolvers, authorities and later versions write.
OPEN = {
    ("requests", "scheme"), ("requests", "resource_type"), ("connections", "privacy_mode"), ("dns_queries", "status"),
    ("certificates", "key_type"), ("certificates", "signature"), ("runs", "command"),
}  # fmt: skip


def test_what_a_description_leaves_out_is_listed() -> None:
    unfinished = {
        (table.name, column.name)
        for table in TABLES.values()
        if table.stage is not Stage.VIEW
        for column in table.columns
        if column.type.startswith("VARCHAR") and column.description.endswith("...")
    }
    assert unfinished - OPEN == set(VALUES)


def test_the_page_has_every_value() -> None:
    sections = {text.partition("\n")[0]: text.splitlines() for text in page().split("\n## ")}
    for (table, column), values in VALUES.items():
        (line,) = (line for line in sections[table] if line.startswith((f"| {column} |", f"| **{column}** |")))
        assert line.endswith(f" All: {', '.join(values)} |")


def test_descriptions_of_causes_name_them_all() -> None:
    described = {column.name: column.description for column in TABLES["redundant_connections"].columns}
    assert all(cause in described["cause"] for cause in CAUSE.categories)
    assert all(detail in described["detail"] for detail in DETAIL.categories)


def test_inputs_are_refused_for_these_reasons() -> None:
    """Every reason that reading captures and HARs gives."""
    files = [
        *(ROOT / "analysis").rglob("*.py"),
        ROOT / "data/captures/capture.py",
        ROOT / "data/captures/capture_store.py",
    ]
    given = {
        call.args[1].value
        for file in files
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "InputError"
        if isinstance(call.args[1], ast.Constant)
    }
    assert given == set(REASONS)
