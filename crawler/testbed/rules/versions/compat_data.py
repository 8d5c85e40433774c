"""Makes docs/browser-rules.json (``make docs``): the rules by version, in the shape of MDN's browser-compat-data.

A feature is one way that a rule's page can be loaded; its support in a browser is where that way was seen. As there,
a version with ``≤`` is the first that was looked at, not the first that has it.

Source: https://github.com/mdn/browser-compat-data, docs/data-guidelines and schemas/compat-data-schema.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.versions.version_changes import BrowserColumn, Ways, columns, rule_ways

_NAMES = {"chromium": "chrome", "firefox": "firefox"}
_TITLES = {"chromium": "Chrome", "firefox": "Firefox"}
_ENGINES = {"chromium": "Blink", "firefox": "Gecko"}
_STATUS = {"experimental": False, "standard_track": False, "deprecated": False}


def main() -> None:
    sys.stdout.write(json.dumps(compat_data(), indent=1, ensure_ascii=False) + "\n")


def compat_data() -> dict[str, Any]:
    """``browsers`` and below ``http.connection_reuse`` a feature for each rule, with one below it for each way."""
    rules = {rule: _rule_feature(rule) for rule in rule_catalogue.rule_names()}
    return {"browsers": _browsers(), "http": {"connection_reuse": rules}}


def _browsers() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column in columns():
        browser = found.setdefault(
            _NAMES[column.browser], {"name": _TITLES[column.browser], "type": "desktop", "releases": {}}
        )
        release = {"status": "retired", "engine": _ENGINES[column.browser], "engine_version": column.major}
        browser["releases"][column.major] = release
    for browser in found.values():
        browser["releases"] = dict(sorted(browser["releases"].items(), key=lambda release: int(release[0])))
        list(browser["releases"].values())[-1]["status"] = "current"
    return found


def _rule_feature(rule: str) -> dict[str, Any]:
    ways = rule_ways(rule)
    every = dict.fromkeys(way for each in ways.values() for way, _ in each)
    features = {feature_name(way): {"__compat": _compat(way, _support(way, ways))} for way in every}
    return {"__compat": _compat(rule_catalogue.scenario(rule).title, {}), **features}


def _compat(description: str, support: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "support": support, "status": _STATUS}


def feature_name(way: str) -> str:
    """A way as an identifier: ``2 (www / static)`` is ``2_www__static``."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", way.replace(" / ", "__").replace("(", "").replace(")", ""))


def _support(way: str, ways: Mapping[BrowserColumn, Ways]) -> dict[str, Any]:
    """By browser a statement for each span of versions, the newest first; one alone stands without a list."""
    statements: dict[str, list[dict[str, Any]]] = {}
    for (browser, _, _), span in groupby(ways, key=lambda column: column.order[:3]):
        statements.setdefault(_NAMES[browser], []).extend(_statements(way, list(span), ways))
    return {
        browser: (found[0] if len(found) == 1 else found[::-1]) if found else {"version_added": False}
        for browser, found in statements.items()
    }


def _statements(way: str, versions: list[BrowserColumn], ways: Mapping[BrowserColumn, Ways]) -> list[dict[str, Any]]:
    """The spans of one build's versions in which some load went so."""
    found: list[dict[str, Any]] = []
    open_span = False
    for column in versions:
        count = dict(ways[column]).get(way, 0)
        if count and not open_span:
            found.append({"version_added": f"≤{column.major}", "notes": [f"Observed in the {column.build} build."]})
            for flag in column.flags:
                found[-1].setdefault("flags", []).append({"type": "runtime_flag", "name": flag})
        elif not count and open_span:
            found[-1]["version_removed"] = f"≤{column.major}"
        open_span = count > 0
        loads = sum(each for _, each in ways[column])
        if 0 < count < loads:
            found[-1]["notes"].append(f"In {column.version}: {count} of {loads} loads.")
    return found


if __name__ == "__main__":
    main()
