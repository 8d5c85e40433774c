"""Findings as SARIF 2.1.0 (OASIS), which code scanning services read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import originset


class SarifResult(NamedTuple):
    """A ``result`` object: the rule that was broken, how severe it is, a sentence, and a ``location`` object."""

    rule: str
    level: Literal["note", "warning", "error"]
    message: str
    location: dict[str, Any]


def sarif_text(tool: str, results: Sequence[SarifResult]) -> str:
    """A log file with one run of the tool, as JSON in ASCII."""
    driver = {
        "name": tool,
        "version": originset.__version__,
        "rules": [{"id": rule} for rule in sorted({one.rule for one in results})],
    }
    objects = [
        {"ruleId": one.rule, "level": one.level, "message": {"text": one.message}, "locations": [one.location]}
        for one in results
    ]
    content = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": objects}],
    }
    return json.dumps(content, indent=1, ensure_ascii=True)
