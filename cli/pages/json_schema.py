"""``docs/json-schema.json``: the JSON Schema of what commands write for programs, made of the structs they write."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import msgspec

from originset.data.captures.capture import Extension
from originset.models.plans.origin_plan import Plan
from originset.queries.page_budget import BudgetRow
from originset.queries.report.explanation import Explanation

#: What is written, by the name that its schema has in ``$defs``.
OUTPUTS: dict[str, tuple[type[msgspec.Struct] | Any, str]] = {
    "explain": (Explanation, "explain --format json"),
    "plan": (Plan, "plan site --out FILE.json"),
    "budget": (list[BudgetRow], "check budget --format json"),
    "capture": (Extension, "log._originset of a crawl's captures"),
}


def schema() -> dict[str, Any]:
    """The schema of each output below ``$defs``: ``#/$defs/explain`` is that of ``explain --format json``."""
    kinds = [kind for kind, _ in OUTPUTS.values()]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    outputs = {
        name: {"title": f"originset {written}", **made}
        for (name, (_, written)), made in zip(OUTPUTS.items(), schemas, strict=True)
    }
    definitions = {**{name: _dedented(made) for name, made in components.items()}, **outputs}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions}


def _dedented(component: dict[str, Any]) -> dict[str, Any]:
    """A struct's schema, its docstring without the source's indentation."""
    if "description" not in component:
        return component
    return {**component, "description": inspect.cleandoc(component["description"])}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1) + "\n")
