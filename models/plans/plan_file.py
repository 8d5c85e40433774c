"""plan.json, the file that holds a site's plan: written by ``plan site``, read by what deploys and checks it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from originset.data.errors import InputError
from originset.data.files.json_file import read_json
from originset.models.plans.origin_plan import VERSION, Plan

# A plan has some 200 bytes a host; nothing honest comes near this.
_MAX_PLAN_BYTES = 64 << 20


def plan_text(plan: Plan) -> str:
    """plan.json: indented, and ASCII, so that no terminal or editor obeys what a stranger named a host."""
    return json.dumps(msgspec.to_builtins(plan), indent=2, ensure_ascii=True) + "\n"


def read_plan(path: Path) -> Plan:
    """A plan from a file.

    Raises:
        InputError: it cannot be read, or is not a plan of a version that is known here.
    """
    made = read_json(path, Plan, "a plan", most_bytes=_MAX_PLAN_BYTES)
    if made.version > VERSION:
        raise InputError(
            str(path), "newer-plan", f"is a plan of version {made.version}; use the originset that wrote it"
        )
    return made
