"""With which settings each vantage's rounds were visited, as ``study.json`` has them under ``rounds``.

Visits of one round are counted together, so they have one browser and one way of visiting in common. An entry is::

    {"vantage": "lab", "round": 1, "settings": {"browser": "chromium", "browser_version": "150.0.7871.1", ...}}

A merged study may have several entries of one round, if the studies that it was merged from had other settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Settings = Mapping[str, str | None]
Entry = Mapping[str, Any]

#: What visits of one round have in common. NULL is a setting that is not in use, a missing one is not known.
COMPARED = (
    "browser",
    "browser_version",
    "device",
    "third_party_cookies",
    "consent",
    "family",
    "profile",
    "profile_per_visit",
)


def round_entries(manifest: Mapping[str, Any]) -> list[Entry]:
    """A study's entries; of rounds from before there were any, what their crawls were called with."""
    found: list[Entry] = list(manifest.get("rounds", []))
    known = {(entry["vantage"], entry["round"]) for entry in found}
    for run in manifest["runs"]:
        given = run["parameters"]
        vantage, number = given.get("vantage"), given.get("round")
        if run["command"] != "crawl" or not run["counts"].get("made"):
            continue
        if isinstance(vantage, str) and isinstance(number, int) and (vantage, number) not in known:
            known.add((vantage, number))
            settings = {name: given[name] for name in COMPARED if isinstance(given.get(name, 0), str | None)}
            found.append({"vantage": vantage, "round": number, "settings": settings})
    return found


def settings_by_round(entries: Iterable[Entry], vantage: str) -> dict[int, list[Settings]]:
    """The rounds of a vantage by number, and the settings that each was visited with: one, unless it was merged."""
    found: dict[int, list[Settings]] = {}
    for entry in entries:
        if entry["vantage"] == vantage:
            found.setdefault(entry["round"], []).append(entry["settings"])
    return found


def differences(recorded: Settings, wanted: Settings) -> list[str]:
    """What differs of two, in words: ``browser chromium, not firefox``. What one of them does not tell does not."""
    return [
        f"{name.replace('_', ' ')} {_setting_text(recorded[name])}, not {_setting_text(wanted[name])}"
        for name in COMPARED
        if name in recorded and name in wanted and recorded[name] != wanted[name]
    ]


def _setting_text(value: str | None) -> str:
    return "none" if value is None else value


def mixed_rounds(entries: Iterable[Entry]) -> list[tuple[str, int]]:
    """Vantage and number of the rounds that were visited with different settings."""
    first: dict[tuple[str, int], Settings] = {}
    mixed: dict[tuple[str, int], None] = {}
    for entry in entries:
        key = entry["vantage"], entry["round"]
        if differences(first.setdefault(key, entry["settings"]), entry["settings"]):
            mixed[key] = None
    return list(mixed)
