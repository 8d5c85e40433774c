"""A study's manifest, ``study.json``: what must hold in one that somebody else may have written."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

import msgspec

# A run is recorded in some 500 bytes, a merged study in as many for each of its runs.
MAX_BYTES = 64 << 20

# How often a study was merged into one that was merged into another.
_MOST_MERGES = 30

_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Run(msgspec.Struct):
    run_id: _Count
    command: str
    version: str
    started_at: datetime
    ended_at: datetime | None
    parameters: dict[str, Any]
    counts: dict[str, Any]


class _Round(msgspec.Struct):
    vantage: str
    round: _Count
    settings: dict[str, str | None]


class _Merged(msgspec.Struct):
    """Of the manifest of a study that was merged into this one."""

    originset: str = ""
    runs: list[_Run] = []
    captures: str | None = None
    views: bool = False
    vantages: list[str] = []
    rounds: list[_Round] = []
    merged: list[_Merged] = []
    models: dict[str, Any] = {}
    reference_data: dict[str, dict[str, Any]] = {}


class _Manifest(_Merged, kw_only=True):
    """The fields that the program relies on; all others are only shown."""

    format: _Count
    runs: list[_Run]


def decode_manifest(text: bytes) -> dict[str, Any]:
    """Decode a manifest of any format; :func:`check_manifest` checks whether this program can use it.

    Raises:
        ValueError: it is no JSON object, or has no format.
    """
    try:
        manifest = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise ValueError("it is not a manifest")  # noqa: TRY004 - the text is wrong, not the call
    return manifest


def check_manifest(manifest: dict[str, Any]) -> None:
    """Check the fields that this program relies on.

    Raises:
        ValueError: a field has the wrong type.
    """
    try:
        found: _Merged = msgspec.convert(manifest, _Manifest)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    merged = found.merged
    for _ in range(_MOST_MERGES):
        merged = [one for each in merged for one in each.merged]
    if merged:
        raise ValueError(f"it is of more than {_MOST_MERGES} studies, each merged into the next")
