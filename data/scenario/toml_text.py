"""Scenarios written as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

import msgspec

from originset.data.scenario.entries import ScenarioEntries

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(scenario: ScenarioEntries, comments: Iterable[str] = ()) -> str:
    """A scenario's file, with its comments (of one line each) at the top; a resource that a page loads has a line."""
    return "\n".join((*(f"# {comment}" for comment in comments), *_lines(msgspec.to_builtins(scenario)))) + "\n"


def _lines(scenario: dict[str, object]) -> Iterator[str]:
    # In TOML the keys after a table's header belong to that table, so tables come last.
    for key, value in scenario.items():
        if not isinstance(value, dict):
            yield f"{key} = {_value(value)}"
    for kind, entries in scenario.items():
        if isinstance(entries, dict):
            for name, entry in entries.items():
                yield f"\n[{kind}.{name if _BARE_KEY.fullmatch(name) else _value(name)}]"
                yield from (f"{key} = {_value(value)}" for key, value in entry.items() if key != "loads")
                if "loads" in entry:
                    yield from ("loads = [", *_resources(entry["loads"], "  "), "]")


def _resources(loads: Iterable[dict[str, object]], indent: str) -> Iterator[str]:
    """Nested resources; an inline table may go on in the next line only within an array."""
    for resource in loads:
        pairs = ", ".join(f"{key} = {_value(value)}" for key, value in resource.items() if key != "loads")
        nested = resource.get("loads")
        if isinstance(nested, list):
            yield from (f"{indent}{{ {pairs}, loads = [", *_resources(nested, indent + "  "), f"{indent}] }},")
        else:
            yield f"{indent}{{ {pairs} }},"


def _value(value: object) -> str:
    """A value; a basic string of TOML's is one of JSON's but for DEL, which TOML wants escaped."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
