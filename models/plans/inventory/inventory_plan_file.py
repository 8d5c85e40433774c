"""The file that holds an inventory's plan: written by ``plan inventory``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import msgspec

from originset.data.files.json_file import read_json
from originset.models.plans.inventory.certificate_inventory import InventoryPlan

# Some 200 bytes an addition: a plan for 40,000 certificates has 20 MB.
_MAX_PLAN_BYTES = 1 << 30


class PlannedAddition(msgspec.Struct, frozen=True, kw_only=True):
    """One name for the certificates of a unit; as :class:`InventoryPlan` has it."""

    unit: str
    certificates: list[str]
    name: str
    rank: int
    sites: int
    connections_saved: int
    added_bytes: int


class LeftOutPairs(msgspec.Struct, frozen=True, kw_only=True):
    """What the plan makes nothing of."""

    reason: str
    pairs: int
    connections: int


class InventoryPlanFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file."""

    format: Literal["originset-inventory-plan"]
    version: Literal[1]
    additions: list[PlannedAddition]
    left_out: list[LeftOutPairs]


def inventory_plan_text(plan: InventoryPlan) -> str:
    """The file's text, ASCII."""
    content = {
        "format": "originset-inventory-plan",
        "version": 1,
        "additions": plan.additions.to_dicts(),
        "left_out": plan.left_out.to_dicts(),
    }
    return json.dumps(content, indent=1, ensure_ascii=True) + "\n"


def read_inventory_plan(path: Path) -> InventoryPlanFile:
    """An inventory's plan from a file.

    Raises:
        InputError: it cannot be read, or is no such plan.
    """
    return read_json(path, InventoryPlanFile, "an inventory's plan", most_bytes=_MAX_PLAN_BYTES)


def is_inventory_plan(path: Path) -> bool:
    """Whether the file says of itself that it is one."""
    try:
        with path.open("rb") as file:
            return b'"originset-inventory-plan"' in file.read(200)
    except OSError:
        return False
