"""``docs/json-schema.json``: the JSON Schema of what commands write for programs, made of the structs they write."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl

from originset.cli.check.lint_report import LINTED
from originset.cli.check.server_report import CHECKED
from originset.data.captures.capture import Extension
from originset.models.plans.origin_plan import Plan
from originset.models.plans.plan_rows import PLAN_ROWS
from originset.queries.comparison.compared_values import PAGE_CHANGES, TOTAL_CHANGES
from originset.queries.comparison.connection_changes import CONNECTION_CHANGES
from originset.queries.page_budget import BudgetRow
from originset.queries.report.explanation import Explanation

#: Structs that are written, by the name that their schema has in ``$defs``.
OUTPUTS: dict[str, tuple[type[msgspec.Struct] | Any, str]] = {
    "explain": (Explanation, "explain --format json"),
    "plan": (Plan, "plan site --out FILE.json"),
    "budget": (list[BudgetRow], "check budget --format json"),
    "capture": (Extension, "log._originset of a crawl's captures"),
}

#: Columns that rows have with ``study compare --by``.
_BY = pl.Schema(dict.fromkeys(("vantage_before", "vantage_after", "round_before", "round_after"), pl.String()))


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Rows that a command writes as a JSON array of objects; ``known``: columns that are never null."""

    columns: pl.Schema
    written: str
    description: str
    known: tuple[str, ...]
    optional: pl.Schema = field(default_factory=pl.Schema)


#: Rows that are written, by the name that their schema has in ``$defs``.
ROWS = {
    "compare_totals": WrittenRows(
        TOTAL_CHANGES,
        "study compare --format json",
        "A measure over all pages, before and after; the last four columns are numbers of pages by verdict.",
        ("metric", "pages", "before", "after", "change", *TOTAL_CHANGES.names()[-4:]),
        _BY,
    ),
    "compare_pages": WrittenRows(
        PAGE_CHANGES,
        "study compare --rows pages --format json",
        "A measure of a page, before and after.",
        ("site", "metric", "visits", "visits_after", "before", "after", "change", "verdict"),
        _BY,
    ),
    "compare_connections": WrittenRows(
        CONNECTION_CHANGES,
        "study compare --rows connections --format json",
        "A host of a page whose connections changed in number; why: it has no requests on one side, or they are "
        "carried by another host's connection.",
        ("site", "host", "before", "after", "change"),
        _BY,
    ),
    "plan_rows": WrittenRows(
        PLAN_ROWS,
        "plan site --format json",
        "An origin to announce or to leave out, or a name to add or to ask its owner for.",
        ("action",),
    ),
    "server": WrittenRows(
        CHECKED,
        "check server --format json",
        "A test of a server. The address is null where the name has none.",
        ("site", "test", "result", "subject", "detail"),
    ),
    "lint": WrittenRows(
        LINTED,
        "check lint --format json",
        "A connection's host and another that is requested on it; both are null where a line was not understood.",
        ("verdict", "why", "file", "line"),
    ),
}


def schema() -> dict[str, Any]:
    """The schema of each output below ``$defs``: ``#/$defs/explain`` is that of ``explain --format json``."""
    kinds = [kind for kind, _ in OUTPUTS.values()]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    outputs = {
        name: {"title": f"originset {written}", **made}
        for (name, (_, written)), made in zip(OUTPUTS.items(), schemas, strict=True)
    }
    rows = {name: _array(written) for name, written in ROWS.items()}
    definitions = {**{name: _dedented(made) for name, made in components.items()}, **outputs, **rows}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions}


def _array(rows: WrittenRows) -> dict[str, Any]:
    kinds = {**rows.columns, **rows.optional}
    return {
        "title": f"originset {rows.written}",
        "type": "array",
        "items": {
            "type": "object",
            "description": rows.description,
            "properties": {name: _value(kind, known=name in rows.known) for name, kind in kinds.items()},
            "required": rows.columns.names(),
            "additionalProperties": False,
        },
    }


def _value(kind: pl.DataType, *, known: bool) -> dict[str, Any]:
    if isinstance(kind, pl.Enum):
        return {"enum": [*kind.categories, *(() if known else (None,))]}
    numbers = "integer" if kind.is_integer() else "number" if kind.is_float() else "string"
    name = "boolean" if kind == pl.Boolean() else numbers
    return {"type": name if known else [name, "null"]}


def _dedented(component: dict[str, Any]) -> dict[str, Any]:
    """A struct's schema, its docstring without the source's indentation."""
    if "description" not in component:
        return component
    return {**component, "description": inspect.cleandoc(component["description"])}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1) + "\n")
