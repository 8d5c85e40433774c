"""``docs/json-schema.json``: the JSON Schema of what commands write for programs, made of the structs they write."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import msgspec
import polars as pl

from originset.cli.pages.written_rows import ROWS, WrittenRows
from originset.cli.plan.rollout.rollout_state import RolloutState
from originset.cli.writers.names_json import CertificateNames
from originset.data.captures.capture import Extension, Visit
from originset.models.plans.inventory.inventory_plan_file import InventoryPlanFile, PlannedAddition
from originset.models.plans.inventory.rollout import Rollout
from originset.models.plans.origin_plan import Plan
from originset.queries.page_budget import BudgetRow
from originset.queries.report.explanation import Explanation

#: Structs that are written, by the name that their schema has in ``$defs``.
OUTPUTS: dict[str, tuple[type[msgspec.Struct] | Any, str]] = {
    "explain": (Explanation, "explain --format json"),
    "plan": (Plan, "plan site --out FILE.json"),
    "inventory": (list[PlannedAddition], "plan inventory --format json"),
    "inventory_plan": (InventoryPlanFile, "plan inventory --out FILE.json"),
    "rollout": (Rollout, "plan inventory --rollout FILE.json"),
    "rollout_state": (RolloutState, "state.json of plan rollout next"),
    "certificate": (CertificateNames, "plan certificate --for json"),
    "budget": (list[BudgetRow], "check budget --format json"),
    "crawl": (Visit, "crawl --format jsonl, a line"),
    "capture": (Extension, "log._originset of a crawl's captures"),
}

#: Each query has columns of its own; ``originset query`` lists them.
_ANY_ROWS = {
    "title": "originset query NAME --format json",
    "description": "Rows with the query's columns, which the command query without a name lists.",
    "type": "array",
    "items": {"type": "object"},
}


def schema() -> dict[str, Any]:
    """The schema of each output below ``$defs``: ``#/$defs/explain`` is that of ``explain --format json``."""
    kinds = [kind for kind, _ in OUTPUTS.values()]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    outputs = {
        name: {"title": f"originset {written}", **made}
        for (name, (_, written)), made in zip(OUTPUTS.items(), schemas, strict=True)
    }
    rows = {name: _array(written) for name, written in ROWS.items()} | {"query": _ANY_ROWS}
    definitions = {**{name: _with_clean_description(made) for name, made in components.items()}, **outputs, **rows}
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
    if isinstance(kind, pl.List):
        return {"type": "array", "items": _value(pl.String(), known=True)}
    if isinstance(kind, pl.Enum):
        return {"enum": [*kind.categories, *(() if known else (None,))]}
    numbers = "integer" if kind.is_integer() else "number" if kind.is_float() else "string"
    name = "boolean" if kind == pl.Boolean() else numbers
    return {"type": name if known else [name, "null"]}


def _with_clean_description(component: dict[str, Any]) -> dict[str, Any]:
    """A struct's schema, its docstring without the source's indentation."""
    if "description" not in component:
        return component
    return {**component, "description": inspect.cleandoc(component["description"])}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1) + "\n")
